//! A machine driven by hand: a cluster that is announced, requests that are looked at, answers that are written out.

pub(super) mod batches;
mod errors;
mod flow;
mod offsets;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use sealwax_protocol::StrBytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::fetch::{FetchPartitionResponse, FetchRequest, FetchResponse, FetchTopicResponse};
use sealwax_protocol::ids::{LeaderEpoch, NodeId, TopicId, TopicPartition};
use sealwax_protocol::limits::DecodeLimits;
use sealwax_protocol::messages::list_offsets_response::{
    ListOffsetsPartitionResponse, ListOffsetsTopicResponse,
};
use sealwax_protocol::messages::{ListOffsetsRequest, ListOffsetsResponse, TopicName};
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;

use super::tests::batches::{Batch, Kind, encode};
use super::{FetchMachine, FetchSettings, ResetPolicy, Start};
use crate::config::ConsumerConfig;
use crate::error::{Error, ErrorKind};
use crate::machine::metadata::{ClusterMetadata, PartitionMetadata, TopicMetadata};
use crate::machine::retry::Backoff;
use crate::machine::{
    ClusterView, Destination, Directive, Lane, Machine, Outbound, RequestFailure, RequestId,
};

const EARLIEST: Start = Start::Policy(ResetPolicy::Earliest);
const LATEST: Start = Start::Policy(ResetPolicy::Latest);
/// Longer than any pause between two tries.
const PAUSE: Duration = Duration::from_secs(2);

fn tp(topic: &str, partition: i32) -> TopicPartition {
    TopicPartition::new(topic, partition)
}

fn topic_id(number: u128) -> TopicId {
    TopicId::from_u128(number)
}

/// A topic whose partitions have these leaders (−1 for none), all with the epoch.
fn topic(name: &str, id: u128, epoch: i32, leaders: &[i32]) -> TopicMetadata {
    let partitions = leaders.iter().map(|leader| PartitionMetadata {
        leader: (*leader >= 0).then_some(NodeId(*leader)),
        leader_epoch: LeaderEpoch(epoch),
    });
    TopicMetadata {
        name: name.into(),
        id: topic_id(id),
        error_code: ErrorCode::NONE,
        partitions: partitions.collect(),
    }
}

fn broken_topic(name: &str, code: ErrorCode) -> TopicMetadata {
    TopicMetadata {
        error_code: code,
        ..topic(name, 0, 0, &[])
    }
}

/// Partition, offsets of the records, next offset.
type Taken = (TopicPartition, Vec<i64>, i64);

/// The machine and its clock.
struct Bench {
    machine: FetchMachine,
    now: Instant,
}

impl Bench {
    #[allow(clippy::disallowed_methods, reason = "a virtual clock needs some beginning")]
    fn new(consumer: ConsumerConfig) -> Self {
        let settings = FetchSettings {
            consumer,
            request_timeout: Duration::from_secs(30),
            backoff: Backoff {
                initial: Duration::from_millis(100),
                max: Duration::from_secs(1),
            },
            limits: DecodeLimits::default(),
        };
        Self {
            machine: FetchMachine::new(settings, fastrand::Rng::with_seed(1)),
            now: Instant::now(),
        }
    }

    /// A machine that knows the topics and has the partitions.
    fn assigned<'a>(
        topics: impl IntoIterator<Item = TopicMetadata>,
        partitions: impl IntoIterator<Item = (&'a str, i32, Start)>,
    ) -> Self {
        let mut bench = Self::new(ConsumerConfig::default());
        bench.cluster(topics);
        bench.assign(partitions);
        bench
    }

    fn cluster(&mut self, topics: impl IntoIterator<Item = TopicMetadata>) {
        let topics: HashMap<_, _> = topics
            .into_iter()
            .map(|topic| (Arc::clone(&topic.name), topic))
            .collect();
        let view = ClusterView {
            metadata: Arc::new(ClusterMetadata {
                topics,
                ..ClusterMetadata::default()
            }),
            ..ClusterView::default()
        };
        self.machine.handle_cluster(self.now, &view);
    }

