//! The offsets topic of one connector as a task sees it: made and checked, then read whole.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use sealwax::Client;
use sealwax::config::ConsumerConfig;

use crate::api::{OffsetReader, SourceOffset, SourcePartition};
use crate::error::StoreError;
use crate::store::{CompactedTopic, OffsetTable, SharedOffsets, ensure_topic, read_to_end};
use crate::task::{OffsetStore, StoredOffsets};

/// The offsets topic of one connector.
#[derive(Debug, Clone)]
pub(super) struct TopicOffsets {
    pub(super) client: Client,
    pub(super) connector: String,
    pub(super) topic: CompactedTopic,
    pub(super) consumer: ConsumerConfig,
}

#[async_trait]
impl OffsetStore for TopicOffsets {
    fn topic(&self) -> &str {
        &self.topic.name
    }

    async fn read(&self) -> Result<Arc<dyn StoredOffsets>, StoreError> {
        ensure_topic(&self.client, &self.topic).await?;
        let mut table = OffsetTable::new(&self.connector);
        let topic = self.topic();
        let take = |key: Option<&[u8]>, value: Option<&[u8]>| {
            if let Err(error) = table.apply(key, value) {
                tracing::warn!(topic, %error, "passed over a record of the offsets topic");
            }
        };
        let count = read_to_end(&self.client, topic, self.consumer.clone(), take).await?;
        tracing::debug!(topic, records = count, "read the offsets topic");
        Ok(Arc::new(SharedOffsets::new(table)))
    }
}

impl StoredOffsets for SharedOffsets {
    fn record(
        &self,
        partition: &SourcePartition,
        offset: &SourceOffset,
    ) -> Result<(Bytes, Bytes), StoreError> {
        Self::record(self, partition, offset)
    }

    fn committed(&self, partition: &SourcePartition, offset: &SourceOffset) {
        Self::committed(self, partition, offset);
    }

    fn summary(&self) -> Vec<String> {
        Self::summary(self)
    }

    fn reader(self: Arc<Self>) -> Arc<dyn OffsetReader> {
        self
    }
}
