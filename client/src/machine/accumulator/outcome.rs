//! What an answer does to the batches it is about. In: the outcome of a batch in a request. Out: a resolved batch or one to be sent
//! again, and what the producer's state has to know of it.

use std::time::Instant;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{ProducerIdAndEpoch, TopicPartition};

use super::batch::{BatchMetadata, Fate};
use super::topics::PartitionId;
use super::{Course, RecordAccumulator};
use crate::error::{Error, ErrorKind};
use crate::machine::RequestId;

/// What one attempt to write a batch came to.
#[derive(Debug, Clone)]
pub(crate) enum BatchOutcome {
    /// It is in the log.
    Written {
        /// Offset of the first record, if the broker told it.
        base_offset: Option<i64>,
        /// The broker's clock in milliseconds since 1970, if the topic uses it.
        log_append_time: Option<i64>,
    },
    /// It is to be sent again as it is.
    Retry(Fate),
    /// The broker misses an earlier sequence.
    OutOfOrder,
    /// It is given up.
    Failed(Error, Fate),
    /// It is given up and the producer with it.
    Fatal(Error),
}

/// A batch that was given up, as far as it concerns the producer's state.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Why.
    pub(crate) error: Error,
    /// The producer id and epoch that its sequences were bound to: these numbers are lost.
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
    pub(super) fn into_error(self, transactional: bool) -> Error {
        let kind = match (transactional, self.fate) {
            (false, Fate::Unwritten) => return self.cause,
            (false, Fate::MaybeWritten) => ErrorKind::OutcomeUnknown,
            (true, Fate::Unwritten | Fate::MaybeWritten) => ErrorKind::TransactionAbortable,
        };
        let what = match (transactional, self.fate) {
            (true, _) => "a batch of the transaction failed, so that it can only be aborted",
            (false, _) => "whether a batch was written is unknown",
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
        let failure = match outcome {
            BatchOutcome::Written {
                base_offset,
                log_append_time,
            } => {
                self.written(request, id, base_offset, log_append_time);
                None
            }
            BatchOutcome::Retry(attempt) => self.retry(now, request, id, attempt),
            BatchOutcome::OutOfOrder => self.out_of_order(now, request, id),
            BatchOutcome::Failed(cause, attempt) => self.fail(request, id, |name, fate, transactional| {
                Loss {
                    topic_partition: name,
                    cause,
                    fate: fate.and(attempt),
                }
                .into_error(transactional)
            }),
            BatchOutcome::Fatal(error) => self.fail(request, id, |_, _, _| error),
        };
        self.retire(id);
        failure
    }

    fn written(
        &mut self,
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
        let resolved = self
            .topics
            .partition_mut(id)
            .and_then(|partition| partition.queue.written(request, metadata));
        self.resolved.extend(resolved);
    }

    fn retry(&mut self, now: Instant, request: RequestId, id: PartitionId, attempt: Fate) -> Option<Failure> {
        if let Course::Discard(error) = &self.course {
            let error = error.clone();
            return self.fail(request, id, |_, _, _| error);
        }
        let backoff = self.settings.backoff;
        let (topics, rng) = (&mut self.topics, &mut self.rng);
        let queue = &mut topics.partition_mut(id)?.queue;
        queue.retry(request, attempt, |failures| now + backoff.delay(failures, rng));
        if let Some(created) = queue.oldest_unsent() {
            self.expire_no_later_than(created + self.settings.delivery_timeout);
        }
        None
    }

    /// A batch behind another one without result, or behind one that was given up, is refused only because of that one. The first
    /// in line is refused because the log lost what came before.
    fn out_of_order(&mut self, now: Instant, request: RequestId, id: PartitionId) -> Option<Failure> {
        let queue = &self.topics.partition(id)?.queue;
        if queue.position(request)? > 0 || queue.is_broken() {
            return self.retry(now, request, id, Fate::Unwritten);
        }
        let code = ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER;
        self.fail(request, id, |name, fate, transactional| {
            let message = format!("{name}: the log misses records that were acknowledged before");
            Loss {
                topic_partition: name,
                cause: Error::broker(ErrorKind::Broker, code, message),
                fate,
            }
            .into_error(transactional)
        })
    }

    fn fail(
        &mut self,
        request: RequestId,
        id: PartitionId,
        error: impl FnOnce(&TopicPartition, Fate, bool) -> Error,
    ) -> Option<Failure> {
        let name = self.topic_partition(id)?;
        let queue = &mut self.topics.partition_mut(id)?.queue;
        let producer = queue.producer();
        let batch = queue.give_up(request, Fate::Unwritten)?;
        let error = error(&name, batch.fate(), self.settings.transactional);
        if !self.settings.transactional {
            self.broken.insert(id);
        }
        self.resolved.push_back(batch.fail(error.clone()));
        Some(Failure {
            error,
            stamped: Some(producer),
        })
    }
}
