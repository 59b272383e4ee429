//! The producer's machine: accumulator and transaction put together, nothing else.
//!
//! In: records and the application's calls, answers, the cluster's snapshot, time. Out: requests (transactional ones first),
//! directives, and an event per batch that has its result. `T` is a batch's completion tag, made when its first record comes.
//!
//! A plain producer has no use for the transaction's part: it never asks for a producer id, and sends under none.

mod markers;
mod request;
mod response;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sealwax_protocol::ids::{NodeId, ProducerIdAndEpoch, TopicPartition};
use sealwax_protocol::response::ResponseBody;
use sealwax_protocol::version::{FinalizedFeatures, VersionRange};

use self::markers::Markers;
use self::response::{Answer, Asked};
use crate::config::{Acks, ProducerConfig};
use crate::error::{Error, ErrorKind};
use crate::machine::accumulator::batch::Resolved;
use crate::machine::accumulator::{
    self, Appended, BatchOutcome, Gate, Kind, PartitionerSettings, RecordAccumulator, Refusal, Turn,
};
use crate::machine::metadata::ClusterMetadata;
use crate::machine::retry::Backoff;
use crate::machine::transaction::{
    self, Resolution, Sender, TransactionManager, Verdict, describe_transactions,
};
use crate::machine::{
    ClusterView, CoordinatorKind, Destination, Directive, Lane, Machine, Outbound, RequestFailure, RequestId,
};
use crate::offsets::{ConsumerGroupMetadata, OffsetAndMetadata};
use crate::record::Record;

/// Versions of Produce for a plain producer.
const PLAIN_PRODUCE: VersionRange = VersionRange { min: 9, max: 13 };

/// The longest time to wait that is told apart from no limit at all (136 years): an instant cannot be as late as a `Duration` is long.
const LONGEST: Duration = Duration::from_secs(u32::MAX as u64);

/// What the machine needs to know of the settings.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// The producer's own. They were checked.
    pub(crate) config: ProducerConfig,
    /// The transactional id, if there is one.
    pub(crate) transactional_id: Option<Arc<str>>,
    /// `request.timeout.ms`.
    pub(crate) request_timeout: Duration,
    /// The pause before a request is repeated.
    pub(crate) backoff: Backoff,
}

/// A request on the wire.
#[derive(Debug)]
enum Call {
    Transactional,
    Markers,
    Produce(NodeId, Vec<Asked>),
}

/// Whether the public handle is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Handle {
    Held,
    /// Gone, or about to be; what is not done at this instant is given up.
    Dropped(Instant),
}

impl Settings {
    const fn acks(&self) -> Acks {
        self.config.acks
    }

    fn kind(&self) -> Kind {
        match &self.transactional_id {
            Some(_) => Kind::Transactional,
            None if self.config.is_idempotent() => Kind::Idempotent,
            None => Kind::Plain,
        }
    }
}

/// A producer.
#[derive(Debug)]
pub(crate) struct ProducerMachine<T> {
    settings: Settings,
    accumulator: RecordAccumulator<T>,
    transactions: TransactionManager,
    markers: Markers,
    calls: HashMap<RequestId, Call>,
    /// Produce requests on the wire.
    in_flight: HashMap<NodeId, usize>,
    next_id: u64,
    metadata: Arc<ClusterMetadata>,
    metadata_as_of: Option<Instant>,
    /// When the youngest send began for whose sake the metadata is asked for anew.
    news_wanted: Option<Instant>,
    features: FinalizedFeatures,
    directives: VecDeque<Directive>,
    /// Batches whose events were handed out.
    told: u64,
    handle: Handle,
    /// Batches, or pieces of one, that were given up because the producer was closed.
    cut_off: usize,
    /// The last instant that was told: what was due then is done or waits for something else.
    now: Option<Instant>,
}

impl<T> ProducerMachine<T> {
    /// A producer that asks for its id first.
    pub(crate) fn new(settings: Settings, mut rng: fastrand::Rng) -> Self {
        let config = &settings.config;
        let accumulator = accumulator::Settings {
            kind: settings.kind(),
            retries: config.retries,
            max_in_flight: config.max_in_flight,
            partitioner: PartitionerSettings::of(config),
            batch_size: config.batch_size,
            linger: config.linger,
            buffer_memory: config.buffer_memory,
            max_request_size: config.max_request_size,
            delivery_timeout: config.delivery_timeout,
            backoff: settings.backoff,
        };
        let transactions = transaction::Settings {
            transactional: settings
                .transactional_id
                .clone()
                .map(|id| (id, config.transaction_timeout)),
            epoch_bump: config.epoch_bump,
            request_timeout: settings.request_timeout,
            max_block: config.max_block,
            backoff: settings.backoff,
        };
        Self {
            accumulator: RecordAccumulator::new(accumulator, rng.fork()),
            transactions: TransactionManager::new(transactions, rng),
            markers: Markers::Past,
            settings,
            calls: HashMap::new(),
            in_flight: HashMap::new(),
            next_id: 0,
            metadata: Arc::default(),
            metadata_as_of: None,
            news_wanted: None,
            features: FinalizedFeatures::default(),
            directives: VecDeque::new(),
            told: 0,
            handle: Handle::Held,
            cut_off: 0,
            now: None,
        }
    }

