//! The offsets topic of one connector as a task sees it: made and checked, then read whole.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use sealwax::Client;
use sealwax::config::ConsumerConfig;

use crate::api::{OffsetReader, SourceOffset, SourcePartition};
use crate::error::StoreError;
use crate::offsets::CommittingOffsets;
use crate::store::{CompactedTopic, OffsetTable, SharedOffsets, ensure_topic, read_to_end};
use crate::task::{OffsetStore, StoredOffsets};

/// The offsets topic of one connector, with the offsets that are known to be in it.
#[derive(Debug)]
pub(super) struct TopicOffsets {
    client: Client,
    connector: String,
    topic: CompactedTopic,
    consumer: ConsumerConfig,
    /// As last read, with what was committed since.
    known: Mutex<Option<SharedOffsets>>,
}

impl TopicOffsets {
    pub(super) fn new(
        client: Client,
        connector: String,
        topic: CompactedTopic,
        consumer: ConsumerConfig,
    ) -> Self {
        Self {
            client,
            connector,
            topic,
            consumer,
            known: Mutex::new(None),
        }
    }

    /// Takes what was read in place of what was known, unless offsets are gone.
    fn replace_known(&self, read: &SharedOffsets) -> Result<(), StoreError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = known
            .as_ref()
            .map(|known| known.lost_in(read))
            .unwrap_or_default();
        if !lost.is_empty() {
            return Err(StoreError::OffsetsLost {
                topic: self.topic.name.clone(),
                lost: lost.join(", "),
            });
        }
        *known = Some(read.clone());
        Ok(())
    }
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
        let offsets = SharedOffsets::new(table);
        self.replace_known(&offsets)?;
        Ok(Arc::new(offsets))
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

    fn summary_after(&self, offsets: &CommittingOffsets) -> Vec<String> {
        Self::summary_after(self, offsets.iter())
    }

    fn reader(self: Arc<Self>) -> Arc<dyn OffsetReader> {
        self
    }
}
