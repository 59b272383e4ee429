//! Plays a producer's machine against the model under virtual time, and watches what must hold for every request that leaves.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{NodeId, Sequence, TopicPartition};
use sealwax_protocol::messages::DescribeTransactionsResponse;
use sealwax_protocol::produce::ProduceResponse;
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;

use super::faults::{DENIALS, Fault};
use super::log::{Incoming, Log, Status};
use super::model::{self, Model, TOPIC};
use crate::config::ProducerConfig;
use crate::error::{Error, ErrorKind};
use crate::machine::accumulator::Refusal;
use crate::machine::accumulator::batch::{BatchResult, Results};
use crate::machine::producer::{ProducerMachine, Settings};
use crate::machine::retry::Backoff;
use crate::machine::transaction::{Resolution, Verdict};
use crate::machine::{CoordinatorKind, Destination, Lane, Machine, Outbound, RequestFailure, RequestId};
use crate::offsets::{ConsumerGroupMetadata, OffsetAndMetadata};
use crate::record::Record;

/// A record that was taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taken {
    pub(crate) value: u64,
    pub(crate) partition: i32,
    /// The batch's tag.
    pub(crate) batch: u64,
    pub(crate) index: u32,
    /// The transaction.
    pub(crate) serial: Option<u64>,
}

/// A machine, a model, and what lies between them.
pub(crate) struct Harness {
    pub(crate) machine: ProducerMachine<u64>,
    /// How often markers were asked for.
    pub(crate) described: usize,
    pub(crate) model: Model,
    pub(crate) now: Instant,
    pub(crate) taken: Vec<Taken>,
    pub(crate) results: HashMap<u64, Results>,
    /// Every request that left, in order.
    pub(crate) sent: Vec<Outbound>,
    /// What happens to the next requests.
    pub(crate) faults: VecDeque<Fault>,
    lanes: BTreeMap<(String, u8), VecDeque<Outbound>>,
    delayed: VecDeque<Outbound>,
    rng: fastrand::Rng,
    next_batch: u64,
    watch: Watch,
}

/// Where sequences count: a partition, and the producer's id and epoch.
type Numbers = (TopicPartition, (i64, i16));

/// What was seen of the requests so far.
#[derive(Debug, Default)]
struct Watch {
    is_transactional: bool,
    is_plain: bool,
    /// Sequences whose batch was refused as too large: first and count, by partition and producer.
    split: HashMap<Numbers, Vec<(Sequence, u32)>>,
    /// Bytes by partition, producer and first sequence: a resend is the same.
    batches: HashMap<(TopicPartition, (i64, i16), i32), Bytes>,
    /// The sequence that comes next, by partition and producer.
    next: HashMap<Numbers, Sequence>,
    /// Produce requests on the wire, by node; their batches by partition.
    on_wire: HashMap<RequestId, (Destination, Vec<TopicPartition>)>,
    transactional_call: Option<RequestId>,
    /// Partitions that were added to the open transaction (V1).
    added: HashSet<TopicPartition>,
    /// V1: id and epoch with which a transactional request had no answer in this transaction.
    tainted: Option<(i64, i16)>,
    /// Those that must not be used any more.
    forbidden: HashSet<(i64, i16)>,
}

pub(crate) fn config() -> ProducerConfig {
    ProducerConfig {
        batch_size: 200,
        linger: Duration::from_millis(5),
        max_block: Duration::from_secs(60),
        ..ProducerConfig::default()
    }
}

/// Some instant: only differences matter.
#[allow(clippy::disallowed_methods, reason = "an Instant cannot be made otherwise")]
pub(crate) fn instant() -> Instant {
    Instant::now()
}

impl Harness {
    pub(crate) fn new(model: Model, transactional: bool, config: ProducerConfig, seed: u64) -> Self {
        let request_timeout = config.max_block / 2;
        Self::with_request_timeout(model, transactional, config, request_timeout, seed)
    }

