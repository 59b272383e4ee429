//! The record that a source task gives to the runtime.

use std::sync::Arc;

use super::{ConnectError, SchemaAndValue, SourceOffset, SourcePartition};

/// A header of a record. Keys may repeat; the order is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    /// The header's name.
    pub key: Arc<str>,
    /// The header's value, written by the header converter.
    pub value: SchemaAndValue,
}

/// What a connector that defines its own transactions asks for after one record (`transaction.boundary=connector`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordBoundary {
    /// Commit the transaction; the record is its last.
    Commit,
    /// Abort the transaction including this record: its data is dropped, the progress in the source is kept.
    Abort,
}

/// One record from a source: where it came from, where the source goes on after it, and what goes to Kafka.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceRecord {
    /// The part of the source that it came from. Belongs to one task at a time.
    pub source_partition: SourcePartition,
    /// Where that part goes on after this record.
    pub source_offset: SourceOffset,
    /// The topic that it goes to.
    pub topic: Arc<str>,
    /// The topic's partition, or none to let the producer choose.
    pub partition: Option<i32>,
    /// Key and its schema.
    pub key: SchemaAndValue,
    /// Value and its schema.
    pub value: SchemaAndValue,
    /// Milliseconds since 1970, or none for the time of sending.
    pub timestamp: Option<i64>,
    /// Headers in order.
    pub headers: Vec<Header>,
    boundary: Option<RecordBoundary>,
}

impl SourceRecord {
    /// A record without key, timestamp and headers.
    pub fn new(
        source_partition: SourcePartition,
        source_offset: SourceOffset,
        topic: Arc<str>,
        value: SchemaAndValue,
    ) -> Self {
        Self {
            source_partition,
            source_offset,
            topic,
            partition: None,
            key: SchemaAndValue::null(),
            value,
            timestamp: None,
            headers: Vec::new(),
            boundary: None,
        }
    }

    /// What the connector asked for after this record.
    pub fn boundary(&self) -> Option<RecordBoundary> {
        self.boundary
    }

    /// Marks the record as a boundary. Java looks the record up by equality, so equal records collide there; here the
    /// mark travels with the record.
    pub(super) fn mark(&mut self, boundary: RecordBoundary) -> Result<(), ConnectError> {
        match self.boundary {
            None => self.boundary = Some(boundary),
            Some(known) if known == boundary => {}
            Some(_) => {
                return Err(ConnectError::permanent(
                    "the connector asked both to commit and to abort the transaction after one record",
                ));
            }
        }
        Ok(())
    }
}

/// Where a record landed in Kafka.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordMetadata {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition.
    pub partition: i32,
    /// The offset.
    pub offset: i64,
}
