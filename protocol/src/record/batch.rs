//! The 61-byte header of a record batch: its fields, its attributes, and the checks that need no records.
//!
//! Reading goes in this order: `frame` says where a batch ends, `BatchHeader::verify_checksum` that its bytes are as they
//! were written, `BatchHeader::check` that its fields fit each other.

use bytes::{Buf, BufMut};

use crate::error::DecodeError;
use crate::limits::DecodeLimits;

/// Bytes of a batch's header.
pub const HEADER_LEN: usize = 61;

/// Bytes of the base offset.
pub(super) const BASE_OFFSET_END: usize = 8;
/// Bytes before and of the leader's epoch.
pub(super) const LEADER_EPOCH_END: usize = 16;
/// Bytes before and of the field `batch_length`, which does not count them.
pub(super) const LENGTH_END: usize = 12;
/// Where the checksum stands.
pub(super) const CRC_AT: usize = 17;
/// First byte that the checksum covers.
const CRC_START: usize = 21;

const MAGIC: u8 = 2;
/// Bytes up to and of the magic, which has the same place in all formats.
const MAGIC_END: usize = 17;

const COMPRESSION_MASK: i16 = 0b111;
const LOG_APPEND_TIME: i16 = 1 << 3;
pub(super) const TRANSACTIONAL: i16 = 1 << 4;
pub(super) const CONTROL: i16 = 1 << 5;

/// Whose clock a batch's timestamps are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimestampType {
    /// The producer's.
    CreateTime,
    /// The broker's: every record has the batch's largest timestamp.
    LogAppendTime,
}

/// How a batch's records are compressed (Java's `CompressionType`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip.
    Gzip,
    /// Snappy.
    Snappy,
    /// LZ4.
    Lz4,
    /// Zstandard.
    Zstd,
}

impl Compression {
    /// The name that `compression.type` has for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }
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
        self.base_offset.saturating_add(i64::from(self.last_offset_delta))
    }

    /// Offset behind the batch: the position of a reader that has passed it.
    #[must_use]
    pub fn next_offset(&self) -> i64 {
        self.last_offset().saturating_add(1)
    }

    /// Whether the batch belongs to a transaction.
    #[must_use]
    pub fn is_transactional(&self) -> bool {
        self.attributes & TRANSACTIONAL != 0
    }

    /// Whether the batch holds a control record (a transaction marker, say) instead of data.
    #[must_use]
    pub fn is_control(&self) -> bool {
        self.attributes & CONTROL != 0
    }

    /// Whose clock the timestamps are.
    #[must_use]
    pub fn timestamp_type(&self) -> TimestampType {
        if self.attributes & LOG_APPEND_TIME == 0 {
            TimestampType::CreateTime
        } else {
            TimestampType::LogAppendTime
        }
    }

    /// How the records are compressed.
    ///
    /// # Errors
    /// If the attributes name a codec that Kafka does not have.
    pub fn compression(&self) -> Result<Compression, DecodeError> {
        match self.attributes & COMPRESSION_MASK {
            0 => Ok(Compression::None),
            1 => Ok(Compression::Gzip),
            2 => Ok(Compression::Snappy),
            3 => Ok(Compression::Lz4),
            4 => Ok(Compression::Zstd),
            unknown => Err(DecodeError::Invalid {
                what: "compression codec of a batch",
                value: unknown.to_string(),
            }),
        }
    }

    pub(super) fn decode(bytes: &[u8; HEADER_LEN]) -> Self {
        let mut input = &bytes[..];
        let (base_offset, batch_length, partition_leader_epoch) =
            (input.get_i64(), input.get_i32(), input.get_i32());
        input.advance(size_of_val(&MAGIC));
        Self {
            base_offset,
            batch_length,
            partition_leader_epoch,
            crc: input.get_u32(),
            attributes: input.get_i16(),
            last_offset_delta: input.get_i32(),
            base_timestamp: input.get_i64(),
            max_timestamp: input.get_i64(),
            producer_id: input.get_i64(),
            producer_epoch: input.get_i16(),
            base_sequence: input.get_i32(),
            record_count: input.get_i32(),
        }
    }

    /// Writes the header of a batch over `header`, with the checksum over it and `records`; `crc` of `self` is not used.
    pub(super) fn seal_into(&self, header: &mut [u8; HEADER_LEN], records: &[u8]) {
        let mut output = &mut header[..];
        output.put_i64(self.base_offset);
        output.put_i32(self.batch_length);
        output.put_i32(self.partition_leader_epoch);
        output.put_u8(MAGIC);
        output.put_u32(0);
        output.put_i16(self.attributes);
        output.put_i32(self.last_offset_delta);
        output.put_i64(self.base_timestamp);
        output.put_i64(self.max_timestamp);
        output.put_i64(self.producer_id);
        output.put_i16(self.producer_epoch);
        output.put_i32(self.base_sequence);
        output.put_i32(self.record_count);
        let crc = crc32c::crc32c_append(crc32c::crc32c(&header[CRC_START..]), records);
        header[CRC_AT..CRC_START].copy_from_slice(&crc.to_be_bytes());
    }

    /// Whether `batch`, the whole batch of this header, is as it was written.
    pub(super) fn verify_checksum(&self, batch: &[u8]) -> Result<(), DecodeError> {
        let computed = crc32c::crc32c(batch.get(CRC_START..).unwrap_or_default());
        if computed == self.crc {
            return Ok(());
        }
        Err(DecodeError::Corrupt {
            base_offset: self.base_offset,
            computed,
            stored: self.crc,
        })
    }

    /// Whether the fields fit each other.
    pub(super) fn check(&self) -> Result<(), DecodeError> {
        let invalid = |what, value: String| Err(DecodeError::Invalid { what, value });
        if self.record_count < 0 {
            return invalid("record count of a batch", self.record_count.to_string());
        }
        // Compaction takes records out and leaves the delta, so it may be larger than the count says, never smaller.
        if self.last_offset_delta < 0 || self.last_offset_delta < self.record_count - 1 {
            let value = format!("{} for {} records", self.last_offset_delta, self.record_count);
            return invalid("last offset delta of a batch", value);
        }
        if self.base_offset < 0
            || self
                .base_offset
                .checked_add(i64::from(self.last_offset_delta))
                .is_none()
        {
            return invalid("base offset of a batch", self.base_offset.to_string());
        }
        Ok(())
    }
}