    pub(crate) fn with_request_timeout(
        model: Model,
        transactional: bool,
        config: ProducerConfig,
        request_timeout: Duration,
        seed: u64,
    ) -> Self {
        let now = instant();
        let is_plain = !config.is_idempotent();
        let settings = Settings {
            request_timeout,
            config,
            transactional_id: transactional.then(|| "t".into()),
            backoff: Backoff {
                initial: Duration::from_millis(100),
                max: Duration::from_secs(1),
            },
        };
        let mut machine = ProducerMachine::new(settings, fastrand::Rng::with_seed(seed));
        machine.handle_cluster(now, &model.view());
        Self {
            machine,
            described: 0,
            model,
            now,
            taken: Vec::new(),
            results: HashMap::new(),
            sent: Vec::new(),
            faults: VecDeque::new(),
            lanes: BTreeMap::new(),
            delayed: VecDeque::new(),
            rng: fastrand::Rng::with_seed(seed ^ 0x5EED),
            next_batch: 0,
            watch: Watch {
                is_transactional: transactional,
                is_plain,
                ..Watch::default()
            },
        }
    }

    /// A transactional producer that has its id.
    pub(crate) fn transactional(transaction_version: i16) -> Self {
        let mut harness = Self::new(Model::new(transaction_version, 4, 0), true, config(), 7);
        harness.run();
        harness.machine.initialized().expect("an answer").expect("an id");
        harness
    }

    /// A producer without transactions that has its id.
    pub(crate) fn idempotent() -> Self {
        let mut harness = Self::new(Model::new(2, 4, 0), false, config(), 7);
        harness.run();
        harness.machine.initialized().expect("an answer").expect("an id");
        harness
    }

    /// A producer without transactions, with these settings, that may send.
    pub(crate) fn plain(config: ProducerConfig) -> Self {
        let mut harness = Self::new(Model::new(2, 4, 0), false, config, 7);
        harness.run();
        harness
            .machine
            .initialized()
            .expect("an answer")
            .expect("no failure");
        harness
    }

    /// Appends a record with a value of its own.
    pub(crate) fn append(&mut self, partition: i32, serial: Option<u64>) -> Result<Taken, Error> {
        let value = u64::try_from(self.taken.len()).expect("few records");
        let bytes = value.to_be_bytes();
        let record = Record::new(TOPIC, &bytes).partition(partition);
        let tag = self.next_batch;
        let appended = self
            .machine
            .append(self.now, &record, 0, || tag, |tag, index| (*tag, index));
        let appended = appended.map_err(|refusal| match refusal {
            Refusal::Error(error) | Refusal::Stale(error) => error,
            Refusal::Metadata(code) => Error::broker(ErrorKind::UnknownTopic, code, "no metadata"),
            Refusal::Memory => Error::new(ErrorKind::Timeout, "no memory"),
        })?;
        if appended.opened.is_some() {
            self.next_batch += 1;
        }
        let (batch, index) = appended.ticket;
        let taken = Taken {
            value,
            partition,
            batch,
            index,
            serial,
        };
        self.taken.push(taken);
        Ok(taken)
    }

    /// Begins a transaction, however long that takes.
    pub(crate) fn begin(&mut self) -> Result<u64, Error> {
        for _ in 0..10_000 {
            if let Some(begun) = self.machine.begin(self.now) {
                self.watch.begin();
                return begun;
            }
            self.advance();
        }
        panic!("begin never came to an end");
    }

    /// A transaction was begun by hand.
    pub(crate) fn begun(&mut self) {
        self.watch.begin();
    }

    /// Asks for a commit, and plays until the verdict.
    pub(crate) fn commit(&mut self, serial: u64) -> Verdict {
        if let Err(error) = self.machine.commit(self.now) {
            return Verdict::Fatal(error);
        }
        self.verdict(serial)
    }

    /// Asks for an abort, and plays until the verdict.
    pub(crate) fn abort(&mut self, serial: u64) -> Verdict {
        if let Err(error) = self.machine.abort(self.now) {
            return Verdict::Fatal(error);
        }
        self.verdict(serial)
    }

