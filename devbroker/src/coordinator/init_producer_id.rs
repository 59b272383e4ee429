//! InitProducerId: who may have the next epoch (KIP-360), and what happens to a transaction that is open.

use std::time::Duration;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::ProducerIdAndEpoch;

use super::metadata::{LAST_EPOCH, Level, NONE, Outcome, Phase, TransactionMetadata};

/// What an accepted InitProducerId leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Initialized {
    /// This is the producer's id and epoch.
    Ready(ProducerIdAndEpoch),
    /// The open transaction is being aborted: markers are to be written, and the caller is to come again.
    Fencing,
}

impl TransactionMetadata {
    /// `expected` is what the caller holds, if anything. `new_id` is called if the epochs are used up.
    pub(crate) fn init_producer_id(
        &mut self,
        expected: Option<ProducerIdAndEpoch>,
        timeout: Duration,
        level: Level,
        new_id: impl FnOnce() -> i64,
    ) -> Result<Initialized, ErrorCode> {
        if expected.is_some_and(|expected| !self.may_continue(expected)) {
            return Err(ErrorCode::PRODUCER_FENCED);
        }
        match self.phase {
            Phase::Prepare { .. } => Err(ErrorCode::CONCURRENT_TRANSACTIONS),
            Phase::Ongoing(_) => {
                self.fence(level, new_id)?;
                Ok(Initialized::Fencing)
            }
            Phase::Empty | Phase::Complete { .. } => {
                self.next_epoch(expected, new_id)?;
                self.timeout = timeout;
                self.phase = Phase::Empty;
                Ok(Initialized::Ready(self.producer()))
            }
        }
    }

    /// Whether the id that a caller holds is this one's, or the one before with its epochs used up.
    const fn may_continue(&self, expected: ProducerIdAndEpoch) -> bool {
        self.epoch == NONE
            || expected.id.0 == self.producer_id
            || (expected.id.0 == self.previous_producer_id && expected.epoch.0 >= LAST_EPOCH)
    }

    fn next_epoch(
        &mut self,
        expected: Option<ProducerIdAndEpoch>,
        new_id: impl FnOnce() -> i64,
    ) -> Result<(), ErrorCode> {
        let is_current = expected.is_none_or(|expected| expected.epoch.0 == self.epoch);
        if self.is_exhausted() {
            if !is_current {
                // Java throws here, which is answered as an unknown error.
                return Err(ErrorCode::UNKNOWN_SERVER_ERROR);
            }
            self.last_epoch = expected.map_or(NONE, |_| self.epoch);
            self.previous_producer_id = self.producer_id;
            self.producer_id = new_id();
            self.epoch = 0;
            return Ok(());
        }
        match expected {
            Some(_) if is_current || self.epoch == NONE => self.last_epoch = self.epoch,
            // A repeat of a call whose answer was lost.
            Some(expected) if expected.epoch.0 == self.last_epoch => return Ok(()),
            Some(_) => return Err(ErrorCode::PRODUCER_FENCED),
            None => self.last_epoch = NONE,
        }
        self.previous_producer_id = self.producer_id;
        self.epoch += 1;
        Ok(())
    }

    /// The open transaction is aborted under an epoch that its producer does not have. TV1 forgets the epoch before; TV2 keeps it, so that
    /// its producer can find out (KAFKA-19367), and goes on with a new id if that was the last epoch (KAFKA-20090).
    pub(super) fn fence(&mut self, level: Level, new_id: impl FnOnce() -> i64) -> Result<(), ErrorCode> {
        if self.epoch == i16::MAX {
            return Err(ErrorCode::UNKNOWN_SERVER_ERROR);
        }
        match level {
            Level::V1 => {
                self.last_epoch = NONE;
                self.epoch += 1;
            }
            Level::V2 => self.raise_epoch(new_id),
        }
        self.prepare(Outcome::Abort, level);
        Ok(())
    }
}
