//! What must hold for every request that a producer's machine hands out, whatever happens. In: requests, and what becomes of them. Out: a
//! panic if one breaks a rule.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{Sequence, TopicPartition};
use sealwax_protocol::limits::DecodeLimits;
use sealwax_protocol::produce::{ProduceRequest, ProduceResponse};
use sealwax_protocol::record::Batches;
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;

use crate::machine::{Destination, Lane, Outbound, RequestFailure, RequestId};

/// More failed requests than this in one second are a hot loop.
const FAILURES_PER_SECOND: u32 = 250;

/// Producer id and epoch.
type Stamp = (i64, i16);

/// Which instance uses which id and epoch: no two share one.
#[derive(Debug, Default)]
pub(super) struct Owners {
    owners: BTreeMap<Stamp, usize>,
}

impl Owners {
    fn claim(&mut self, stamp: Stamp, instance: usize) {
        let owner = *self.owners.entry(stamp).or_insert(instance);
        assert_eq!(owner, instance, "two producers use {stamp:?}");
    }
}

/// What was seen of one instance's requests so far.
#[derive(Debug)]
pub(super) struct Watch {
    instance: usize,
    is_transactional: bool,
    /// Bytes by partition, producer and first sequence: a resend is the same.
    batches: HashMap<(TopicPartition, Stamp, i32), Bytes>,
    /// The sequence that comes next, by partition and producer.
    next: HashMap<(TopicPartition, Stamp), Sequence>,
    /// Produce requests on the wire, by node; their batches by partition.
    on_wire: BTreeMap<RequestId, (Destination, Vec<TopicPartition>)>,
    transactional_call: Option<RequestId>,
    /// Partitions that were added to the open transaction (V1).
    added: HashSet<TopicPartition>,
    /// V1: id and epoch with which a transactional request had no answer in this transaction.
    tainted: Option<Stamp>,
    /// Those that must not be used any more.
    forbidden: HashSet<Stamp>,
    /// The newest id and epoch of a transactional producer.
    newest: Stamp,
    /// The producer was told that it is beyond use.
    is_over: bool,
    /// Failures in the second that runs.
    failures: (u64, u32),
}

/// A batch as it leaves.
struct Header {
    stamp: Stamp,
    base_sequence: i32,
    records: u32,
    is_transactional: bool,
}

impl Watch {
    /// Nothing was seen yet.
    pub(super) fn new(instance: usize, is_transactional: bool) -> Self {
        Self {
            instance,
            is_transactional,
            batches: HashMap::new(),
            next: HashMap::new(),
            on_wire: BTreeMap::new(),
            transactional_call: None,
            added: HashSet::new(),
            tainted: None,
            forbidden: HashSet::new(),
            newest: (-1, -1),
            is_over: false,
            failures: (0, 0),
        }
    }

    /// A transaction begins.
    pub(super) fn begin(&mut self) {
        self.added.clear();
        self.forbidden.extend(self.tainted.take());
    }

    /// The producer was told that it is beyond use: nothing may leave any more.
    pub(super) const fn over(&mut self) {
        self.is_over = true;
    }

    /// A request is handed out, while so many batches have no result.
    pub(super) fn request(&mut self, owners: &mut Owners, outbound: &Outbound, unresolved: u64) {
        assert!(!self.is_over, "a producer that is beyond use sends {outbound:?}");
        match &outbound.body {
            RequestBody::Produce(request) => self.produce(owners, outbound, request),
            RequestBody::EndTxn(request) => {
                assert_eq!(unresolved, 0, "EndTxn while batches have no result");
                self.transactional(owners, outbound, (request.producer_id.0, request.producer_epoch));
            }
            RequestBody::AddPartitionsToTxn(request) => {
                let id = request.v3_and_below_producer_id.0;
                self.transactional(owners, outbound, (id, request.v3_and_below_producer_epoch));
            }
            RequestBody::AddOffsetsToTxn(request) => {
                self.transactional(owners, outbound, (request.producer_id.0, request.producer_epoch));
            }
            RequestBody::TxnOffsetCommit(request) => {
                self.transactional(owners, outbound, (request.producer_id.0, request.producer_epoch));
            }
            RequestBody::InitProducerId(_) => self.one_call(outbound),
            RequestBody::DescribeTransactions(_) | RequestBody::OffsetFetch(_) => {}
            other => panic!("a producer sent {other:?}"),
        }
    }

