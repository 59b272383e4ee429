//! Positions, fetch requests, and the read_committed filter: the machine of a consumer whose partitions are assigned by hand.
//!
//! In: assignments, seeks, the cluster's snapshot, answers of Fetch and ListOffsets. Out: those requests, and what was fetched, taken
//! one partition at a time. An error of a partition halts it alone, until it is sought or assigned anew.
//!
//! Memory: at most one answer per broker is in flight, and at most one answer's part per partition waits to be taken.

mod buffer;
mod failure;
mod isolation;
mod leader;
mod position;
mod request;
mod reset;
mod response;
mod unanswered;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sealwax_protocol::ids::{NodeId, TopicPartition};
use sealwax_protocol::limits::DecodeLimits;
use sealwax_protocol::response::ResponseBody;

pub(crate) use buffer::{FetchedPartition, VisibleRecords};
pub(crate) use failure::malformed_record;
pub(crate) use position::{ResetPolicy, Start};

use crate::config::ConsumerConfig;
use crate::error::{Error, ErrorKind};
use crate::machine::fetch::position::{Partition, Position, State};
use crate::machine::fetch::request::Asked;
use crate::machine::metadata::ClusterMetadata;
use crate::machine::retry::Backoff;
use crate::machine::{ClusterView, Directive, Machine, Outbound, RequestFailure, RequestId};

/// What a [`FetchMachine`] is told once.
#[derive(Debug, Clone)]
pub(crate) struct FetchSettings {
    /// The consumer's own.
    pub(crate) consumer: ConsumerConfig,
    /// How long an answer may take (beyond the time that the broker was allowed to wait).
    pub(crate) request_timeout: Duration,
    /// Pauses between tries.
    pub(crate) backoff: Backoff,
    /// What is accepted from a broker.
    pub(crate) limits: DecodeLimits,
}

/// Reads assigned partitions.
#[derive(Debug)]
pub(crate) struct FetchMachine {
    settings: FetchSettings,
    rng: fastrand::Rng,
    cluster: Arc<ClusterMetadata>,
    /// Sorted, so that the same inputs make the same requests.
    partitions: BTreeMap<TopicPartition, Partition>,
    /// Partitions with data or an error to take, in the order in which they got it.
    ready: VecDeque<TopicPartition>,
    brokers: BTreeMap<NodeId, Broker>,
    requests: HashMap<RequestId, Request>,
    directives: VecDeque<Directive>,
    last_id: u64,
    /// How often any partition brought data.
    served: u64,
}

/// What is under way to a broker.
#[derive(Debug, Default)]
struct Broker {
    fetch: Option<RequestId>,
    list_offsets: Option<RequestId>,
    /// The broker wants no Fetch request before (KIP-219).
    quiet_until: Option<Instant>,
}

impl Broker {
    const fn may_fetch(&self) -> bool {
        self.fetch.is_none() && self.quiet_until.is_none()
    }
}

/// A request in flight.
#[derive(Debug)]
enum Request {
    Fetch {
        node: NodeId,
        asked: Vec<Asked>,
    },
    ListOffsets {
        node: NodeId,
        asked: Vec<TopicPartition>,
    },
}

impl FetchMachine {
    /// A machine without partitions. `rng` makes the jitter of its pauses.
    pub(crate) fn new(settings: FetchSettings, rng: fastrand::Rng) -> Self {
        Self {
            settings,
            rng,
            cluster: Arc::default(),
            partitions: BTreeMap::new(),
            ready: VecDeque::new(),
            brokers: BTreeMap::new(),
            requests: HashMap::new(),
            directives: VecDeque::new(),
            last_id: 0,
            served: 0,
        }
    }

    /// Replaces the assignment. What was fetched and not taken is dropped.
    pub(crate) fn assign(
        &mut self,
        now: Instant,
        partitions: impl IntoIterator<Item = (TopicPartition, Start)>,
    ) {
        self.ready.clear();
        self.partitions = partitions
            .into_iter()
            .map(|(name, start)| (name, Partition::new(start)))
            .collect();
        let mut topics: Vec<_> = self.partitions.keys().map(|name| &name.topic).collect();
        topics.dedup();
        self.directives
            .extend(topics.into_iter().cloned().map(Directive::NeedTopic));
        self.review(now);
    }

    /// Goes on elsewhere in an assigned partition; says whether it is assigned. What was fetched of it and not taken is dropped.
    pub(crate) fn seek(&mut self, now: Instant, name: &TopicPartition, start: Start) -> bool {
        let Some(partition) = self.partitions.get_mut(name) else {
            return false;
        };
        partition.seek(start);
        self.ready.retain(|ready| ready != name);
        self.review_partition(now, name);
        true
    }

    /// What was fetched of the partition that has waited longest, or its error. `None` if there is nothing yet.
    pub(crate) fn take(&mut self, now: Instant) -> Option<Result<FetchedPartition, Error>> {
        while let Some(name) = self.ready.pop_front() {
            let Some(partition) = self.partitions.get_mut(&name) else {
                continue;
            };
            match std::mem::replace(&mut partition.state, State::Halted(None)) {
                State::Buffered(_, visible) => {
                    partition.state = State::Fetchable(Position::new(visible.next_offset, None));
                    self.review_partition(now, &name);
                    let partition = name;
                    return Some(Ok(FetchedPartition { partition, visible }));
                }
                State::Failed(offset, error) => {
                    partition.state = State::Halted(offset);
                    return Some(Err(error));
                }
                state @ (State::Unresolved(_)
                | State::Resolving(..)
                | State::Fetchable(_)
                | State::Fetching(..)
                | State::Halted(_)) => partition.state = state,
            }
        }
        self.nothing_to_wait_for().map(Err)
    }

