//! Reading a log: whole batches from an offset on, and the aborted transactions that a read_committed reader must know of.

use bytes::{Bytes, BytesMut};

use super::{Aborted, LogBatch, PartitionLog};

/// How much may be read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Range {
    /// Bytes.
    pub(crate) room: usize,
    /// Whether the first batch is read even if there is no room for it (KIP-74).
    pub(crate) is_first: bool,
}

/// What was read.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) bytes: Bytes,
    /// The offset behind it.
    pub(crate) next_offset: i64,
}

impl PartitionLog {
    /// The batches from the one on that holds `from`, below `end`.
    pub(crate) fn read(&self, from: i64, end: i64, range: Range) -> Read {
        let start = self.batches.partition_point(|batch| batch.last_offset() < from);
        let mut out = BytesMut::new();
        let mut next_offset = from;
        for batch in self.batches.get(start..).unwrap_or_default() {
            let is_forced = range.is_first && out.is_empty();
            if batch.base_offset() >= end || (!is_forced && out.len() + batch.len() > range.room) {
                break;
            }
            batch.write_to(&mut out);
            next_offset = batch.last_offset() + 1;
        }
        Read {
            bytes: out.freeze(),
            next_offset,
        }
    }

    /// The aborted transactions that touch the offsets from `from` on and below `end`.
    pub(crate) fn aborted_between(&self, from: i64, end: i64) -> impl Iterator<Item = &Aborted> {
        let start = self.aborted.partition_point(|aborted| aborted.last_offset < from);
        let rest = self.aborted.get(start..).unwrap_or_default().iter();
        rest.filter(move |aborted| aborted.first_offset < end)
    }

    /// The first batch with a record of that time or later.
    pub(crate) fn batch_at_time(&self, timestamp: i64) -> Option<&LogBatch> {
        self.batches
            .iter()
            .find(|batch| batch.control().is_none() && batch.max_timestamp() >= timestamp)
    }
}
