//! Cutting a partition's bytes into batches: where a batch ends, whether it is intact, and its records made plain.
//!
//! In: the bytes of one partition in a Fetch answer; out: [`RecordBatch`]es that share them. Nothing is copied.

use bytes::{Buf, Bytes};

use super::batch::{BatchHeader, Compression, Framed, HEADER_LEN, frame};
use super::control::ControlType;
use super::records::{MIN_RECORD_LEN, Records};
use crate::error::DecodeError;
use crate::limits::DecodeLimits;

/// The batches in a partition's bytes of a Fetch answer. Ends after the first error.
///
/// The broker cuts at its byte limit, so a batch that is cut at the end is left out. The first one is always whole (KIP-74; from
/// Fetch version 3 on a partition is left empty otherwise): if it is not, that is an error, for a reader could never pass it.
#[derive(Debug, Clone)]
pub struct Batches {
    rest: Bytes,
    limits: DecodeLimits,
    position: Position,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    First,
    Later,
}

impl Batches {
    /// The batches in `bytes`.
    #[must_use]
    pub fn new(bytes: Bytes, limits: DecodeLimits) -> Self {
        Self {
            rest: bytes,
            limits,
            position: Position::First,
        }
    }

    fn decode(&mut self) -> Result<Option<RecordBatch>, DecodeError> {
        let (header, length) = match frame(&self.rest, &self.limits)? {
            Framed::Complete { header, length } => (header, length),
            Framed::Incomplete { needed } => match self.position {
                Position::First => {
                    let remaining = self.rest.len();
                    return Err(DecodeError::Truncated {
                        what: "first record batch",
                        needed,
                        remaining,
                    });
                }
                Position::Later => return Ok(None),
            },
        };
        let mut batch = self.rest.split_to(length);
        header.verify_checksum(&batch)?;
        header.check()?;
        batch.advance(HEADER_LEN);
        let records = plain_records(&header, batch)?;
        self.position = Position::Later;
        RecordBatch::new(header, records).map(Some)
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let result = self.decode().transpose();
        if !matches!(result, Some(Ok(_))) {
            self.rest = Bytes::new();
        }
        result
    }
}

/// The records of a batch without compression. Whatever decompresses belongs here, under the limit of a batch.
fn plain_records(header: &BatchHeader, body: Bytes) -> Result<Bytes, DecodeError> {
    match header.compression()? {
        Compression::None => Ok(body),
        codec @ (Compression::Gzip | Compression::Snappy | Compression::Lz4 | Compression::Zstd) => {
            let detail = format!(
                "the batch at offset {} is compressed with {}, and compression is not built yet",
                header.base_offset,
                codec.name()
            );
            Err(DecodeError::Unsupported {
                what: "compressed record batch",
                detail,
            })
        }
    }
}

/// One complete batch whose checksum was verified.
#[derive(Debug, Clone)]
pub struct RecordBatch {
    header: BatchHeader,
    records: Bytes,
}

impl RecordBatch {
    fn new(header: BatchHeader, records: Bytes) -> Result<Self, DecodeError> {
        let (announced, allowed) = (
            header.record_count as u64,
            (records.len() / MIN_RECORD_LEN) as u64,
        );
        if announced > allowed {
            return Err(DecodeError::TooLarge {
                what: "record count of a batch",
                announced,
                allowed,
            });
        }
        Ok(Self { header, records })
    }

    /// The batch's header.
    #[must_use]
    pub fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// The records, decoded one by one.
    #[must_use]
    pub fn records(&self) -> Records<'_> {
        Records::new(&self.header, &self.records)
    }

    /// What the control record says. `Ok(None)` if this is no control batch, or if compaction removed its record.
    ///
    /// # Errors
    /// If the control record is malformed.
    pub fn control_type(&self) -> Result<Option<ControlType>, DecodeError> {
        if !self.header.is_control() {
            return Ok(None);
        }
        match self.records().next() {
            Some(record) => ControlType::from_key(record?.key).map(Some),
            None => Ok(None),
        }
    }

    /// An owned handle to a field that was borrowed from this batch's records. Costs a reference count, not a copy, and keeps
    /// the whole frame in memory while it lives. Bytes that are not of this batch are copied.
    #[must_use]
    pub fn slice_ref(&self, field: &[u8]) -> Bytes {
        let (own, other) = (self.records.as_ptr_range(), field.as_ptr_range());
        if own.start <= other.start && other.end <= own.end {
            self.records.slice_ref(field)
        } else {
            Bytes::copy_from_slice(field)
        }
    }
}