    /// Takes a record of someone who does not stand in line for room.
    #[cfg(test)]
    pub(crate) fn append<R>(
        &mut self,
        now: Instant,
        record: &Record<'_>,
        timestamp: i64,
        open: impl FnOnce() -> T,
        taken: impl FnOnce(&T, u32) -> R,
    ) -> Result<Appended<R>, Refusal> {
        self.append_in_turn((now, now), None, (record, timestamp), open, taken)
    }

    /// Takes a record of someone who wants to send it since `since` and may stand in line for room. See [`RecordAccumulator::append`].
    ///
    /// # Errors
    /// Why it was not taken; for some reasons it may be taken later.
    pub(crate) fn append_in_turn<R>(
        &mut self,
        (now, since): (Instant, Instant),
        turn: Option<&Turn>,
        (record, timestamp): (&Record<'_>, i64),
        open: impl FnOnce() -> T,
        taken: impl FnOnce(&T, u32) -> R,
    ) -> Result<Appended<R>, Refusal> {
        self.transactions.may_append().map_err(Refusal::Error)?;
        if let Some(topic) = self.accumulator.want_topic(record.topic) {
            self.directives.push_back(Directive::NeedTopic(topic));
            self.accumulator.update(&self.metadata);
        }
        let appended = self
            .accumulator
            .append(now, turn, (record, timestamp), open, taken)
            .map_err(|refusal| self.judge(since, refusal))?;
        if let Some(partition) = &appended.opened {
            self.transactions.use_partition(partition.clone());
        }
        Ok(appended)
    }

    /// A record of the open transaction could not be taken: without it the rest must not be committed (KAFKA-9279). The same error as
    /// what its sender is told.
    pub(crate) fn not_taken(&mut self, now: Instant, error: &Error) -> Error {
        let told = self.transactions.not_taken(now, error);
        self.reconcile(now);
        told
    }

    /// Permissions can be granted: whoever wanted to send after the cluster was asked about them is told what it says when it is asked anew.
    fn judge(&mut self, since: Instant, refusal: Refusal) -> Refusal {
        let is_before = |at: Option<Instant>| at.is_none_or(|at| at < since);
        match refusal {
            Refusal::Error(error)
                if error.kind() == ErrorKind::Authorization && is_before(self.metadata_as_of) =>
            {
                if is_before(self.news_wanted) {
                    self.news_wanted = Some(since);
                    self.directives.push_back(Directive::RefreshMetadata);
                }
                Refusal::Stale(error)
            }
            Refusal::Error(_) | Refusal::Stale(_) | Refusal::Metadata(_) | Refusal::Memory => refusal,
        }
    }

    /// Gets in the line of those who wait for room. As long as someone stands there, batches do not wait for their linger.
    pub(crate) fn line_up(&mut self) -> Turn {
        self.accumulator.line_up()
    }

    /// Leaves that line, served or not.
    pub(crate) fn leave(&mut self, turn: Turn) {
        self.accumulator.leave(turn);
    }

    /// Whether the producer can be used; `None` as long as it has no producer id but needs one.
    pub(crate) fn initialized(&self) -> Option<Result<(), Error>> {
        match (self.settings.kind(), self.transactions.initialized()) {
            (Kind::Plain, None) => Some(Ok(())),
            (Kind::Plain | Kind::Idempotent | Kind::Transactional, initialized) => initialized,
        }
    }

    /// Makes all batches of this moment ready, and returns a number to ask [`ProducerMachine::is_flushed`] with.
    pub(crate) const fn flush(&mut self) -> u64 {
        self.accumulator.flush()
    }

    /// Whether every batch that was there at the flush has its result and its event was handed out. How many events were by then.
    pub(crate) fn is_flushed(&self, ticket: u64) -> Option<u64> {
        let is_flushed = self.accumulator.is_told() && self.accumulator.is_flushed(ticket);
        is_flushed.then_some(self.told)
    }

    /// Closes after `limit`: until then everything is sent and awaited, then everything is given up. Returns a number to ask
    /// [`ProducerMachine::is_flushed`] with.
    pub(crate) fn close_within(&mut self, now: Instant, limit: Duration) -> u64 {
        let until = now + limit.min(LONGEST);
        self.handle = match self.handle {
            Handle::Held => Handle::Dropped(until),
            Handle::Dropped(earlier) => Handle::Dropped(earlier.min(until)),
        };
        let ticket = self.accumulator.flush();
        self.transactions.wind_up();
        self.reconcile(now);
        ticket
    }

    /// How many batches, or pieces of one, were given up because their time was over when the producer was closed.
    pub(crate) const fn cut_off(&self) -> usize {
        self.cut_off
    }

    /// Begins a transaction; `None` as long as the one before is not cleared up. One whose handle was leaked is aborted.
    pub(crate) fn begin(&mut self, now: Instant) -> Option<Result<u64, Error>> {
        self.transactions.abandon_all();
        self.reconcile(now);
        let begun = self.transactions.begin(self.features)?;
        if begun.is_ok() {
            self.markers.begun(now);
            self.accumulator.deliver();
        }
        Some(begun)
    }

    /// Delivers what was taken and commits. The verdict comes later.
    ///
    /// # Errors
    /// If the transaction is not open.
    pub(crate) fn commit(&mut self, now: Instant) -> Result<(), Error> {
        self.transactions.commit(now)?;
        self.accumulator.flush();
        self.reconcile(now);
        Ok(())
    }

    /// Aborts. The verdict comes later.
    ///
    /// # Errors
    /// If the transaction is not open.
    pub(crate) fn abort(&mut self, now: Instant) -> Result<(), Error> {
        self.transactions.abort()?;
        self.reconcile(now);
        Ok(())
    }

    /// Makes offsets of a consumer group part of the transaction. The number names them in [`ProducerMachine::offsets_accepted`].
    ///
    /// # Errors
    /// If the transaction is not open.
    pub(crate) fn send_offsets(
        &mut self,
        now: Instant,
        offsets: BTreeMap<TopicPartition, OffsetAndMetadata>,
        group: ConsumerGroupMetadata,
    ) -> Result<u64, Error> {
        self.transactions.send_offsets(now, offsets, group)
    }

    /// Whether these offsets are part of the transaction, or why they never will be; `None` as long as that is open.
    pub(crate) fn offsets_accepted(&self, number: u64) -> Option<Result<(), Error>> {
        self.transactions.offsets_accepted(number)
    }

    /// Asks what became of the last commit, if that is unknown.
    pub(crate) fn resolve(&mut self, now: Instant) {
        self.transactions.resolve(now);
    }

    /// How the last commit came out; `None` as long as that is open.
    pub(crate) fn resolution(&self) -> Option<Result<Resolution, Error>> {
        self.transactions.resolution()
    }

    /// The reason why the open transaction can only be aborted, if that is so.
    pub(crate) const fn failure(&self) -> Option<&Error> {
        self.transactions.failure()
    }

    /// Puts an end to whatever is open, also to a transaction whose outcome is unknown.
    pub(crate) fn wind_up(&mut self, now: Instant) {
        self.transactions.wind_up();
        self.reconcile(now);
    }

    /// The handle of this transaction is gone: aborts it if nobody has asked for its end.
    pub(crate) fn abandon(&mut self, now: Instant, serial: u64) {
        self.transactions.abandon(serial);
        self.reconcile(now);
    }

    /// The verdict about a transaction, once there is one.
    pub(crate) fn verdict(&self, serial: u64) -> Option<Verdict> {
        self.transactions.verdict(serial)
    }

    /// Whether no transaction is open or about to end.
    pub(crate) const fn is_idle(&self) -> bool {
        self.transactions.is_idle()
    }

    fn advance(&mut self, now: Instant) {
        self.now = Some(now);
        for failure in self.accumulator.expire(now) {
            self.transactions.batch_failed(now, failure);
        }
        self.transactions.handle_timeout(now);
        if self.accumulator.all_resolved().is_none() {
            self.transactions.expire(now);
        }
        self.transactions.prepare(self.features);
        if let Handle::Dropped(_) = self.handle {
            self.transactions.wind_up();
        }
        self.reconcile(now);
        if let Handle::Dropped(until) = self.handle
            && until <= now
        {
            self.transactions.fail(&closed());
            self.cut_off += self.accumulator.unsent();
            self.reconcile(now);
            self.cut_off += self.accumulator.abandon(&closed());
        }
    }

    /// Carries over to the batches what the transaction's state asks for.
    fn reconcile(&mut self, now: Instant) {
        while let Some(retired) = self.accumulator.poll_retired() {
            let failure = accumulator::Failure {
                error: Error::new(ErrorKind::Timeout, "a partition had no write for long"),
                stamped: Some(retired),
            };
            self.transactions.batch_failed(now, failure);
        }
        if let Some(reason) = self.transactions.discards()
            && let Some(failure) = self.accumulator.discard(&reason)
        {
            self.transactions.batch_failed(now, failure);
        }
        if self.settings.kind() == Kind::Idempotent
            && let Some(sender) = self.transactions.sender()
        {
            self.accumulator.renumber(sender.producer);
        }
    }

    /// Whose batches may be sent now; `None`: nobody's.
    fn sender(&self) -> Option<Sender> {
        match (self.settings.kind(), self.transactions.initialized()) {
            (Kind::Idempotent | Kind::Transactional, _) => self.transactions.sender(),
            (Kind::Plain, Some(Err(_))) => None,
            (Kind::Plain, Some(Ok(())) | None) => Some(Sender {
                producer: ProducerIdAndEpoch::NONE,
                transactional_id: None,
                versions: PLAIN_PRODUCE,
            }),
        }
    }

    /// The next transactional request, or InitProducerId. A plain producer has none.
    fn poll_transactional(&mut self, now: Instant, id: RequestId) -> Option<Outbound> {
        if self.settings.kind() == Kind::Plain {
            return None;
        }
        let proof = self.accumulator.all_resolved();
        self.transactions.poll_request(now, id, proof)
    }

    /// Asks whether the markers of the transaction before are written.
    fn poll_markers(&mut self, now: Instant, id: RequestId) -> Option<Outbound> {
        let transactional_id = self.settings.transactional_id.as_ref()?;
        if !self.markers.ask(now) {
            return None;
        }
        let body = describe_transactions::request(transactional_id);
        self.calls.insert(id, Call::Markers);
        Some(Outbound {
            id,
            to: Destination::Coordinator(CoordinatorKind::Transaction, Arc::clone(transactional_id)),
            lane: Lane::Coordinator,
            versions: body.versions(),
            body,
            deadline: now + self.settings.request_timeout,
        })
    }

    /// Bytes of `buffer.memory` that are in use.
    #[cfg(test)]
    pub(crate) const fn reserved_memory(&self) -> usize {
        self.accumulator.reserved_memory()
    }

    /// Whether this request asks for the markers.
    #[cfg(test)]
    pub(crate) fn asks_for_markers(&self, id: RequestId) -> bool {
        matches!(self.calls.get(&id), Some(Call::Markers))
    }

    fn poll_produce(&mut self, now: Instant, id: RequestId) -> Option<Outbound> {
        if self.markers.hold_until(now).is_some() {
            return None;
        }
        let sender = self.sender()?;
        let max_in_flight = self.settings.config.max_in_flight;
        let gate = Gate {
            producer: sender.producer,
            has_room: &|node| self.in_flight.get(&node).copied().unwrap_or(0) < max_in_flight,
            may_write: &|partition| self.transactions.may_write(partition),
        };
        let drained = self.accumulator.drain(now, id, &gate)?;
        self.transactions.write_attempted(now);
        let node = drained.node;
        let (asked, outbound) = request::build(
            now,
            id,
            drained,
            &self.accumulator,
            (sender, self.settings.acks()),
            self.settings.request_timeout,
        );
        *self.in_flight.entry(node).or_default() += 1;
        self.calls.insert(id, Call::Produce(node, asked));
        Some(outbound)
    }

    fn produced(
        &mut self,
        now: Instant,
        id: RequestId,
        asked: &[Asked],
        result: Result<ResponseBody, RequestFailure>,
    ) {
        let failure = match result {
            Ok(ResponseBody::Produce(_)) if self.settings.acks() == Acks::None => {
                return self.take(now, id, response::unacknowledged(asked));
            }
            Ok(ResponseBody::Produce(response)) => {
                let transactional_id = self.settings.transactional_id.as_deref();
                return self.take(now, id, response::read(asked, &response, transactional_id));
            }
            Ok(other) => {
                let message = format!("a Produce request was answered with {:?}", other.api_key());
                RequestFailure::Unanswered(Error::new(ErrorKind::Corrupt, message))
            }
            Err(failure) => failure,
        };
        let outcome = response::unanswered(&failure);
        let answer = Answer {
            outcomes: asked.iter().map(|asked| (asked.id, outcome.clone())).collect(),
            is_metadata_stale: true,
        };
        self.take(now, id, answer);
    }

    fn take(&mut self, now: Instant, id: RequestId, answer: Answer) {
        if answer.is_metadata_stale {
            self.directives.push_back(Directive::RefreshMetadata);
        }
        for (partition, outcome) in answer.outcomes {
            let fatal = match &outcome {
                BatchOutcome::Fatal(error) => Some(error.clone()),
                BatchOutcome::Written { .. }
                | BatchOutcome::Retry(..)
                | BatchOutcome::NotSent(_)
                | BatchOutcome::OutOfOrder(_)
                | BatchOutcome::UnknownProducer { .. }
                | BatchOutcome::TooLarge(_)
                | BatchOutcome::Failed(..) => None,
            };
            let failure = self.accumulator.handle(now, id, partition, outcome);
            match (fatal, failure) {
                (Some(error), _) => self.transactions.fail(&error),
                (None, Some(failure)) => self.transactions.batch_failed(now, failure),
                (None, None) => {}
            }
        }
    }
}

impl<T: Send + 'static> Machine for ProducerMachine<T> {
    type Event = Resolved<T>;

