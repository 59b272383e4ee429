//! What a task asks of the place where offsets are kept. The topic behind it is the herder's affair.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use crate::api::{OffsetReader, SourceOffset, SourcePartition};
use crate::error::StoreError;
use crate::offsets::CommittingOffsets;

/// The offsets topic of a connector.
#[async_trait]
pub trait OffsetStore: Send + Sync {
    /// The topic's name.
    fn topic(&self) -> &str;

    /// Reads the committed offsets, to the end as of now. Called after the task's producer was initialised, so that
    /// nothing older can add to them.
    ///
    /// # Errors
    /// The topic cannot be made, must not be used, or cannot be read.
    async fn read(&self) -> Result<Arc<dyn StoredOffsets>, StoreError>;
}

/// The committed offsets of a connector, and how to write new ones.
pub trait StoredOffsets: OffsetReader {
    /// Key and value of the record that commits an offset.
    ///
    /// # Errors
    /// The source's maps cannot be written.
    fn record(
        &self,
        partition: &SourcePartition,
        offset: &SourceOffset,
    ) -> Result<(Bytes, Bytes), StoreError>;

    /// Notes that an offset is committed, for a source that asks later.
    fn committed(&self, partition: &SourcePartition, offset: &SourceOffset);

    /// The committed offsets, for the log.
    fn summary(&self) -> Vec<String>;

    /// The summary as it would be if these offsets were committed, too; nothing changes.
    fn summary_after(&self, offsets: &CommittingOffsets) -> Vec<String>;

    /// The same, as what a source task may ask.
    fn reader(self: Arc<Self>) -> Arc<dyn OffsetReader>;
}