    /// Sends an offset of `in-0`, and plays until it is accepted or not.
    pub(crate) fn send_offset(&mut self, offset: i64, group: ConsumerGroupMetadata) -> Result<(), Error> {
        let offsets = [(TopicPartition::new("in", 0), OffsetAndMetadata::new(offset))].into();
        let number = self.machine.send_offsets(self.now, offsets, group)?;
        for _ in 0..10_000 {
            if let Some(accepted) = self.machine.offsets_accepted(number) {
                return accepted;
            }
            self.advance();
        }
        panic!("no answer about the offsets");
    }

    /// Asks how the last commit came out, and plays until that is told.
    pub(crate) fn resolve(&mut self) -> Result<Resolution, Error> {
        self.machine.resolve(self.now);
        for _ in 0..10_000 {
            if let Some(resolution) = self.machine.resolution() {
                return resolution;
            }
            self.advance();
        }
        panic!("the question has no answer");
    }

    /// Plays until there is a verdict.
    pub(crate) fn verdict(&mut self, serial: u64) -> Verdict {
        for _ in 0..10_000 {
            if let Some(verdict) = self.machine.verdict(serial) {
                return verdict;
            }
            self.advance();
        }
        panic!("no verdict");
    }

    /// Plays until nothing is on the wire and nothing is due at this instant.
    pub(crate) fn run(&mut self) {
        loop {
            self.collect();
            if !self.deliver_one() {
                return;
            }
        }
    }

    /// Plays for a while, timers included.
    pub(crate) fn run_for(&mut self, time: Duration) {
        let end = self.now + time;
        self.run();
        while let Some(at) = self.machine.poll_timeout().filter(|at| *at <= end) {
            self.now = at;
            self.machine.handle_timeout(at);
            self.run();
        }
        self.now = end;
    }

    /// One step: an answer if something is on the wire, else the next timer.
    pub(crate) fn advance(&mut self) {
        self.collect();
        if self.deliver_one() {
            self.collect();
            return;
        }
        match self.machine.poll_timeout() {
            Some(at) => {
                assert!(at > self.now, "a timer in the past would spin");
                self.now = at;
                self.machine.handle_timeout(at);
            }
            None => self.now += Duration::from_millis(1),
        }
        self.collect();
    }

    /// Takes the machine's outputs.
    pub(crate) fn collect(&mut self) {
        while self.machine.poll_directive().is_some() {}
        while let Some(outbound) = self.machine.poll_request(self.now) {
            if self.machine.asks_for_markers(outbound.id) {
                self.describe(outbound.id);
                continue;
            }
            let incomplete = self.next_batch - u64::try_from(self.results.len()).expect("few");
            let pending_events = self.drain_events();
            self.watch.request(
                &outbound,
                incomplete - u64::try_from(pending_events).expect("few"),
            );
            self.sent.push(outbound.clone());
            let lane = (format!("{:?}", outbound.to), lane_number(outbound.lane));
            self.lanes.entry(lane).or_default().push_back(outbound);
        }
        self.drain_events();
    }

    /// Markers are written at once here, and nothing but time depends on their description: it meets no faults.
    fn describe(&mut self, id: RequestId) {
        self.described += 1;
        let none = ResponseBody::DescribeTransactions(DescribeTransactionsResponse::default());
        self.machine.handle_response(self.now, id, Ok(none));
    }