    /// What became of a request.
    pub(super) fn answer(
        &mut self,
        time: Duration,
        id: RequestId,
        asked: Option<&RequestBody>,
        is_v1: bool,
        result: &Result<ResponseBody, RequestFailure>,
    ) {
        self.on_wire.remove(&id);
        if self.transactional_call == Some(id) {
            self.transactional_call = None;
        }
        if result.is_err() {
            self.count_failure(time);
        }
        match (asked, result) {
            (Some(RequestBody::AddPartitionsToTxn(_)), Ok(ResponseBody::AddPartitionsToTxn(response))) => {
                for topic in &response.results_by_topic_v3_and_below {
                    let name: Arc<str> = topic.name.0.as_str().into();
                    for part in &topic.results_by_partition {
                        if part.partition_error_code == 0 {
                            let partition = TopicPartition::new(Arc::clone(&name), part.partition_index);
                            self.added.insert(partition);
                        } else {
                            self.count_failure(time);
                        }
                    }
                }
            }
            (Some(RequestBody::AddPartitionsToTxn(request)), Err(RequestFailure::Unanswered(_))) => {
                self.tainted = Some((
                    request.v3_and_below_producer_id.0,
                    request.v3_and_below_producer_epoch,
                ));
            }
            (Some(RequestBody::EndTxn(request)), Err(RequestFailure::Unanswered(_))) if is_v1 => {
                self.tainted = Some((request.producer_id.0, request.producer_epoch));
            }
            (Some(RequestBody::Produce(request)), Ok(ResponseBody::Produce(response))) => {
                self.forget_split(request, response);
            }
            (_, Ok(ResponseBody::EndTxn(response))) if response.error_code != 0 => self.count_failure(time),
            (_, Ok(ResponseBody::InitProducerId(response))) if response.error_code != 0 => {
                self.count_failure(time);
            }
            _ => {}
        }
    }

    /// A batch that was refused because it is too large is cut into pieces, which take its sequences; what is behind it is sent again.
    fn forget_split(&mut self, request: &ProduceRequest, response: &ProduceResponse) {
        let parts = response.topics.iter().flat_map(|topic| &topic.partitions);
        let refused: Vec<i32> = parts
            .filter(|part| part.error_code == ErrorCode::MESSAGE_TOO_LARGE)
            .map(|part| part.index)
            .collect();
        for topic in &request.topics {
            for part in topic
                .partitions
                .iter()
                .filter(|part| refused.contains(&part.index))
            {
                let batch = header(&part.records);
                let place = (
                    TopicPartition::new(Arc::clone(&topic.name), part.index),
                    batch.stamp,
                );
                self.batches.retain(|(partition, stamp, first), _| {
                    (partition, stamp) != (&place.0, &place.1) || *first < batch.base_sequence
                });
                let first = Sequence::new(batch.base_sequence).expect("a sequence");
                let next = self.next.entry(place).or_insert(first);
                // Another batch in front of it may have been cut before.
                if next.get() > first.get() {
                    *next = first;
                }
            }
        }
    }

    fn count_failure(&mut self, time: Duration) {
        if self.failures.0 != time.as_secs() {
            self.failures = (time.as_secs(), 0);
        }
        self.failures.1 += 1;
        assert!(self.failures.1 <= FAILURES_PER_SECOND, "a hot loop at {time:?}");
    }

