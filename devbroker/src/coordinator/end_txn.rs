//! EndTxn, by the rules of TV1 and of TV2 (KIP-890), where the epoch tells a repeat from the end of the next transaction.

use std::time::Duration;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{ProducerEpoch, ProducerId, ProducerIdAndEpoch};

use super::metadata::{LAST_EPOCH, Level, NONE, OpenTransaction, Outcome, Phase, TransactionMetadata};

/// What an accepted EndTxn did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Markers are to be written.
    Prepared,
    /// It had been done before.
    Repeat,
}

/// Which transaction of its producer a TV2 EndTxn means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Means {
    /// The one of the current epoch.
    Current,
    /// The one before, whose answer was lost.
    Last,
}

impl TransactionMetadata {
    /// Ends the transaction, as a client of that level asks.
    pub(crate) fn end_txn(
        &mut self,
        now: Duration,
        producer: ProducerIdAndEpoch,
        outcome: Outcome,
        level: Level,
        new_id: impl FnOnce() -> i64,
    ) -> Result<Ended, ErrorCode> {
        match level {
            Level::V1 => self.end_v1(producer, outcome),
            Level::V2 => self.end_v2(now, producer, outcome, new_id),
        }
    }

    fn end_v1(&mut self, producer: ProducerIdAndEpoch, outcome: Outcome) -> Result<Ended, ErrorCode> {
        if producer.id.0 != self.producer_id {
            return Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING);
        }
        if producer.epoch.0 != self.epoch {
            return Err(ErrorCode::PRODUCER_FENCED);
        }
        match &self.phase {
            Phase::Ongoing(_) => {
                self.prepare(outcome, Level::V1);
                Ok(Ended::Prepared)
            }
            Phase::Complete { outcome: done, .. } if *done == outcome => Ok(Ended::Repeat),
            Phase::Prepare { outcome: doing, .. } if *doing == outcome => {
                Err(ErrorCode::CONCURRENT_TRANSACTIONS)
            }
            Phase::Empty | Phase::Complete { .. } | Phase::Prepare { .. } => {
                Err(ErrorCode::INVALID_TXN_STATE)
            }
        }
    }

    fn end_v2(
        &mut self,
        now: Duration,
        producer: ProducerIdAndEpoch,
        outcome: Outcome,
        new_id: impl FnOnce() -> i64,
    ) -> Result<Ended, ErrorCode> {
        let is_overflow = self.is_overflow_repeat(producer);
        if producer.id.0 != self.producer_id && !is_overflow {
            return Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING);
        }
        let means = self.meant_by(producer, is_overflow)?;
        match (&self.phase, means, outcome) {
            (Phase::Ongoing(_), _, _) => {
                self.raise_epoch(new_id);
                self.prepare(outcome, Level::V2);
                Ok(Ended::Prepared)
            }
            (Phase::Prepare { outcome: doing, .. }, _, _) if *doing == outcome => {
                Err(ErrorCode::CONCURRENT_TRANSACTIONS)
            }
            (Phase::Complete { outcome: done, .. }, Means::Last, _) if *done == outcome => Ok(Ended::Repeat),
            // The client does not know whether anything was begun.
            (Phase::Empty | Phase::Complete { .. }, Means::Current, Outcome::Abort) => {
                self.raise_epoch(new_id);
                self.phase = Phase::Prepare {
                    outcome,
                    level: Level::V2,
                    open: OpenTransaction {
                        partitions: [].into(),
                        started: now,
                    },
                };
                Ok(Ended::Prepared)
            }
            (Phase::Empty | Phase::Complete { .. } | Phase::Prepare { .. }, _, _) => {
                Err(ErrorCode::INVALID_TXN_STATE)
            }
        }
    }

    /// Whether this repeats an EndTxn that used up the epochs and led to a new producer id.
    const fn is_overflow_repeat(&self, producer: ProducerIdAndEpoch) -> bool {
        self.previous_producer_id == producer.id.0 && producer.epoch.0 == LAST_EPOCH && self.epoch == 0
    }

    fn meant_by(&self, producer: ProducerIdAndEpoch, is_overflow: bool) -> Result<Means, ErrorCode> {
        let is_last = i32::from(self.epoch) == i32::from(producer.epoch.0) + 1;
        let is_current = producer.epoch.0 == self.epoch;
        match &self.phase {
            Phase::Ongoing(_) | Phase::Empty if is_current => Ok(Means::Current),
            Phase::Prepare { .. } if is_last => Ok(Means::Last),
            Phase::Complete { .. } if is_last || is_overflow => Ok(Means::Last),
            Phase::Complete { .. } if is_current => Ok(Means::Current),
            Phase::Ongoing(_) | Phase::Empty | Phase::Prepare { .. } | Phase::Complete { .. } => {
                Err(ErrorCode::PRODUCER_FENCED)
            }
        }
    }

    pub(super) fn raise_epoch(&mut self, new_id: impl FnOnce() -> i64) {
        if self.is_exhausted() {
            self.next_producer_id = new_id();
        }
        self.last_epoch = self.epoch;
        self.epoch += 1;
    }

    /// The end is decided. Nothing happens unless a transaction is open.
    pub(super) fn prepare(&mut self, outcome: Outcome, level: Level) {
        if let Phase::Ongoing(open) = std::mem::replace(&mut self.phase, Phase::Empty) {
            self.phase = Phase::Prepare { outcome, level, open };
        }
    }

    /// What the answer to a TV2 EndTxn tells: the producer of the next transaction.
    pub(crate) const fn next_producer(&self) -> ProducerIdAndEpoch {
        if self.next_producer_id == NONE as i64 {
            self.producer()
        } else {
            ProducerIdAndEpoch {
                id: ProducerId(self.next_producer_id),
                epoch: ProducerEpoch(0),
            }
        }
    }
}