    fn assign<'a>(&mut self, partitions: impl IntoIterator<Item = (&'a str, i32, Start)>) {
        let partitions = partitions
            .into_iter()
            .map(|(topic, partition, start)| (tp(topic, partition), start));
        self.machine.assign(self.now, partitions);
    }

    fn requests(&mut self) -> Vec<Outbound> {
        std::iter::from_fn(|| self.machine.poll_request(self.now)).collect()
    }

    /// The one request that is due.
    fn request(&mut self) -> Outbound {
        let mut requests = self.requests();
        assert_eq!(requests.len(), 1, "{requests:?}");
        requests.remove(0)
    }

    fn directives(&mut self) -> Vec<Directive> {
        std::iter::from_fn(|| self.machine.poll_directive()).collect()
    }

    /// Lets time pass, waking the machine whenever it asked for it.
    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(at) = self.machine.poll_timeout().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.machine.handle_timeout(self.now);
            assert!(
                self.machine.poll_timeout().is_none_or(|next| next > self.now),
                "the machine wants to be woken in the past"
            );
        }
        self.now = end;
    }

    fn respond(&mut self, id: RequestId, body: ResponseBody) {
        self.machine.handle_response(self.now, id, Ok(body));
    }

    fn fail(&mut self, id: RequestId, kind: ErrorKind) {
        let failure = RequestFailure::Unanswered(Error::new(kind, "scripted"));
        self.machine.handle_response(self.now, id, Err(failure));
    }

    /// Answers a Fetch request, each partition by `answer`.
    fn answer(&mut self, outbound: &Outbound, answer: impl Fn(&str, i32) -> FetchPartitionResponse) {
        let topics = fetch(outbound)
            .topics
            .iter()
            .map(|topic| FetchTopicResponse {
                name: "".into(),
                id: topic.id,
                partitions: topic
                    .partitions
                    .iter()
                    .map(|partition| FetchPartitionResponse {
                        index: partition.index,
                        ..answer(&topic.name, partition.index)
                    })
                    .collect(),
            })
            .collect();
        self.respond(outbound.id, fetch_response(0, topics));
    }

    /// Answers a ListOffsets request, each partition with an offset or an error.
    fn offsets(&mut self, outbound: &Outbound, answer: impl Fn(&str, i32) -> Result<i64, ErrorCode>) {
        let topics = list_offsets(outbound)
            .topics
            .iter()
            .map(|topic| {
                let partitions = topic.partitions.iter().map(|partition| {
                    let (offset, code) = match answer(&topic.name.0, partition.partition_index) {
                        Ok(offset) => (offset, ErrorCode::NONE),
                        Err(code) => (-1, code),
                    };
                    ListOffsetsPartitionResponse::default()
                        .with_partition_index(partition.partition_index)
                        .with_error_code(code.0)
                        .with_offset(offset)
                });
                ListOffsetsTopicResponse::default()
                    .with_name(topic.name.clone())
                    .with_partitions(partitions.collect())
            })
            .collect();
        let response = ListOffsetsResponse::default().with_topics(topics);
        self.respond(outbound.id, ResponseBody::ListOffsets(response));
    }

    /// Takes what is ready.
    fn take(&mut self) -> Option<Result<Taken, Error>> {
        let taken = self.machine.take(self.now)?;
        Some(taken.map(|fetched| {
            let offsets = fetched.records().map(|record| record.unwrap().offset).collect();
            (fetched.partition, offsets, fetched.visible.next_offset)
        }))
    }

    fn taken(&mut self) -> Taken {
        self.take().expect("something to take").unwrap()
    }

    fn error(&mut self) -> Error {
        self.take().expect("something to take").unwrap_err()
    }
}

fn fetch(outbound: &Outbound) -> &FetchRequest {
    match &outbound.body {
        RequestBody::Fetch(request) => request,
        other => panic!("no Fetch request: {other:?}"),
    }
}

fn list_offsets(outbound: &Outbound) -> &ListOffsetsRequest {
    match &outbound.body {
        RequestBody::ListOffsets(request) => request,
        other => panic!("no ListOffsets request: {other:?}"),
    }
}

/// Topic, partition and offset of everything in a Fetch request, in its order.
fn asked(outbound: &Outbound) -> Vec<(String, i32, i64)> {
    fetch(outbound)
        .topics
        .iter()
        .flat_map(|topic| {
            topic
                .partitions
                .iter()
                .map(|partition| (topic.name.to_string(), partition.index, partition.fetch_offset))
        })
        .collect()
}

fn fetch_response(throttle_time_ms: i32, topics: Vec<FetchTopicResponse>) -> ResponseBody {
    ResponseBody::Fetch(FetchResponse {
        throttle_time_ms,
        error_code: ErrorCode::NONE,
        session_id: 0,
        topics,
        node_endpoints: Vec::new(),
    })
}

/// Records of plain batches from `base` on, in a log that ends at `end`.
fn data(base: i64, count: i64, end: i64) -> FetchPartitionResponse {
    bytes(encode(&[Batch::new(Kind::Plain, -1, base, count)]), end)
}

fn bytes(records: Bytes, end: i64) -> FetchPartitionResponse {
    FetchPartitionResponse {
        index: 0,
        error_code: ErrorCode::NONE,
        high_watermark: end,
        last_stable_offset: end,
        log_start_offset: 0,
        diverging_epoch: None,
        current_leader: None,
        aborted_transactions: Some(Vec::new()),
        preferred_read_replica: None,
        records,
    }
}

fn empty(end: i64) -> FetchPartitionResponse {
    bytes(Bytes::new(), end)
}

fn refusal(code: ErrorCode) -> FetchPartitionResponse {
    FetchPartitionResponse {
        error_code: code,
        ..empty(-1)
    }
}
