//! What an answer does to the batches it is about. In: the outcome of a batch in a request. Out: a resolved batch or one to be sent
//! again, and what the producer's state has to know of it.

use std::time::Instant;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{ProducerIdAndEpoch, TopicPartition};

use super::batch::{Attempt, BatchMetadata, Fate, Sealed, Weight};
use super::queue::PartitionQueue;
use super::topics::PartitionId;
use super::{Course, Kind, RecordAccumulator, drain};
use crate::error::{Error, ErrorKind};
use crate::machine::RequestId;
use crate::machine::retry::Backoff;

/// How often the first write of a partition in a transaction is sent again after OUT_OF_ORDER_SEQUENCE_NUMBER: some brokers answer so
/// when they could not verify in time that the partition is part of the transaction (KAFKA-14920).
const VERIFICATION_RETRIES: u32 = 5;

/// What one attempt to write a batch came to.
#[derive(Debug, Clone)]
pub(crate) enum BatchOutcome {
    /// It is in the log, or nobody was asked whether it is (`acks=0`).
    Written {
        /// Offset of the first record, if the broker told it.
        base_offset: Option<i64>,
        /// The broker's clock in milliseconds since 1970, if the topic uses it.
        log_append_time: Option<i64>,
    },
    /// It is to be sent again as it is.
    Retry(Fate, Error),
    /// It did not leave this process; it is to be sent again as it is.
    NotSent(Error),
    /// The broker misses an earlier sequence.
    OutOfOrder(Error),
    /// The broker knows nothing of the producer.
    UnknownProducer {
        /// First offset that the log still has; −1 if the broker does not know.
        log_start_offset: i64,
        /// The refusal.
        error: Error,
    },
    /// It is larger than the topic or the broker allows.
    TooLarge(Error),
    /// It is given up.
    Failed(Error, Fate),
    /// It is given up and the producer with it.
    Fatal(Error),
}

/// Something that concerns the producer's state: a batch that was given up, or numbers that are lost.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Why.
    pub(crate) error: Error,
    /// The producer id and epoch whose numbers are lost by it.
    pub(crate) stamped: Option<ProducerIdAndEpoch>,
}

/// A batch that is given up.
pub(super) struct Loss<'a> {
    pub(super) topic_partition: &'a TopicPartition,
    pub(super) cause: Error,
    pub(super) fate: Fate,
}

impl Loss<'_> {
    /// What its records are told: in a transaction that it must be aborted, else whether the batch may be in the log.
    pub(super) fn into_error(self, kind: Kind) -> Error {
        let (kind, what) = match (kind, self.fate) {
            (Kind::Plain | Kind::Idempotent, Fate::Unwritten) => return self.cause,
            (Kind::Plain | Kind::Idempotent, Fate::MaybeWritten) => (
                ErrorKind::OutcomeUnknown,
                "whether a batch was written is unknown",
            ),
            (Kind::Transactional, Fate::Unwritten | Fate::MaybeWritten) => (
                ErrorKind::TransactionAbortable,
                "a batch of the transaction failed, so that it can only be aborted",
            ),
        };
        let message = format!("{}: {what}: {}", self.topic_partition, self.cause);
        match self.cause.code() {
            Some(code) => Error::broker(kind, code, message),
            None => Error::new(kind, message),
        }
    }
}

