//! What a leader knows of one producer id in one partition: epoch, its last five batches, its open transaction (Java's
//! `ProducerStateEntry` and `ProducerAppendInfo`). Pure checks; the caller appends.

use std::collections::VecDeque;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::Sequence;

/// How many batches are remembered for finding repeats.
const REMEMBERED: usize = 5;

/// Who writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writer {
    /// A producer, with sequences.
    Producer,
    /// One of the brokers' own coordinators, without.
    Coordinator,
}

/// What the first sequence of a producer must be that the partition does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FirstSequence {
    /// Any (TV1).
    Any,
    /// 0 (TV2 since Kafka 4.1, KAFKA-18202).
    Zero,
}

/// A batch that was written, as far as a repeat must equal it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) first_sequence: i32,
    pub(super) last_sequence: i32,
    pub(super) base_offset: i64,
}

/// What a leader knows of a producer id.
#[derive(Debug, Clone)]
pub struct ProducerEntry {
    epoch: i16,
    recent: VecDeque<Written>,
    open_since: Option<i64>,
    coordinator_epoch: i32,
    last_timestamp: i64,
}

impl ProducerEntry {
    /// A producer that has written nothing yet.
    pub(super) const fn new(epoch: i16) -> Self {
        Self {
            epoch,
            recent: VecDeque::new(),
            open_since: None,
            coordinator_epoch: -1,
            last_timestamp: -1,
        }
    }

    /// Its latest epoch.
    #[must_use]
    pub const fn epoch(&self) -> i16 {
        self.epoch
    }

    /// The first offset of its open transaction.
    #[must_use]
    pub const fn open_since(&self) -> Option<i64> {
        self.open_since
    }

    /// The last sequence that it wrote in its epoch, −1 for none.
    #[must_use]
    pub fn last_sequence(&self) -> i32 {
        self.recent.back().map_or(-1, |written| written.last_sequence)
    }

    /// The epoch of the coordinator that wrote its last marker, −1 for none.
    #[must_use]
    pub const fn coordinator_epoch(&self) -> i32 {
        self.coordinator_epoch
    }

    /// The timestamp of its last batch or marker.
    #[must_use]
    pub const fn last_timestamp(&self) -> i64 {
        self.last_timestamp
    }

    /// The offset of the same batch, if it was written before.
    pub(super) fn find_repeat(&self, epoch: i16, first: i32, last: i32) -> Option<i64> {
        if epoch != self.epoch {
            return None;
        }
        self.recent
            .iter()
            .find(|written| written.first_sequence == first && written.last_sequence == last)
            .map(|written| written.base_offset)
    }

    /// Whether data of this epoch may still be written.
    pub(super) const fn check_epoch(&self, epoch: i16) -> Result<(), ErrorCode> {
        if epoch < self.epoch {
            Err(ErrorCode::INVALID_PRODUCER_EPOCH)
        } else {
            Ok(())
        }
    }

    /// Whether `first` follows what was written.
    pub(super) fn check_sequence(&self, epoch: i16, first: i32) -> Result<(), ErrorCode> {
        let expected = match self.recent.back() {
            Some(written) if epoch == self.epoch => next_sequence(written.last_sequence),
            Some(_) | None => 0,
        };
        if first == expected {
            Ok(())
        } else {
            Err(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER)
        }
    }

    /// Whether nothing was written in its epoch.
    pub(super) fn is_blank(&self) -> bool {
        self.recent.is_empty()
    }

    pub(super) fn wrote(&mut self, epoch: i16, written: Written, timestamp: i64) {
        self.move_to_epoch(epoch);
        if self.recent.len() == REMEMBERED {
            self.recent.pop_front();
        }
        self.recent.push_back(written);
        self.last_timestamp = timestamp;
    }

    /// A transaction begins unless one is open. Returns whether it does.
    pub(super) fn begin(&mut self, offset: i64) -> bool {
        let begins = self.open_since.is_none();
        self.open_since.get_or_insert(offset);
        begins
    }

    /// A marker was written. Returns the first offset of the transaction that it ended.
    pub(super) fn marked(&mut self, epoch: i16, coordinator_epoch: i32, timestamp: i64) -> Option<i64> {
        self.move_to_epoch(epoch);
        self.coordinator_epoch = coordinator_epoch;
        self.last_timestamp = timestamp;
        self.open_since.take()
    }

    fn move_to_epoch(&mut self, epoch: i16) {
        if self.epoch != epoch {
            self.epoch = epoch;
            self.recent.clear();
        }
    }
}

/// The sequence behind `last`; the wire's −1 is "none".
fn next_sequence(last: i32) -> i32 {
    Sequence::new(last).map_or(0, |last| last.add(1).get())
}