    /// The requests that left since this was asked last, oldest first.
    pub(crate) fn take_sent(&mut self) -> Vec<&'static str> {
        std::mem::take(&mut self.sent)
            .iter()
            .map(|outbound| match &outbound.body {
                RequestBody::InitProducerId(_) => "InitProducerId",
                RequestBody::AddPartitionsToTxn(_) => "AddPartitionsToTxn",
                RequestBody::Produce(_) => "Produce",
                RequestBody::EndTxn(request) if request.committed => "EndTxn(commit)",
                RequestBody::EndTxn(_) => "EndTxn(abort)",
                RequestBody::AddOffsetsToTxn(_) => "AddOffsetsToTxn",
                RequestBody::TxnOffsetCommit(_) => "TxnOffsetCommit",
                RequestBody::DescribeTransactions(_) => "DescribeTransactions",
                _ => "other",
            })
            .collect()
    }

    /// The producer ids, epochs and first sequences of the Produce requests that left, by request.
    pub(crate) fn stamps(&self) -> Vec<((i64, i16), i32)> {
        let requests = self.sent.iter().filter_map(|outbound| match &outbound.body {
            RequestBody::Produce(request) => Some(request),
            _ => None,
        });
        let parts = requests
            .flat_map(|request| &request.topics)
            .flat_map(|topic| &topic.partitions);
        parts
            .map(|part| Incoming::read(&part.records))
            .map(|batch| (batch.producer, batch.base_sequence))
            .collect()
    }

    /// The result of what a record was sent with.
    pub(crate) fn result(&self, taken: Taken) -> &BatchResult {
        self.results[&taken.batch].of(taken.index).0
    }

    /// What became of a record in the log, once per appearance.
    pub(crate) fn in_log(&self, value: u64) -> Vec<Status> {
        let entries = self.model.logs.values().flat_map(|log| &log.entries);
        entries
            .filter(|entry| entry.value == value)
            .map(|entry| entry.status)
            .collect()
    }

    fn drain_events(&mut self) -> usize {
        let mut count = 0;
        while let Some(resolved) = self.machine.poll_event() {
            let before = self.results.insert(resolved.tag, resolved.results);
            assert!(before.is_none(), "batch {} has two results", resolved.tag);
            count += 1;
        }
        count
    }

    /// Lets the oldest request of a random lane meet its fate.
    pub(crate) fn deliver_one(&mut self) -> bool {
        self.lanes.retain(|_, queue| !queue.is_empty());
        if !self.delayed.is_empty() && self.rng.u8(..8) == 0 {
            let late = self.delayed.pop_front().expect("a request");
            self.model.handle(&late);
        }
        if self.lanes.is_empty() {
            return false;
        }
        let nth = self.rng.usize(..self.lanes.len());
        let outbound = self
            .lanes
            .values_mut()
            .nth(nth)
            .and_then(VecDeque::pop_front)
            .expect("a request");
        let fault = self.faults.pop_front().unwrap_or(Fault::None);
        let result = self.meet(fault, &outbound);
        self.watch.answer(&outbound, &result);
        self.machine.handle_response(self.now, outbound.id, result);
        true
    }

    /// What comes of a request that was taken from the machine by hand.
    pub(crate) fn answer(&mut self, outbound: &Outbound) -> Result<ResponseBody, RequestFailure> {
        let fault = self.faults.pop_front().unwrap_or(Fault::None);
        self.meet(fault, outbound)
    }

    fn meet(&mut self, fault: Fault, outbound: &Outbound) -> Result<ResponseBody, RequestFailure> {
        let lost = || {
            let error = Error::new(ErrorKind::Unreachable, "the connection broke");
            Err(RequestFailure::Unanswered(error))
        };
        let is_one_way = matches!(&outbound.body, RequestBody::Produce(request) if request.acks == 0);
        match fault {
            Fault::NotSent | Fault::RequestLost => {}
            _ if is_one_way => {
                if !matches!(fault, Fault::Refused(_) | Fault::Says(_) | Fault::Forgotten(_)) {
                    self.model.handle(outbound);
                }
                return Ok(ResponseBody::Produce(ProduceResponse {
                    topics: Vec::new(),
                    throttle_time_ms: 0,
                    node_endpoints: Vec::new(),
                }));
            }
            _ => {}
        }
        match fault {
            Fault::None => Ok(self.model.handle(outbound)),
            Fault::NotSent => {
                let error = Error::new(ErrorKind::Unreachable, "no connection");
                Err(RequestFailure::NotSent(error))
            }
            Fault::RequestLost => lost(),
            Fault::AnswerLost => {
                self.model.handle(outbound);
                lost()
            }
            Fault::Delayed => {
                // A late InitProducerId would end whatever is open: safe, but of no interest here.
                if !matches!(outbound.body, RequestBody::InitProducerId(_)) {
                    self.delayed.push_back(outbound.clone());
                }
                lost()
            }
            Fault::Refused(nth) => Ok(model::refusal(&outbound.body, Fault::code(nth, &outbound.body))),
            Fault::Forgotten(log_start) if matches!(outbound.body, RequestBody::Produce(_)) => {
                if log_start >= 0 {
                    self.model.logs.values_mut().for_each(Log::forget);
                    self.watch.forgotten();
                }
                Ok(model::unknown_producer(&outbound.body, log_start))
            }
            Fault::Forgotten(_) => Ok(self.model.handle(outbound)),
            Fault::Says(code) => Ok(model::refusal(&outbound.body, code)),
            Fault::Denied(nth) => {
                self.model.handle(outbound);
                let code = match outbound.body {
                    RequestBody::Produce(_) => ErrorCode::REQUEST_TIMED_OUT,
                    _ => DENIALS[nth],
                };
                Ok(model::refusal(&outbound.body, code))
            }
        }
    }
}