impl<T> RecordAccumulator<T> {
    /// Takes the outcome of the batch of `id` that `request` carried.
    pub(crate) fn handle(
        &mut self,
        now: Instant,
        request: RequestId,
        id: PartitionId,
        outcome: BatchOutcome,
    ) -> Option<Failure> {
        let attempt = |fate, cause, weight| Attempt { fate, cause, weight };
        let failure = match outcome {
            BatchOutcome::Written {
                base_offset,
                log_append_time,
            } => {
                self.written(now, request, id, base_offset, log_append_time);
                None
            }
            BatchOutcome::Retry(fate, cause) => {
                self.retry(now, request, id, attempt(fate, cause, Weight::Counted))
            }
            BatchOutcome::NotSent(cause) => {
                let attempt = attempt(Fate::Unwritten, cause, Weight::Paused);
                self.retry(now, request, id, attempt)
            }
            BatchOutcome::OutOfOrder(error) => self.out_of_order(now, request, id, error),
            BatchOutcome::UnknownProducer {
                log_start_offset,
                error,
            } => self.unknown_producer(now, request, id, log_start_offset, error),
            BatchOutcome::TooLarge(error) => self.too_large(now, request, id, error),
            BatchOutcome::Failed(cause, fate) => self.fail(request, id, cause, fate),
            BatchOutcome::Fatal(error) => self.fail_for_good(request, id, error),
        };
        let settled = self.settle(id);
        self.retire(id);
        failure.or(settled)
    }

    fn written(
        &mut self,
        now: Instant,
        request: RequestId,
        id: PartitionId,
        base_offset: Option<i64>,
        log_append_time: Option<i64>,
    ) {
        let Some(topic_partition) = self.topic_partition(id) else {
            return;
        };
        let metadata = BatchMetadata {
            topic_partition,
            base_offset,
            log_append_time,
        };
        let round = self.round;
        let finished = self
            .topics
            .partition_mut(id)
            .and_then(|partition| partition.queue.written(now, request, metadata, round));
        if let Some(finished) = finished {
            self.finish(finished);
        }
    }

    fn retry(
        &mut self,
        now: Instant,
        request: RequestId,
        id: PartitionId,
        attempt: Attempt,
    ) -> Option<Failure> {
        if let Course::Discard(error) = &self.course {
            let error = error.clone();
            return self.fail_as(request, id, attempt.fate, |name, fate, kind| {
                given_up(name, &error, fate, kind)
            });
        }
        let queue = &self.topics.partition(id)?.queue;
        let failed = queue.in_flight(request)?.attempts();
        if attempt.weight == Weight::Counted && failed >= self.settings.retries {
            let cause = attempt.cause.in_context(|message| {
                format!(
                    "given up after {} attempts (retries = {failed}): {message}",
                    failed.saturating_add(1)
                )
            });
            return self.fail(request, id, cause, attempt.fate);
        }
        let backoff = match attempt.cause.code() {
            // Under TV2 the leader has asked the coordinator, and waited, more than once before it says so.
            Some(ErrorCode::CONCURRENT_TRANSACTIONS) => Backoff::CONCURRENT,
            _ => self.settings.backoff,
        };
        let (topics, rng) = (&mut self.topics, &mut self.rng);
        let queue = &mut topics.partition_mut(id)?.queue;
        queue.retry(request, attempt, |failures| now + backoff.delay(failures, rng));
        if let Some(created) = queue.oldest_unsent() {
            self.expire_no_later_than(created + self.settings.delivery_timeout);
        }
        None
    }

    /// A batch behind another one without result, or behind one that was given up, is refused only because of that one. The first
    /// in line is refused because the log lost what came before, or never got it.
    fn out_of_order(
        &mut self,
        now: Instant,
        request: RequestId,
        id: PartitionId,
        cause: Error,
    ) -> Option<Failure> {
        let (queue, is_first) = self.refused(request, id)?;
        let is_unverified = !queue.wrote_in(self.round) && queue.failures() < VERIFICATION_RETRIES;
        match (self.settings.kind, is_first) {
            (Kind::Plain, _) => self.fail(request, id, cause, Fate::Unwritten),
            (Kind::Idempotent | Kind::Transactional, false) => {
                self.refused_again(now, request, id, cause, Weight::Nothing)
            }
            (Kind::Idempotent, true) => self.lose_numbers(now, request, id, cause),
            (Kind::Transactional, true) if is_unverified => {
                self.refused_again(now, request, id, cause, Weight::Paused)
            }
            (Kind::Transactional, true) => self.fail(request, id, cause, Fate::Unwritten),
        }
    }