    fn produce(&mut self, owners: &mut Owners, outbound: &Outbound, request: &ProduceRequest) {
        assert_eq!(request.transactional_id.is_some(), self.is_transactional);
        assert_eq!(outbound.lane, Lane::Produce);
        let partitions = request.topics.iter().flat_map(|topic| {
            let name = Arc::clone(&topic.name);
            topic
                .partitions
                .iter()
                .map(move |part| (TopicPartition::new(Arc::clone(&name), part.index), &part.records))
        });
        let partitions: Vec<_> = partitions.collect();
        let names: BTreeSet<_> = partitions.iter().map(|(name, _)| name.clone()).collect();
        assert_eq!(
            names.len(),
            partitions.len(),
            "a partition stands twice in a request"
        );
        for (partition, bytes) in &partitions {
            self.batch(owners, outbound, partition, bytes);
        }
        let wire = (outbound.to.clone(), names.into_iter().collect());
        self.on_wire.insert(outbound.id, wire);
        self.check_wire();
    }

    fn transactional(&mut self, owners: &mut Owners, outbound: &Outbound, stamp: Stamp) {
        self.one_call(outbound);
        self.stamp(owners, stamp);
    }

    fn stamp(&mut self, owners: &mut Owners, stamp: Stamp) {
        owners.claim(stamp, self.instance);
        assert!(
            !self.forbidden.contains(&stamp),
            "{stamp:?} is used after a request with it had no answer"
        );
        if self.is_transactional {
            assert!(stamp >= self.newest, "{stamp:?} is used after {:?}", self.newest);
            self.newest = stamp;
        }
    }

    fn one_call(&mut self, outbound: &Outbound) {
        assert_eq!(self.transactional_call, None, "two transactional requests");
        self.transactional_call = Some(outbound.id);
    }

    fn batch(&mut self, owners: &mut Owners, outbound: &Outbound, partition: &TopicPartition, bytes: &Bytes) {
        let batch = header(bytes);
        assert_eq!(batch.is_transactional, self.is_transactional);
        if self.is_transactional {
            assert!(
                batch.stamp.1 < i16::MAX - 1,
                "a transaction runs in the last epoch of a producer id"
            );
        }
        self.stamp(owners, batch.stamp);
        if self.is_transactional && outbound.versions.max <= 11 {
            assert!(
                self.added.contains(partition),
                "{partition} is written to before it was added"
            );
        }
        let key = (partition.clone(), batch.stamp, batch.base_sequence);
        match self.batches.get(&key) {
            Some(before) => assert_eq!(before, bytes, "a resend differs"),
            None => {
                let next = self
                    .next
                    .entry((partition.clone(), batch.stamp))
                    .or_insert(Sequence::ZERO);
                assert_eq!(batch.base_sequence, next.get(), "a gap in the sequences");
                *next = next.add(batch.records);
                self.batches.insert(key, bytes.clone());
            }
        }
    }

    fn check_wire(&self) {
        let mut by_node: HashMap<&Destination, usize> = HashMap::new();
        let mut by_partition: HashMap<&TopicPartition, usize> = HashMap::new();
        for (to, partitions) in self.on_wire.values() {
            *by_node.entry(to).or_default() += 1;
            for partition in partitions {
                *by_partition.entry(partition).or_default() += 1;
            }
        }
        assert!(by_node.values().all(|count| *count <= 5), "{by_node:?}");
        assert!(by_partition.values().all(|count| *count <= 5), "{by_partition:?}");
    }
}

fn header(bytes: &Bytes) -> Header {
    let mut batches = Batches::new(bytes.clone(), DecodeLimits::default());
    let batch = batches.next().expect("a batch").expect("a valid batch");
    assert!(batches.next().is_none(), "one batch per partition");
    let header = batch.header();
    Header {
        stamp: (header.producer_id, header.producer_epoch),
        base_sequence: header.base_sequence,
        records: u32::try_from(header.record_count).expect("a count"),
        is_transactional: header.is_transactional(),
    }
}