const fn lane_number(lane: Lane) -> u8 {
    match lane {
        Lane::General => 0,
        Lane::Produce => 1,
        Lane::Fetch => 2,
        Lane::Coordinator => 3,
    }
}

impl Watch {
    fn begin(&mut self) {
        self.added.clear();
        self.forbidden.extend(self.tainted.take());
    }

    fn request(&mut self, outbound: &Outbound, incomplete: u64) {
        match &outbound.body {
            RequestBody::Produce(request) => {
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
                    assert_eq!(outbound.to, Destination::Node(NodeId(partition.partition % 2)));
                    self.batch(outbound, partition, bytes);
                }
                let wire = (outbound.to.clone(), names.into_iter().collect());
                self.on_wire.insert(outbound.id, wire);
                self.check_wire();
            }
            RequestBody::EndTxn(request) => {
                assert_eq!(incomplete, 0, "EndTxn while batches have no result");
                self.transactional(outbound, (request.producer_id.0, request.producer_epoch));
            }
            RequestBody::AddPartitionsToTxn(request) => {
                let producer = (
                    request.v3_and_below_producer_id.0,
                    request.v3_and_below_producer_epoch,
                );
                self.transactional(outbound, producer);
            }
            RequestBody::AddOffsetsToTxn(request) => {
                self.transactional(outbound, (request.producer_id.0, request.producer_epoch));
            }
            RequestBody::TxnOffsetCommit(request) => {
                self.transactional(outbound, (request.producer_id.0, request.producer_epoch));
                let group =
                    Destination::Coordinator(CoordinatorKind::Group, request.group_id.0.as_str().into());
                assert_eq!(outbound.to, group, "offsets go to the group's coordinator");
            }
            RequestBody::InitProducerId(_) | RequestBody::DescribeTransactions(_) => self.one_call(outbound),
            other => panic!("a producer sent {other:?}"),
        }
    }

    fn transactional(&mut self, outbound: &Outbound, producer: (i64, i16)) {
        self.one_call(outbound);
        assert!(
            !self.forbidden.contains(&producer),
            "{producer:?} is used after a request with it had no answer"
        );
    }

    fn one_call(&mut self, outbound: &Outbound) {
        assert_eq!(self.transactional_call, None, "two transactional requests");
        self.transactional_call = Some(outbound.id);
    }

    fn batch(&mut self, outbound: &Outbound, partition: &TopicPartition, bytes: &Bytes) {
        let batch = Incoming::read(bytes);
        assert_eq!(batch.transactional, self.is_transactional);
        if self.is_plain {
            assert_eq!((batch.producer, batch.base_sequence), ((-1, -1), -1));
            return;
        }
        assert!(
            !self.forbidden.contains(&batch.producer),
            "{:?} is used after a request with it had no answer",
            batch.producer
        );
        if self.is_transactional && outbound.versions.max <= 11 {
            assert!(
                self.added.contains(partition),
                "{partition} is written to before it was added"
            );
        }
        let key = (partition.clone(), batch.producer, batch.base_sequence);
        let count = u32::try_from(batch.len()).expect("few");
        match self.batches.get(&key) {
            Some(before) => assert_eq!(before, bytes, "a resend differs"),
            None if self.is_of_split(partition, &batch, count) => {
                self.batches.insert(key, bytes.clone());
            }
            None => {
                let next = self
                    .next
                    .entry((partition.clone(), batch.producer))
                    .or_insert(Sequence::ZERO);
                assert_eq!(batch.base_sequence, next.get(), "a gap in the sequences");
                *next = next.add(count);
                self.batches.insert(key, bytes.clone());
            }
        }
    }

    /// Whether a batch lies within the sequences of one that was refused as too large.
    fn is_of_split(&self, partition: &TopicPartition, batch: &Incoming, count: u32) -> bool {
        let base = Sequence::new(batch.base_sequence).expect("a sequence");
        let ranges = self.split.get(&(partition.clone(), batch.producer));
        ranges.is_some_and(|ranges| {
            ranges
                .iter()
                .any(|(first, of)| base.distance_from(*first) + count <= *of && count < *of)
        })
    }

    /// The logs know no producer any more: each may start over.
    fn forgotten(&mut self) {
        self.next.clear();
        self.batches.clear();
        self.split.clear();
    }

    /// The batches that were refused as too large.
    fn too_large(&mut self, outbound: &Outbound, response: &ProduceResponse) {
        let RequestBody::Produce(request) = &outbound.body else {
            return;
        };
        for (topic, answered) in request.topics.iter().zip(&response.topics) {
            for (part, answered) in topic.partitions.iter().zip(&answered.partitions) {
                let batch = Incoming::read(&part.records);
                let is_too_large = matches!(
                    answered.error_code,
                    ErrorCode::MESSAGE_TOO_LARGE | ErrorCode::RECORD_LIST_TOO_LARGE
                );
                if is_too_large && !self.is_plain {
                    let partition = TopicPartition::new(Arc::clone(&topic.name), part.index);
                    let base = Sequence::new(batch.base_sequence).expect("a sequence");
                    let count = u32::try_from(batch.len()).expect("few");
                    self.batches
                        .remove(&(partition.clone(), batch.producer, batch.base_sequence));
                    let ranges = self.split.entry((partition, batch.producer)).or_default();
                    ranges.push((base, count));
                }
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
        let limit = if self.is_plain { usize::MAX } else { 5 };
        assert!(by_node.values().all(|count| *count <= limit), "{by_node:?}");
        assert!(
            by_partition.values().all(|count| *count <= limit),
            "{by_partition:?}"
        );
    }

    fn answer(&mut self, outbound: &Outbound, result: &Result<ResponseBody, RequestFailure>) {
        self.on_wire.remove(&outbound.id);
        if let Ok(ResponseBody::Produce(response)) = result {
            self.too_large(outbound, response);
        }
        if self.transactional_call == Some(outbound.id) {
            self.transactional_call = None;
        }
        if let (RequestBody::AddPartitionsToTxn(_), Ok(ResponseBody::AddPartitionsToTxn(response))) =
            (&outbound.body, result)
        {
            for topic in &response.results_by_topic_v3_and_below {
                let name: Arc<str> = topic.name.0.as_str().into();
                for part in &topic.results_by_partition {
                    if part.partition_error_code == 0 {
                        let partition = TopicPartition::new(Arc::clone(&name), part.partition_index);
                        self.added.insert(partition);
                    }
                }
            }
        }
        if let Err(RequestFailure::Unanswered(_)) = result {
            match &outbound.body {
                RequestBody::AddPartitionsToTxn(request) => {
                    self.tainted = Some((
                        request.v3_and_below_producer_id.0,
                        request.v3_and_below_producer_epoch,
                    ));
                }
                RequestBody::AddOffsetsToTxn(request) => {
                    self.tainted = Some((request.producer_id.0, request.producer_epoch));
                }
                RequestBody::TxnOffsetCommit(request) if outbound.versions.max <= 4 => {
                    self.tainted = Some((request.producer_id.0, request.producer_epoch));
                }
                RequestBody::EndTxn(request) if outbound.versions.max <= 4 => {
                    self.tainted = Some((request.producer_id.0, request.producer_epoch));
                }
                _ => {}
            }
        }
    }
}
