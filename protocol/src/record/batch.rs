//! The 61-byte header of a record batch: offsets of its fields, its attributes, and the checks that need no records.

/// Bytes of a batch's header.
pub const HEADER_LEN: usize = 61;

/// Whose clock a batch's timestamps are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimestampType {
    /// The producer's.
    CreateTime,
    /// The broker's: every record has the batch's largest timestamp.
    LogAppendTime,
}

/// The header of a record batch, as read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchHeader {
    /// Offset of the first record.
    pub base_offset: i64,
    /// Bytes behind this field.
    pub batch_length: i32,
    /// Epoch of the leader that appended it.
    pub partition_leader_epoch: i32,
    /// CRC-32C of everything from `attributes` on.
    pub crc: u32,
    /// The attribute bits.
    pub attributes: i16,
    /// Offset of the last record minus `base_offset`. Kept by compaction, also when that record is gone.
    pub last_offset_delta: i32,
    /// Timestamp that the records' deltas are relative to, in milliseconds.
    pub base_timestamp: i64,
    /// Largest timestamp of the batch, in milliseconds.
    pub max_timestamp: i64,
    /// Producer id, −1 for none.
    pub producer_id: i64,
    /// Producer epoch, −1 for none.
    pub producer_epoch: i16,
    /// Sequence of the first record, −1 for none.
    pub base_sequence: i32,
    /// Records that the batch holds.
    pub record_count: i32,
}

impl BatchHeader {
    /// Offset of the last record that the batch was written with.
    #[must_use]
    pub fn last_offset(&self) -> i64 {
        todo!()
    }

    /// Offset behind the batch: the position of a reader that has passed it.
    #[must_use]
    pub fn next_offset(&self) -> i64 {
        todo!()
    }

    /// Whether the batch belongs to a transaction.
    #[must_use]
    pub fn is_transactional(&self) -> bool {
        todo!()
    }

    /// Whether the batch holds a control record (a transaction marker, say) instead of data.
    #[must_use]
    pub fn is_control(&self) -> bool {
        todo!()
    }

    /// Whose clock the timestamps are.
    #[must_use]
    pub fn timestamp_type(&self) -> TimestampType {
        todo!()
    }
}