    fn handle_cluster(&mut self, now: Instant, view: &ClusterView) {
        self.metadata = Arc::clone(&view.metadata);
        self.metadata_as_of = view.metadata_as_of;
        self.features = view.features;
        for lost in self.accumulator.update(&view.metadata) {
            let failure = accumulator::Failure {
                error: Error::new(ErrorKind::UnknownTopic, "a topic was deleted and created anew"),
                stamped: Some(lost),
            };
            self.transactions.batch_failed(now, failure);
        }
    }

    fn handle_response(&mut self, now: Instant, id: RequestId, result: Result<ResponseBody, RequestFailure>) {
        match self.calls.remove(&id) {
            None => {}
            Some(Call::Markers) => self.markers.answered(&result),
            Some(Call::Transactional) => {
                if let Ok(ResponseBody::EndTxn(response)) = &result {
                    self.markers.ended(now, response);
                }
                self.transactions
                    .handle_response(now, result, &mut self.directives);
            }
            Some(Call::Produce(node, asked)) => {
                if let Some(count) = self.in_flight.get_mut(&node) {
                    *count = count.saturating_sub(1);
                }
                self.accumulator.heard_of(now, node, result.is_ok());
                self.produced(now, id, &asked, result);
            }
        }
        self.reconcile(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.advance(now);
    }

    fn handle_close(&mut self, now: Instant) {
        let config = &self.settings.config;
        let patience = match self.settings.transactional_id {
            // As long as a commit is asked for: one that is under way goes on.
            Some(_) => config.max_block.max(self.settings.request_timeout),
            None => config.delivery_timeout + self.settings.request_timeout,
        };
        self.close_within(now, patience);
    }

    fn poll_directive(&mut self) -> Option<Directive> {
        self.directives.pop_front()
    }

    fn poll_request(&mut self, now: Instant) -> Option<Outbound> {
        self.advance(now);
        let id = RequestId(self.next_id);
        let outbound = match self.poll_transactional(now, id) {
            Some(outbound) => {
                self.calls.insert(id, Call::Transactional);
                outbound
            }
            None => match self.poll_markers(now, id) {
                Some(outbound) => outbound,
                None => self.poll_produce(now, id)?,
            },
        };
        self.next_id += 1;
        Some(outbound)
    }

    fn poll_event(&mut self) -> Option<Self::Event> {
        let resolved = self.accumulator.poll_resolved()?;
        self.told += 1;
        Some(resolved)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let now = self.now?;
        let closing = match self.handle {
            Handle::Held => None,
            Handle::Dropped(until) => Some(until).filter(|until| *until > now),
        };
        let wakes = [
            self.accumulator.next_wake(now),
            self.transactions.next_wake(now),
            self.markers.hold_until(now),
            closing,
        ];
        wakes.into_iter().flatten().min()
    }

    fn is_drained(&self) -> bool {
        let is_over = match (self.handle, self.now) {
            (Handle::Dropped(until), Some(now)) => until <= now,
            (Handle::Dropped(_) | Handle::Held, _) => false,
        };
        is_over || (self.transactions.is_idle() && self.accumulator.all_resolved().is_some())
    }
}

fn closed() -> Error {
    Error::new(
        ErrorKind::Closed,
        "the producer was closed before this was confirmed by the broker",
    )
}
