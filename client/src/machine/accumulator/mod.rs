//! Open and sealed batches per partition, from append to result.
//!
//! In: records, the cluster's snapshot, drains, answers, time. Out: batches to send by leader, resolved batches, and
//! [`AllResolved`], the proof without which no transaction can be ended. A record is encoded once, into its open batch; the
//! batch gets its sequences and checksum when it is drained.

mod availability;
pub(crate) mod batch;
mod buffer;
mod drain;
mod family;
mod outcome;
mod partitioner;
mod queue;
mod sequence;
mod split;
#[cfg(test)]
mod tests;
pub(crate) mod topics;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{NodeId, ProducerIdAndEpoch, TopicId, TopicPartition};
use sealwax_protocol::record::BatchBuilder;
use sealwax_protocol::record::batch::HEADER_LEN;

use self::availability::Availability;
use self::batch::{Fate, Finished, Open, Resolved};
use self::buffer::BufferMemory;
pub(crate) use self::buffer::Turn;
pub(crate) use self::drain::{Drained, Gate};
use self::family::Families;
pub(crate) use self::outcome::{BatchOutcome, Failure};
pub(crate) use self::partitioner::PartitionerSettings;
use self::queue::Order;
use self::topics::{Chooser, Chosen, PartitionId, Topics};
use crate::error::{Error, ErrorKind};
use crate::machine::metadata::ClusterMetadata;
use crate::machine::retry::Backoff;
use crate::record::Record;

/// Bytes that are reserved for an open batch's buffer at once; it grows with its records up to `batch.size`.
const FIRST_CAPACITY: usize = 16 * 1024;

/// After so long without a write a partition's log is no longer trusted to know the producer: it forgets one without a word, after
/// `transactional.id.expiration.ms` or `producer.id.expiration.ms` (a day by default, but teams set hours), and then takes any sequence.
const TRUSTED_FOR: Duration = Duration::from_secs(60 * 60);

/// What brokers know of the producer's batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing: no producer id, no sequences.
    Plain,
    /// Producer id and sequences.
    Idempotent,
    /// Producer id, sequences, and that they belong to transactions.
    Transactional,
}

/// What the accumulator needs to know of the settings.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// What brokers know of the batches.
    pub(crate) kind: Kind,
    /// `retries`.
    pub(crate) retries: u32,
    /// `max.in.flight.requests.per.connection`: a plain producer has no more batches of one partition on the wire.
    pub(crate) max_in_flight: usize,
    /// How records find their partition.
    pub(crate) partitioner: PartitionerSettings,
    /// `batch.size`.
    pub(crate) batch_size: usize,
    /// `linger.ms`.
    pub(crate) linger: Duration,
    /// `buffer.memory`.
    pub(crate) buffer_memory: usize,
    /// `max.request.size`.
    pub(crate) max_request_size: usize,
    /// `delivery.timeout.ms`.
    pub(crate) delivery_timeout: Duration,
    /// The pause before a batch is sent again.
    pub(crate) backoff: Backoff,
}

/// Proof that every batch has its result: nothing is open, waiting, or on the wire.
#[derive(Debug)]
#[must_use]
pub(crate) struct AllResolved {
    _minted_by_the_accumulator: (),
}

/// A record that was taken.
#[derive(Debug)]
pub(crate) struct Appended<R> {
    /// What the caller made of the batch's tag and the record's index.
    pub(crate) ticket: R,
    /// The partition, if the record opened a batch.
    pub(crate) opened: Option<TopicPartition>,
    /// Whether a batch became ready or its linger began.
    pub(crate) made_work: bool,
}

/// Why a record was not taken.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The topic's metadata is not there yet; the code is the cluster's last word on it.
    Metadata(ErrorCode),
    /// No room in the memory budget now.
    Memory,
    /// It cannot be taken as far as is known, but what is known may be old.
    Stale(Error),
    /// It cannot be taken.
    Error(Error),
}

/// Whether batches that come back unwritten are sent again.
#[derive(Debug)]
enum Course {
    Deliver,
    /// They fail with this error: the transaction they belong to is lost.
    Discard(Error),
}

/// The batches of a producer. `T` is a batch's completion tag.
#[derive(Debug)]
pub(crate) struct RecordAccumulator<T> {
    settings: Settings,
    topics: Topics<T>,
    /// Partitions with batches that have no result.
    active: BTreeSet<PartitionId>,
    /// Where the next drain begins, so that no partition starves (KAFKA-10520).
    cursor: PartitionId,
    memory: BufferMemory,
    availability: Availability,
    /// Batches that were split.
    families: Families<T>,
    resolved: VecDeque<Resolved<T>>,
    next_serial: u64,
    /// Batches below this number do not wait for their linger.
    flush_below: u64,
    /// Partitions whose numbers were lost, to be numbered anew after an epoch bump (only of an idempotent producer).
    broken: BTreeSet<PartitionId>,
    /// Whose numbers were lost without a failure.
    retired: Vec<ProducerIdAndEpoch>,
    /// How many transactions have begun.
    round: u64,
    /// No batch expires before.
    next_expiry: Option<Instant>,
    course: Course,
    rng: fastrand::Rng,
}