    /// The offset of the next record that [`FetchMachine::take`] gives.
    pub(crate) fn position(&self, name: &TopicPartition) -> Option<i64> {
        self.partitions.get(name)?.state.position()
    }

    /// The last stable offset as of the last answer.
    pub(crate) fn last_stable_offset(&self, name: &TopicPartition) -> Option<i64> {
        self.partitions.get(name)?.watermarks.last_stable_offset
    }

    /// The high watermark as of the last answer.
    pub(crate) fn high_watermark(&self, name: &TopicPartition) -> Option<i64> {
        self.partitions.get(name)?.watermarks.high_watermark
    }

    /// The assigned partitions.
    pub(crate) fn assignment(&self) -> impl Iterator<Item = &TopicPartition> {
        self.partitions.keys()
    }

    /// Waiting for data would last for ever if every partition is halted.
    fn nothing_to_wait_for(&self) -> Option<Error> {
        let is_halted = |partition: &Partition| match partition.state {
            State::Halted(_) => true,
            State::Unresolved(_)
            | State::Resolving(..)
            | State::Fetchable(_)
            | State::Fetching(..)
            | State::Buffered(..)
            | State::Failed(..) => false,
        };
        let text = if self.partitions.is_empty() {
            "no partition is assigned: there is nothing to wait for"
        } else if self.partitions.values().all(is_halted) {
            "every assigned partition has failed before; seek or assign to go on"
        } else {
            return None;
        };
        Some(Error::new(ErrorKind::InvalidState, text))
    }

    fn next_id(&mut self) -> RequestId {
        self.last_id += 1;
        RequestId(self.last_id)
    }

    /// The partition, if it waits for the answer to this very request.
    fn awaiting(&mut self, id: RequestId, name: &TopicPartition) -> Option<&mut Partition> {
        self.partitions
            .get_mut(name)
            .filter(|partition| partition.state.awaited() == Some(id))
    }

    /// Puts a partition into `state` after a pause, with newer metadata.
    fn try_again(&mut self, now: Instant, name: &TopicPartition, state: State) {
        if let Some(partition) = self.partitions.get_mut(name) {
            partition.state = state;
            partition.retry.fail(now, &self.settings.backoff, &mut self.rng);
            self.refresh_metadata();
        }
    }

    /// Has the application told about an error.
    fn fail(&mut self, name: &TopicPartition, error: Error) {
        if let Some(partition) = self.partitions.get_mut(name) {
            partition.state = State::Failed(partition.state.position(), error);
            self.ready.push_back(name.clone());
        }
    }

    /// Frees the broker for the next request.
    fn release(&mut self, request: &Request) {
        match request {
            Request::Fetch { node, .. } => self.brokers.entry(*node).or_default().fetch = None,
            Request::ListOffsets { node, .. } => self.brokers.entry(*node).or_default().list_offsets = None,
        }
    }

    fn keep_quiet(&mut self, now: Instant, node: NodeId, throttle_time_ms: i32) {
        let throttle = Duration::from_millis(u64::try_from(throttle_time_ms).unwrap_or(0));
        if !throttle.is_zero() {
            self.brokers.entry(node).or_default().quiet_until = Some(now + throttle);
        }
    }
}

impl Machine for FetchMachine {
    type Event = Infallible;

    fn handle_cluster(&mut self, now: Instant, view: &ClusterView) {
        self.cluster = Arc::clone(&view.metadata);
        self.review(now);
    }

    fn handle_response(&mut self, now: Instant, id: RequestId, result: Result<ResponseBody, RequestFailure>) {
        let Some(request) = self.requests.remove(&id) else {
            return;
        };
        self.release(&request);
        match (result, &request) {
            (Ok(ResponseBody::Fetch(response)), Request::Fetch { node, asked }) => {
                self.keep_quiet(now, *node, response.throttle_time_ms);
                self.handle_fetch(now, id, asked, response);
            }
            (Ok(ResponseBody::ListOffsets(response)), Request::ListOffsets { asked, .. }) => {
                self.handle_list_offsets(now, id, asked, &response);
            }
            (Ok(other), Request::Fetch { .. } | Request::ListOffsets { .. }) => {
                let text = format!("a reader's request was answered as {:?}", other.api_key());
                self.handle_failure(now, id, &request, &Error::new(ErrorKind::Corrupt, text));
            }
            (Err(failure), Request::Fetch { .. } | Request::ListOffsets { .. }) => {
                self.handle_failure(now, id, &request, failure.error());
            }
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        for partition in self.partitions.values_mut() {
            partition.retry.expire(now);
        }
        for broker in self.brokers.values_mut() {
            broker.quiet_until = broker.quiet_until.filter(|until| *until > now);
        }
        self.review(now);
    }

    fn handle_close(&mut self, _now: Instant) {
        self.partitions.clear();
        self.ready.clear();
        self.directives.clear();
    }

    fn poll_directive(&mut self) -> Option<Directive> {
        self.directives.pop_front()
    }

    fn poll_request(&mut self, now: Instant) -> Option<Outbound> {
        self.next_list_offsets(now).or_else(|| self.next_fetch(now))
    }

    fn poll_event(&mut self) -> Option<Infallible> {
        None
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let retries = self
            .partitions
            .values()
            .filter_map(|partition| partition.retry.not_before());
        let throttles = self.brokers.values().filter_map(|broker| broker.quiet_until);
        retries.chain(throttles).min()
    }

    /// Reading leaves nothing to finish: answers on their way are of no use.
    fn is_drained(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