    /// The log dropped the producer's last record and forgot it with that, or lost records. In a transaction only the first is harmless:
    /// the same epoch starts over.
    fn unknown_producer(
        &mut self,
        now: Instant,
        request: RequestId,
        id: PartitionId,
        log_start_offset: i64,
        cause: Error,
    ) -> Option<Failure> {
        let (queue, is_first) = self.refused(request, id)?;
        let is_retention = queue.is_dropped_by(log_start_offset);
        match (self.settings.kind, is_first) {
            (Kind::Plain, _) => self.fail(request, id, cause, Fate::Unwritten),
            (Kind::Idempotent | Kind::Transactional, false) => {
                self.refused_again(now, request, id, cause, Weight::Nothing)
            }
            // The broker cannot say where its log begins, so that it may know more in a moment.
            (Kind::Idempotent | Kind::Transactional, true) if log_start_offset < 0 => {
                self.refused_again(now, request, id, cause, Weight::Paused)
            }
            (Kind::Idempotent, true) => self.lose_numbers(now, request, id, cause),
            (Kind::Transactional, true) if is_retention => {
                self.topics.partition_mut(id)?.queue.start_over();
                self.refused_again(now, request, id, cause, Weight::Paused)
            }
            (Kind::Transactional, true) => self.fail(request, id, cause, Fate::Unwritten),
        }
    }

    /// The queue of a refused batch, and whether the refusal is about the batch itself and no other.
    fn refused(&self, request: RequestId, id: PartitionId) -> Option<(&PartitionQueue<T>, bool)> {
        let queue = &self.topics.partition(id)?.queue;
        let is_first = queue.position(request)? == 0 && !queue.is_broken();
        Some((queue, is_first))
    }

    /// Sends it again; `retries` does not count refusals that are about the numbers.
    fn refused_again(
        &mut self,
        now: Instant,
        request: RequestId,
        id: PartitionId,
        cause: Error,
        weight: Weight,
    ) -> Option<Failure> {
        let attempt = Attempt {
            fate: Fate::Unwritten,
            cause,
            weight,
        };
        self.retry(now, request, id, attempt)
    }

    /// Sends it again under another epoch (KIP-360). What is on the wire behind it is refused for its sake.
    fn lose_numbers(
        &mut self,
        now: Instant,
        request: RequestId,
        id: PartitionId,
        cause: Error,
    ) -> Option<Failure> {
        if let Some(failure) = self.refused_again(now, request, id, cause.clone(), Weight::Paused) {
            return Some(failure);
        }
        let queue = &mut self.topics.partition_mut(id)?.queue;
        queue.lose_numbers();
        let producer = queue.producer();
        self.broken.insert(id);
        Some(Failure {
            error: cause,
            stamped: Some(producer),
        })
    }

    fn too_large(
        &mut self,
        now: Instant,
        request: RequestId,
        id: PartitionId,
        cause: Error,
    ) -> Option<Failure> {
        let name = self.topic_partition(id)?;
        let kind = self.settings.kind;
        let timeout = self.settings.delivery_timeout;
        if let Course::Discard(_) = &self.course {
            return self.refused_again(now, request, id, cause, Weight::Nothing);
        }
        let queue = &mut self.topics.partition_mut(id)?.queue;
        let batch = queue.in_flight(request)?.sealed();
        let created = batch.created();
        if created + timeout <= now {
            let error = drain::late(&name, "could not be sent", timeout, batch, kind);
            return self.fail_as(request, id, Fate::Unwritten, |_, _, _| error);
        }
        let (place, batch) = queue.take_apart(request)?;
        let families = &mut self.families;
        match batch.halve(|serial, claim, first_count| families.divide(serial, claim, first_count)) {
            Ok(halves) => {
                queue.put_back(place, halves);
                self.expire_no_later_than(created + timeout);
                None
            }
            Err(batch) => {
                queue.give_up_apart(&batch);
                let error = Loss {
                    topic_partition: &name,
                    cause,
                    fate: batch.fate(),
                }
                .into_error(kind);
                let stamped = self.lost_numbers(id);
                self.finish(batch.fail(error.clone()));
                Some(Failure { error, stamped })
            }
        }
    }

