//! Which source offsets belong to the open transaction, and the proof that they are committed.
//!
//! ```text
//! OffsetBuffer (staged) ──begin_commit──▶ CommittingOffsets ──committed(proof)──▶ CommittedOffsets
//! ```
//! Input: partition and offset of each record that was accepted for sending. Output: the last offset of each partition.
//! Nothing here can become committed without the client's [`Committed`]; what is not committed is dropped with its value.

use std::collections::HashMap;

use sealwax::Committed;

use crate::api::{SourceOffset, SourcePartition};

/// The offsets of records that were accepted for sending in the open transaction.
#[derive(Debug, Default)]
pub struct OffsetBuffer {
    entries: Vec<(SourcePartition, SourceOffset)>,
    places: HashMap<SourcePartition, usize>,
    /// The place of the partition staged last: most sources stay with one for a while.
    last: usize,
}

impl OffsetBuffer {
    /// An empty buffer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes where the source goes on after a record; the last offset of a partition wins.
    pub fn stage(&mut self, partition: &SourcePartition, offset: SourceOffset) {
        match self.entries.get_mut(self.last) {
            Some((known, place)) if known.is_same(partition) => *place = offset,
            _ => self.stage_elsewhere(partition, offset),
        }
    }

    fn stage_elsewhere(&mut self, partition: &SourcePartition, offset: SourceOffset) {
        let known = self.places.get(partition).copied();
        if let Some((place, entry)) = known.and_then(|place| Some((place, self.entries.get_mut(place)?))) {
            *entry = (partition.clone(), offset);
            self.last = place;
            return;
        }
        self.last = self.entries.len();
        self.places.insert(partition.clone(), self.last);
        self.entries.push((partition.clone(), offset));
    }

    /// Whether nothing is staged.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Takes everything staged, to be written in the transaction that is about to be committed. The buffer is empty after.
    pub fn begin_commit(&mut self) -> CommittingOffsets {
        let taken = std::mem::take(self);
        CommittingOffsets {
            entries: taken.entries,
        }
    }
}

/// Offsets that are written in a transaction whose outcome is not known yet. Dropping them forgets them, which is right
/// when the transaction was aborted or its outcome is unknown: the committed offsets are read again then.
#[derive(Debug)]
#[must_use]
pub struct CommittingOffsets {
    entries: Vec<(SourcePartition, SourceOffset)>,
}

impl CommittingOffsets {
    /// The last offset of each partition, in the order in which partitions were first seen.
    pub fn iter(&self) -> impl Iterator<Item = (&SourcePartition, &SourceOffset)> {
        self.entries.iter().map(|(partition, offset)| (partition, offset))
    }

    /// Marks them committed, which takes the proof that the broker confirmed the commit.
    pub fn committed(self, _proof: Committed) -> CommittedOffsets {
        CommittedOffsets {
            entries: self.entries,
        }
    }
}

/// The mark that offsets are committed: the source may be told.
#[derive(Debug)]
#[must_use]
pub struct CommittedOffsets {
    entries: Vec<(SourcePartition, SourceOffset)>,
}

impl CommittedOffsets {
    /// The partitions that moved on, with their offsets.
    pub fn iter(&self) -> impl Iterator<Item = (&SourcePartition, &SourceOffset)> {
        self.entries.iter().map(|(partition, offset)| (partition, offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{FlatMap, FlatValue};

    fn partition(name: &str) -> SourcePartition {
        FlatMap::new()
            .with("filename", FlatValue::String(name.into()))
            .into()
    }

    fn position(at: i64) -> SourceOffset {
        FlatMap::new().with("position", FlatValue::Int(at)).into()
    }

    fn staged(offsets: &CommittingOffsets) -> Vec<(SourcePartition, SourceOffset)> {
        offsets
            .iter()
            .map(|(partition, offset)| (partition.clone(), offset.clone()))
            .collect()
    }

    #[test]
    fn the_last_offset_of_each_partition_is_taken_once() {
        let mut buffer = OffsetBuffer::new();
        assert!(buffer.is_empty());
        let (a, b) = (partition("a"), partition("b"));
        buffer.stage(&a, position(1));
        buffer.stage(&a, position(2));
        buffer.stage(&b, position(7));
        // Equal, but another object.
        buffer.stage(&partition("a"), position(3));
        buffer.stage(&b, position(8));
        assert_eq!(
            staged(&buffer.begin_commit()),
            [(a.clone(), position(3)), (b, position(8))]
        );
        assert!(buffer.is_empty());
        buffer.stage(&a, position(4));
        assert_eq!(staged(&buffer.begin_commit()), [(a, position(4))]);
    }
}
