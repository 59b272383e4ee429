//! A batch as it lies in the log: its header's fields beside its bytes.

use bytes::{Bytes, BytesMut};
use sealwax_protocol::limits::DecodeLimits;
use sealwax_protocol::record::{BatchHeader, Batches, ControlType, place};

/// A batch in a log.
#[derive(Debug, Clone)]
pub struct LogBatch {
    base_offset: i64,
    leader_epoch: i32,
    header: BatchHeader,
    control: Option<ControlType>,
    /// As the producer sent it: offset and leader epoch are written into it when it is read.
    bytes: Bytes,
}

impl LogBatch {
    pub(super) const fn new(
        base_offset: i64,
        leader_epoch: i32,
        header: BatchHeader,
        control: Option<ControlType>,
        bytes: Bytes,
    ) -> Self {
        Self {
            base_offset,
            leader_epoch,
            header,
            control,
            bytes,
        }
    }

    /// Offset of the first record.
    #[must_use]
    pub const fn base_offset(&self) -> i64 {
        self.base_offset
    }

    /// Offset of the last record.
    #[must_use]
    pub fn last_offset(&self) -> i64 {
        self.base_offset + i64::from(self.header.last_offset_delta)
    }

    /// Epoch of the leader that appended it.
    #[must_use]
    pub const fn leader_epoch(&self) -> i32 {
        self.leader_epoch
    }

    /// Producer id, −1 for none.
    #[must_use]
    pub const fn producer_id(&self) -> i64 {
        self.header.producer_id
    }

    /// Producer epoch, −1 for none.
    #[must_use]
    pub const fn producer_epoch(&self) -> i16 {
        self.header.producer_epoch
    }

    /// Sequence of the first record, −1 for none.
    #[must_use]
    pub const fn base_sequence(&self) -> i32 {
        self.header.base_sequence
    }

    /// Records in it.
    #[must_use]
    pub const fn record_count(&self) -> i32 {
        self.header.record_count
    }

    /// Whether it belongs to a transaction; so do markers.
    #[must_use]
    pub fn is_transactional(&self) -> bool {
        self.header.is_transactional()
    }

    /// What the marker says, if this is one.
    #[must_use]
    pub const fn control(&self) -> Option<ControlType> {
        self.control
    }

    /// The largest timestamp, in milliseconds.
    #[must_use]
    pub const fn max_timestamp(&self) -> i64 {
        self.header.max_timestamp
    }

    /// Bytes that it takes.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether it takes no bytes, which no batch does.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The records' values, in order. A null value is empty.
    #[must_use]
    pub fn values(&self) -> Vec<Bytes> {
        let batch = Batches::new(self.bytes.clone(), DecodeLimits::default()).next();
        let Some(Ok(batch)) = batch else {
            return Vec::new();
        };
        let records = batch.records().flatten();
        records
            .map(|record| batch.slice_ref(record.value.unwrap_or_default()))
            .collect()
    }

    /// Appends its bytes, with offset and leader epoch, to what a reader gets.
    pub(crate) fn write_to(&self, out: &mut BytesMut) {
        place(&self.bytes, self.base_offset, self.leader_epoch, out);
    }
}