    fn fail_for_good(&mut self, request: RequestId, id: PartitionId, cause: Error) -> Option<Failure> {
        self.fail_as(request, id, Fate::Unwritten, |name, fate, kind| {
            given_up(name, &cause, fate, kind)
        })
    }

    fn fail(&mut self, request: RequestId, id: PartitionId, cause: Error, attempt: Fate) -> Option<Failure> {
        self.fail_as(request, id, attempt, |name, fate, kind| {
            Loss {
                topic_partition: name,
                cause,
                fate,
            }
            .into_error(kind)
        })
    }

    fn fail_as(
        &mut self,
        request: RequestId,
        id: PartitionId,
        attempt: Fate,
        error: impl FnOnce(&TopicPartition, Fate, Kind) -> Error,
    ) -> Option<Failure> {
        let name = self.topic_partition(id)?;
        let batch = self.topics.partition_mut(id)?.queue.give_up(request, attempt)?;
        let error = error(&name, batch.fate(), self.settings.kind);
        self.finish(batch.fail(error.clone()));
        let stamped = self.lost_numbers(id);
        Some(Failure { error, stamped })
    }

    /// Whose numbers are lost now that a stamped batch of the partition was given up.
    pub(super) fn lost_numbers(&mut self, id: PartitionId) -> Option<ProducerIdAndEpoch> {
        let queue = &self.topics.partition(id)?.queue;
        match self.settings.kind {
            Kind::Plain => None,
            // The epoch of a transaction that cannot be committed is left behind in any case.
            Kind::Transactional => Some(queue.producer()),
            Kind::Idempotent if queue.is_broken() => {
                self.broken.insert(id);
                Some(queue.producer())
            }
            Kind::Idempotent => None,
        }
    }

    /// When nothing of the partition is on the wire any more: numbers that depended on it are lost, or start over.
    fn settle(&mut self, id: PartitionId) -> Option<Failure> {
        let kind = self.settings.kind;
        let queue = &mut self.topics.partition_mut(id)?.queue;
        if queue.settle() {
            let message = "a batch was given up, and no later one shows that it is in the log";
            let error = Error::new(ErrorKind::OutcomeUnknown, message);
            let stamped = self.lost_numbers(id);
            return Some(Failure { error, stamped });
        }
        if !queue.is_starting_over() {
            return None;
        }
        let producer = queue.producer();
        let mut failure = None;
        for batch in queue.renumber(producer, kind == Kind::Transactional) {
            let error = self.cannot_renumber(id, &batch)?;
            self.finish(batch.fail(error.clone()));
            failure = Some(Failure {
                error,
                stamped: Some(producer),
            });
        }
        failure
    }

    /// What the records of a batch are told that may be in the log, so that it cannot be numbered anew.
    pub(super) fn cannot_renumber(&self, id: PartitionId, batch: &Sealed<T>) -> Option<Error> {
        let why = "the numbers of the partition were lost while this batch had no answer";
        let cause = match batch.cause() {
            Some(cause) => cause.in_context(|message| format!("{why}: {message}")),
            None => Error::new(ErrorKind::OutcomeUnknown, why),
        };
        let loss = Loss {
            topic_partition: &self.topic_partition(id)?,
            cause,
            fate: batch.fate(),
        };
        Some(loss.into_error(self.settings.kind))
    }
}

/// What the records of a batch are told that is given up for a reason of the producer's own: that reason, unless the batch may be in
/// the log. A transaction says by itself what becomes of its batches.
pub(super) fn given_up(name: &TopicPartition, error: &Error, fate: Fate, kind: Kind) -> Error {
    match kind {
        Kind::Transactional => error.clone(),
        Kind::Plain | Kind::Idempotent => Loss {
            topic_partition: name,
            cause: error.clone(),
            fate,
        }
        .into_error(kind),
    }
}
