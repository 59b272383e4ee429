//! What is stable: the open transactions of a partition, and the index of the aborted ones (Java's `TransactionIndex`).

use std::collections::BTreeSet;

/// An aborted transaction in a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aborted {
    /// Whose.
    pub producer_id: i64,
    /// Its first offset.
    pub first_offset: i64,
    /// The offset of its marker.
    pub last_offset: i64,
}

/// The first offsets of the transactions that have no marker yet.
#[derive(Debug, Default)]
pub(super) struct OpenTransactions {
    first_offsets: BTreeSet<i64>,
}

impl OpenTransactions {
    pub(super) fn begin(&mut self, first_offset: i64) {
        self.first_offsets.insert(first_offset);
    }

    pub(super) fn end(&mut self, first_offset: i64) {
        self.first_offsets.remove(&first_offset);
    }

    pub(super) fn first_offset(&self) -> Option<i64> {
        self.first_offsets.first().copied()
    }
}