impl<T> RecordAccumulator<T> {
    /// An empty one.
    pub(crate) fn new(settings: Settings, rng: fastrand::Rng) -> Self {
        let order = match settings.kind {
            Kind::Plain => Order::Plain {
                window: settings.max_in_flight,
            },
            Kind::Idempotent | Kind::Transactional => Order::Sequenced,
        };
        let availability = match settings.partitioner.adaptive {
            true => settings.partitioner.availability_timeout,
            false => Duration::ZERO,
        };
        Self {
            topics: Topics::new(order),
            active: BTreeSet::new(),
            cursor: PartitionId {
                topic: 0,
                partition: 0,
            },
            memory: BufferMemory::new(settings.buffer_memory),
            availability: Availability::new(availability),
            families: Families::new(),
            resolved: VecDeque::new(),
            next_serial: 0,
            flush_below: 0,
            broken: BTreeSet::new(),
            retired: Vec::new(),
            round: 0,
            next_expiry: None,
            course: Course::Deliver,
            rng,
            settings,
        }
    }

    /// Encodes a record into the open batch of its partition. `turn` is its place in the line of those who wait for room, if it has one;
    /// `open` makes the tag of a new batch; `taken` is told the batch's tag and the record's index in it.
    ///
    /// # Errors
    /// Why the record was not taken.
    pub(crate) fn append<R>(
        &mut self,
        now: Instant,
        turn: Option<&Turn>,
        (record, timestamp): (&Record<'_>, i64),
        open: impl FnOnce() -> T,
        taken: impl FnOnce(&T, u32) -> R,
    ) -> Result<Appended<R>, Refusal> {
        let bound = self.checked_bound(record)?;
        let (chosen, id) = self.place(now, record, bound)?;
        let opened = self.make_room(now, id, (bound, turn), open)?;
        let batch_size = self.settings.batch_size;
        // Both are there: `place` found the partition and `make_room` the batch.
        let lost = || Refusal::Error(Error::new(ErrorKind::InvalidState, "the open batch is gone"));
        let topic = self.topics.get_mut(id.topic).ok_or_else(lost)?;
        let batch = topic
            .partitions
            .get_mut(id.partition)
            .and_then(|partition| partition.queue.last_open())
            .ok_or_else(lost)?;
        let before = if opened { 0 } else { batch.len() };
        let index = batch.append(record, timestamp).map_err(too_large)?;
        let is_full = batch.len() >= batch_size;
        let grown = batch.len() - before;
        let ticket = taken(batch.tag(), index);
        topic.appended(chosen, grown);
        Ok(Appended {
            ticket,
            opened: if opened { self.topic_partition(id) } else { None },
            made_work: opened || is_full,
        })
    }

    /// Gets in the line of those who wait for room.
    pub(crate) fn line_up(&mut self) -> Turn {
        self.memory.line_up()
    }

    /// Leaves that line.
    pub(crate) fn leave(&mut self, turn: Turn) {
        self.memory.leave(turn);
    }

    /// Takes over what the cluster knows. For an idempotent producer: the producer ids and epochs whose numbers are lost because a topic
    /// was created anew.
    pub(crate) fn update(&mut self, metadata: &ClusterMetadata) -> Vec<ProducerIdAndEpoch> {
        let mut lost = Vec::new();
        for index in self.topics.update(metadata) {
            // Within a transaction the broker's answer decides: what was written to the old topic is lost anyway.
            let Some(topic) = self
                .topics
                .get_mut(index)
                .filter(|_| self.settings.kind == Kind::Idempotent)
            else {
                continue;
            };
            for (partition, state) in topic.partitions.iter_mut().enumerate() {
                lost.extend(state.queue.forget_log());
                self.broken.insert(PartitionId {
                    topic: index,
                    partition,
                });
            }
        }
        lost
    }

    /// Adds a topic, if it is new here.
    pub(crate) fn want_topic(&mut self, name: &str) -> Option<Arc<str>> {
        if self.topics.find(name).is_some() {
            return None;
        }
        let name: Arc<str> = name.into();
        self.topics.add(Arc::clone(&name));
        Some(name)
    }

    /// Makes all batches of this moment ready, and returns a number to ask [`RecordAccumulator::is_flushed`] with.
    pub(crate) const fn flush(&mut self) -> u64 {
        self.flush_below = self.next_serial;
        self.flush_below
    }

    /// Fails every batch that is not on the wire, and from now on also those that come back unwritten. How many stamped ones
    /// were given up decides whether the numbering is still whole.
    pub(crate) fn discard(&mut self, error: &Error) -> Option<Failure> {
        self.course = Course::Discard(error.clone());
        let kind = self.settings.kind;
        let mut failure = None;
        for id in self.active.iter().copied().collect::<Vec<_>>() {
            let (Some(name), Some(partition)) = (self.topic_partition(id), self.topics.partition_mut(id))
            else {
                continue;
            };
            let producer = partition.queue.producer();
            let retrying = partition.queue.take_retrying(|_| true);
            let waiting = partition.queue.take_waiting(|_| true);
            if !retrying.is_empty() {
                failure = Some(Failure {
                    error: error.clone(),
                    stamped: (kind != Kind::Plain).then_some(producer),
                });
            }
            for batch in retrying {
                let error = outcome::given_up(&name, error, batch.fate(), kind);
                self.finish(batch.fail(error));
            }
            for batch in waiting {
                self.finish(batch.fail(error.clone()));
            }
            self.retire(id);
        }
        failure
    }

    /// Batches, or pieces of one, that are not on the wire.
    pub(crate) fn unsent(&self) -> usize {
        let partitions = self.active.iter().filter_map(|id| self.topics.partition(*id));
        partitions.map(|partition| partition.queue.backlog()).sum()
    }

    /// Waits no longer for what is on the wire: it may be written. How many batches, or pieces of one, that are.
    pub(crate) fn abandon(&mut self, error: &Error) -> usize {
        let kind = self.settings.kind;
        let mut abandoned = 0;
        for id in self.active.iter().copied().collect::<Vec<_>>() {
            let (Some(name), Some(partition)) = (self.topic_partition(id), self.topics.partition_mut(id))
            else {
                continue;
            };
            for batch in partition.queue.take_on_wire() {
                let error = outcome::given_up(&name, error, Fate::MaybeWritten, kind);
                self.finish(batch.fail(error));
                abandoned += 1;
            }
            self.retire(id);
        }
        abandoned
    }

    /// Batches are delivered again: a new transaction begins.
    pub(crate) fn deliver(&mut self) {
        self.course = Course::Deliver;
        self.round += 1;
    }

    /// A Produce request to this node was answered, or was not.
    pub(crate) fn heard_of(&mut self, now: Instant, node: NodeId, is_answered: bool) {
        if is_answered {
            self.availability.recover(node);
        } else {
            self.availability.stall(now, node);
        }
    }

    /// The next producer id and epoch whose numbers are not relied on any more because a partition had no write for long.
    pub(crate) fn poll_retired(&mut self) -> Option<ProducerIdAndEpoch> {
        self.retired.pop()
    }

    /// Whether every result was handed out.
    pub(crate) fn is_told(&self) -> bool {
        self.resolved.is_empty()
    }

    /// The next batch that has its result. Its memory is free from now on.
    pub(crate) fn poll_resolved(&mut self) -> Option<Resolved<T>> {
        let resolved = self.resolved.pop_front()?;
        self.memory.release(resolved.reserved);
        Some(resolved)
    }

    /// The proof that every batch has its result, if it is so.
    pub(crate) fn all_resolved(&self) -> Option<AllResolved> {
        self.active.is_empty().then_some(AllResolved {
            _minted_by_the_accumulator: (),
        })
    }

    /// Whether every batch that was there when [`RecordAccumulator::flush`] returned `ticket` has its result.
    pub(crate) fn is_flushed(&self, ticket: u64) -> bool {
        self.active.iter().all(|id| {
            self.topics
                .partition(*id)
                .and_then(|partition| partition.queue.first_serial())
                .is_none_or(|serial| serial >= ticket)
        })
    }

    /// Name and id of a partition's topic.
    pub(crate) fn topic(&self, id: PartitionId) -> Option<(&Arc<str>, TopicId)> {
        let topic = self.topics.get(id.topic)?;
        Some((&topic.name, topic.id))
    }

    /// The name of a partition.
    pub(crate) fn topic_partition(&self, id: PartitionId) -> Option<TopicPartition> {
        let topic = self.topics.get(id.topic)?;
        let partition = i32::try_from(id.partition).ok()?;
        Some(TopicPartition::new(Arc::clone(&topic.name), partition))
    }

    #[cfg(test)]
    pub(crate) const fn reserved_memory(&self) -> usize {
        self.memory.used()
    }

    fn checked_bound(&self, record: &Record<'_>) -> Result<usize, Refusal> {
        let headers = record
            .headers
            .iter()
            .map(|header| (header.key.as_bytes(), header.value));
        let bound = BatchBuilder::upper_bound(record.key, record.value, headers);
        let size = bound.saturating_add(HEADER_LEN);
        let (limit, name) = if size > self.settings.max_request_size {
            (self.settings.max_request_size, "max.request.size")
        } else if size > self.memory.limit() {
            (self.memory.limit(), "buffer.memory")
        } else {
            return Ok(bound);
        };
        let message = format!(
            "a record for topic {} takes up to {size} bytes, which is more than {name} = {limit}; \
             raise {name} (and the topic's max.message.bytes) or send smaller records",
            record.topic
        );
        Err(Refusal::Error(Error::new(ErrorKind::RecordTooLarge, message)))
    }

    fn place(
        &mut self,
        now: Instant,
        record: &Record<'_>,
        bound: usize,
    ) -> Result<(Chosen, PartitionId), Refusal> {
        let index = self
            .topics
            .find(record.topic)
            .ok_or(Refusal::Metadata(ErrorCode::NONE))?;
        let topic = self
            .topics
            .get_mut(index)
            .ok_or(Refusal::Metadata(ErrorCode::NONE))?;
        if topic.count == 0 {
            return Err(topic
                .refusal()
                .map_or_else(|| Refusal::Metadata(topic.error_code()), Refusal::Error));
        }
        let mut chooser = Chooser {
            now,
            settings: &self.settings.partitioner,
            batch_size: self.settings.batch_size,
            availability: &self.availability,
            rng: &mut self.rng,
        };
        let chosen = topic
            .choose(record, bound, &mut chooser)
            .map_err(Refusal::Error)?;
        let id = PartitionId {
            topic: index,
            partition: chosen.partition(),
        };
        Ok((chosen, id))
    }

    /// Sees to it that the partition's open batch has room for `bound` bytes. Whether that took a new batch.
    fn make_room(
        &mut self,
        now: Instant,
        id: PartitionId,
        (bound, turn): (usize, Option<&Turn>),
        open: impl FnOnce() -> T,
    ) -> Result<bool, Refusal> {
        let batch_size = self.settings.batch_size;
        let Some(partition) = self.topics.partition_mut(id) else {
            return Err(Refusal::Metadata(ErrorCode::NONE));
        };
        if partition.queue.has_room(bound, batch_size) {
            if let Some(batch) = partition.queue.last_open() {
                let growth = batch.growth(bound);
                if !self.memory.reserve(growth, turn) {
                    return Err(Refusal::Memory);
                }
                batch.add_reserved(growth);
            }
            return Ok(false);
        }
        let capacity = batch_size.min(FIRST_CAPACITY).max(bound + HEADER_LEN);
        let capacity = capacity.min(self.memory.limit());
        if !self.memory.reserve(capacity, turn) {
            return Err(Refusal::Memory);
        }
        if self.settings.kind == Kind::Idempotent
            && let Some(producer) = partition.queue.retire_numbers(now, TRUSTED_FOR)
        {
            self.retired.push(producer);
            self.broken.insert(id);
        }
        let batch = Open::new(self.next_serial, open(), now, capacity);
        self.next_serial += 1;
        partition.queue.open(batch);
        self.active.insert(id);
        self.expire_no_later_than(now + self.settings.delivery_timeout);
        Ok(true)
    }

    /// A batch, or a piece of one, has its result.
    fn finish(&mut self, finished: Finished<T>) {
        self.resolved.extend(self.families.finish(finished));
    }

    fn expire_no_later_than(&mut self, at: Instant) {
        self.next_expiry = Some(self.next_expiry.map_or(at, |known| known.min(at)));
    }

    /// Takes a partition without batches off the list.
    fn retire(&mut self, id: PartitionId) {
        let Some(partition) = self.topics.partition(id) else {
            self.active.remove(&id);
            return;
        };
        if !partition.queue.is_empty() {
            return;
        }
        self.active.remove(&id);
        if let Some(leader) = partition.leader.filter(|_| self.availability.any_stalled()) {
            let mut partitions = self.active.iter().filter_map(|id| self.topics.partition(*id));
            if !partitions.any(|partition| partition.leader == Some(leader)) {
                self.availability.recover(leader);
            }
        }
    }
}

fn too_large(error: sealwax_protocol::error::EncodeError) -> Refusal {
    Refusal::Error(Error::new(
        ErrorKind::RecordTooLarge,
        format!("the record cannot be encoded: {error}"),
    ))
}
