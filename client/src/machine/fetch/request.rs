//! Fetch requests: which broker is asked for which partitions, and how long it may wait.
//!
//! One request per broker is in flight. A partition is in it only if all that was fetched of it before has been taken, so nothing
//! is fetched twice and at most one answer per partition waits. While other partitions of the broker still wait to be taken, only
//! those that are known to hold more are asked for, and the broker may not wait: a partition at its end never holds up the rest.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use sealwax_protocol::fetch::{FetchPartition, FetchRequest, FetchTopic};
use sealwax_protocol::ids::{LeaderEpoch, NodeId, TopicId, TopicPartition};
use sealwax_protocol::request::RequestBody;

use crate::machine::fetch::leader::{Leader, find};
use crate::machine::fetch::position::{Backlog, State};
use crate::machine::fetch::{FetchMachine, Request};
use crate::machine::{Destination, Lane, Outbound, RequestId};

/// A request outside of fetch sessions (KIP-227).
const NO_SESSION: i32 = 0;
const NO_SESSION_EPOCH: i32 = -1;

/// A partition as it was asked for.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    /// The partition.
    pub(super) partition: TopicPartition,
    /// Its topic's id, by which answers from version 13 on name it.
    pub(super) topic_id: TopicId,
}

/// What a broker could be asked for.
#[derive(Debug, Default)]
struct Plan {
    candidates: Vec<Candidate>,
    /// Partitions of the broker whose data was not taken yet.
    untaken: usize,
}

#[derive(Debug)]
struct Candidate {
    asked: Asked,
    epoch: LeaderEpoch,
    offset: i64,
    served: u64,
    backlog: Backlog,
}

impl Plan {
    /// What is worth asking now, those first that have waited longest, and how long the broker may wait.
    fn decide(self, max_wait: Duration) -> (Vec<Candidate>, Duration) {
        let mut candidates = self.candidates;
        candidates.sort_by_key(|candidate| candidate.served);
        if self.untaken == 0 {
            return (candidates, max_wait);
        }
        candidates.retain(|candidate| candidate.backlog == Backlog::More);
        (candidates, Duration::ZERO)
    }
}

impl FetchMachine {
    /// The next Fetch request that is due.
    pub(super) fn next_fetch(&mut self, now: Instant) -> Option<Outbound> {
        let max_wait = self.settings.consumer.fetch_max_wait;
        let (node, candidates, wait) = self.plans().into_iter().find_map(|(node, plan)| {
            let (candidates, wait) = plan.decide(max_wait);
            (!candidates.is_empty()).then_some((node, candidates, wait))
        })?;
        let id = self.next_id();
        for candidate in &candidates {
            if let Some(partition) = self.partitions.get_mut(&candidate.asked.partition)
                && let State::Fetchable(position) = partition.state
            {
                partition.state = State::Fetching(position, id);
            }
        }
        let body = RequestBody::from(self.fetch_request(&candidates, wait));
        let asked = candidates.into_iter().map(|candidate| candidate.asked).collect();
        self.requests.insert(id, Request::Fetch { node, asked });
        self.brokers.entry(node).or_default().fetch = Some(id);
        Some(self.outbound(id, node, Lane::Fetch, body, now + wait))
    }

    /// What could be asked of each broker that has no Fetch request in flight.
    fn plans(&self) -> BTreeMap<NodeId, Plan> {
        let mut plans = BTreeMap::<NodeId, Plan>::new();
        for (name, partition) in &self.partitions {
            let offset = match partition.state {
                State::Fetchable(position) if partition.is_due() => Some(position.offset),
                State::Buffered(..) => None,
                State::Fetchable(_)
                | State::Unresolved(_)
                | State::Resolving(..)
                | State::Fetching(..)
                | State::Failed(..)
                | State::Halted(_) => continue,
            };
            let Leader::Known {
                node,
                epoch,
                topic_id,
            } = find(&self.cluster, name, partition.topic_id)
            else {
                continue;
            };
            if !self.brokers.get(&node).is_none_or(|broker| broker.may_fetch()) {
                continue;
            }
            let plan = plans.entry(node).or_default();
            match offset {
                None => plan.untaken += 1,
                Some(offset) => plan.candidates.push(Candidate {
                    asked: Asked {
                        partition: name.clone(),
                        topic_id,
                    },
                    epoch,
                    offset,
                    served: partition.served,
                    backlog: partition.backlog,
                }),
            }
        }
        plans
    }

    fn fetch_request(&self, candidates: &[Candidate], wait: Duration) -> FetchRequest {
        let consumer = &self.settings.consumer;
        // The broker fills its answer in the order of the request, so a topic is named again rather than the order changed.
        let mut topics = Vec::<FetchTopic>::new();
        for candidate in candidates {
            let partition = FetchPartition {
                index: candidate.asked.partition.partition,
                current_leader_epoch: candidate.epoch,
                fetch_offset: candidate.offset,
                last_fetched_epoch: LeaderEpoch::UNKNOWN,
                max_bytes: consumer.max_partition_fetch_bytes,
            };
            match topics.last_mut() {
                Some(topic) if topic.name == candidate.asked.partition.topic => {
                    topic.partitions.push(partition);
                }
                _ => topics.push(FetchTopic {
                    name: candidate.asked.partition.topic.clone(),
                    id: candidate.asked.topic_id,
                    partitions: vec![partition],
                }),
            }
        }
        FetchRequest {
            max_wait_ms: i32::try_from(wait.as_millis()).unwrap_or(i32::MAX),
            min_bytes: consumer.fetch_min_bytes,
            max_bytes: consumer.fetch_max_bytes,
            isolation_level: consumer.isolation_level,
            session_id: NO_SESSION,
            session_epoch: NO_SESSION_EPOCH,
            topics,
            forgotten: Vec::new(),
            rack_id: "".into(),
        }
    }

    /// Puts a request together; `awaited_from` is the moment from which the broker is expected to answer.
    pub(super) fn outbound(
        &self,
        id: RequestId,
        node: NodeId,
        lane: Lane,
        body: RequestBody,
        awaited_from: Instant,
    ) -> Outbound {
        Outbound {
            id,
            to: Destination::Node(node),
            lane,
            versions: body.versions(),
            body,
            deadline: awaited_from + self.settings.request_timeout,
        }
    }
}
