//! Reading batches lazily: nothing is copied, a record is decoded when it is asked for.

use bytes::Bytes;

use super::batch::BatchHeader;
use super::control::ControlType;
use crate::error::DecodeError;
use crate::limits::DecodeLimits;

/// The batches in a partition's bytes of a Fetch answer. A batch that is cut at the end is left out (the broker cuts at its byte limit).
#[derive(Debug, Clone)]
pub struct Batches {
    _bytes: Bytes,
    _limits: DecodeLimits,
}

impl Batches {
    /// The batches in `bytes`.
    #[must_use]
    pub fn new(bytes: Bytes, limits: DecodeLimits) -> Self {
        Self {
            _bytes: bytes,
            _limits: limits,
        }
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        todo!()
    }
}

/// One complete batch whose checksum was verified.
#[derive(Debug, Clone)]
pub struct RecordBatch {
    header: BatchHeader,
    _records: Bytes,
}

impl RecordBatch {
    /// The batch's header.
    #[must_use]
    pub fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// The records, decoded one by one.
    #[must_use]
    pub fn records(&self) -> Records<'_> {
        todo!()
    }

    /// What the control record says. `Ok(None)` if this is no control batch, or if compaction removed its record.
    ///
    /// # Errors
    /// If the control record is malformed.
    pub fn control_type(&self) -> Result<Option<ControlType>, DecodeError> {
        todo!()
    }
}

/// Iterator over a batch's records. Ends after the first error.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    _batch: &'a RecordBatch,
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<RecordRef<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        todo!()
    }
}

/// A record that borrows from its batch.
#[derive(Debug, Clone, Copy)]
pub struct RecordRef<'a> {
    /// Offset in the partition.
    pub offset: i64,
    /// Milliseconds since 1970, −1 for none.
    pub timestamp: i64,
    /// The key; `None` is null.
    pub key: Option<&'a [u8]>,
    /// The value; `None` is null.
    pub value: Option<&'a [u8]>,
    /// The headers, in order, repeats kept.
    pub headers: Headers<'a>,
}

/// The headers of a record: validated already, decoded while iterating. Keys are bytes because brokers do not check that they are UTF-8.
#[derive(Debug, Clone, Copy)]
pub struct Headers<'a> {
    _count: usize,
    _bytes: &'a [u8],
}

impl<'a> Iterator for Headers<'a> {
    type Item = (&'a [u8], Option<&'a [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        todo!()
    }
}
