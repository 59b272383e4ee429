//! The delivery of one record. In: its batch's completion cell and its index there. Out: where the record went, or why not.

use std::sync::Arc;

use sealwax_protocol::ids::TopicPartition;

use crate::error::Result;
use crate::runtime::waiters::BatchCell;

/// Where a record went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordMetadata {
    /// The partition.
    pub topic_partition: TopicPartition,
    /// The record's offset; `None` if the broker recognised a repeated batch whose offset it no longer knows, or with `acks=0`, where no
    /// broker is asked: then the record was handed to the operating system, and whether it is in the log is not known.
    pub offset: Option<i64>,
    /// The record's timestamp in milliseconds since 1970, if the broker set it (LogAppendTime).
    pub log_append_time: Option<i64>,
}

/// The result of one sent record, to be awaited or dropped.
#[derive(Debug)]
pub struct Delivery {
    batch: Arc<BatchCell>,
    /// The record's place in its batch.
    index: u32,
}

impl Delivery {
    /// The record at `index` of a batch.
    pub(super) const fn new(batch: Arc<BatchCell>, index: u32) -> Self {
        Self { batch, index }
    }

    /// Waits for the record's result.
    ///
    /// # Errors
    /// Why the record was not written, or that this cannot be known ([`crate::ErrorKind::OutcomeUnknown`]). If its batch was too large and
    /// had to be split, the records of the other pieces may have fared otherwise; the result comes when all of them have theirs.
    ///
    /// *Cancel safety*: dropping the future changes nothing for the record.
    pub async fn wait(self) -> Result<RecordMetadata> {
        let (result, index) = self.batch.wait().await.of(self.index);
        let batch = result.as_ref().map_err(Clone::clone)?;
        Ok(RecordMetadata {
            topic_partition: batch.topic_partition.clone(),
            offset: batch
                .base_offset
                .map(|base| base.saturating_add(i64::from(index))),
            log_append_time: batch.log_append_time,
        })
    }
}
