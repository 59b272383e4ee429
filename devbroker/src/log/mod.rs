//! A partition's log: batches in order, what its leader knows of each producer (KIP-98), and what a read_committed reader may see.
//!
//! In: sealed batches and markers. Out: offsets or error codes, and the log itself.

mod append;
mod batch;
mod producer;
mod read;
mod stable;

use std::collections::BTreeMap;

use bytes::Bytes;
use sealwax_protocol::record::ControlType;

use append::Attempt;
pub(crate) use append::{Incoming, Marker, MarkerRule, OffsetsWrite};
pub use batch::LogBatch;
pub use producer::ProducerEntry;
pub(crate) use producer::{FirstSequence, Writer};
pub(crate) use read::{Range, Read};
pub use stable::Aborted;
use stable::OpenTransactions;

/// The log of a partition. Every node has the same one: there is no replication to fall behind.
#[derive(Debug, Default)]
pub struct PartitionLog {
    batches: Vec<LogBatch>,
    next_offset: i64,
    producers: BTreeMap<i64, ProducerEntry>,
    open: OpenTransactions,
    aborted: Vec<Aborted>,
    /// By producer id.
    attempts: BTreeMap<i64, Attempt>,
}

impl PartitionLog {
    /// All batches, oldest first.
    #[must_use]
    pub fn batches(&self) -> &[LogBatch] {
        &self.batches
    }

    /// The offset behind the last record.
    #[must_use]
    pub const fn high_watermark(&self) -> i64 {
        self.next_offset
    }

    /// The first offset of the oldest open transaction, or the high watermark.
    #[must_use]
    pub fn last_stable_offset(&self) -> i64 {
        self.open.first_offset().unwrap_or(self.next_offset)
    }

    /// What the leader knows of each producer id.
    pub fn producers(&self) -> impl Iterator<Item = (i64, &ProducerEntry)> {
        self.producers.iter().map(|(id, entry)| (*id, entry))
    }

    /// The aborted transactions, in the order of their markers.
    #[must_use]
    pub fn aborted(&self) -> &[Aborted] {
        &self.aborted
    }

    /// Whether this producer has an open transaction here, in this epoch.
    pub(crate) fn has_open_transaction(&self, producer_id: i64, epoch: i16) -> bool {
        self.producers
            .get(&producer_id)
            .is_some_and(|entry| entry.epoch() == epoch && entry.open_since().is_some())
    }

    /// Whether this producer has an open transaction here, in whatever epoch.
    pub(crate) fn has_any_open_transaction(&self, producer_id: i64) -> bool {
        self.producers
            .get(&producer_id)
            .is_some_and(|entry| entry.open_since().is_some())
    }

    /// The values of all records that a read_committed reader gets, found the slow way: a transaction counts if the next marker of its producer
    /// is a commit. Records without a value are empty.
    #[must_use]
    pub fn committed_values(&self) -> Vec<Bytes> {
        let end = self.last_stable_offset();
        let mut values = Vec::new();
        for (index, batch) in self.batches.iter().enumerate() {
            let is_visible = batch.control().is_none()
                && batch.base_offset() < end
                && (!batch.is_transactional() || self.next_marker(index, batch) == Some(ControlType::Commit));
            if is_visible {
                values.extend(batch.values());
            }
        }
        values
    }

    fn next_marker(&self, index: usize, batch: &LogBatch) -> Option<ControlType> {
        let later = self.batches.get(index..).unwrap_or_default();
        later
            .iter()
            .filter(|other| other.producer_id() == batch.producer_id())
            .find_map(LogBatch::control)
    }
}

#[cfg(test)]
mod tests;