/// What stands at the front of a partition's bytes.
pub(super) enum Framed {
    /// A batch with all its bytes.
    Complete {
        /// Its header.
        header: BatchHeader,
        /// Its bytes, header included.
        length: usize,
    },
    /// The front part of a batch.
    Incomplete {
        /// Bytes that it needs, as far as that is known.
        needed: usize,
    },
}

/// Finds the end of the batch at the front of `bytes`.
pub(super) fn frame(bytes: &[u8], limits: &DecodeLimits) -> Result<Framed, DecodeError> {
    let Some(&[_, _, _, _, _, _, _, _, l0, l1, l2, l3, _, _, _, _, magic]) = bytes.first_chunk::<MAGIC_END>()
    else {
        return Ok(Framed::Incomplete { needed: HEADER_LEN });
    };
    match magic {
        MAGIC => {}
        0 | 1 => {
            let detail = format!(
                "the partition holds messages of magic {magic}, and formats before Kafka 0.11 are not read yet"
            );
            return Err(DecodeError::Unsupported {
                what: "old record format",
                detail,
            });
        }
        unknown => {
            let value = unknown.to_string();
            return Err(DecodeError::Invalid {
                what: "magic of a record batch",
                value,
            });
        }
    }
    let batch_length = i32::from_be_bytes([l0, l1, l2, l3]);
    let length = match usize::try_from(batch_length)
        .ok()
        .and_then(|behind| behind.checked_add(LENGTH_END))
    {
        Some(length) if length >= HEADER_LEN => length,
        _ => {
            let value = batch_length.to_string();
            return Err(DecodeError::Invalid {
                what: "length of a record batch",
                value,
            });
        }
    };
    if length > limits.max_batch_bytes {
        return Err(DecodeError::TooLarge {
            what: "record batch",
            announced: length as u64,
            allowed: limits.max_batch_bytes as u64,
        });
    }
    match bytes.first_chunk() {
        Some(header) if bytes.len() >= length => Ok(Framed::Complete {
            header: BatchHeader::decode(header),
            length,
        }),
        _ => Ok(Framed::Incomplete { needed: length }),
    }
}
