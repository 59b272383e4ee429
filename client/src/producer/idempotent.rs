//! The producer without transactions.

use std::sync::Arc;
use std::time::Duration;

use super::core::Core;
use super::delivery::Delivery;
use super::settings::producer_settings;
use crate::config::ProducerConfig;
use crate::error::Result;
use crate::record::Record;
use crate::runtime::cluster::Cluster;

/// Settings of an idempotent producer that is about to be built.
#[derive(Debug)]
#[must_use]
pub struct ProducerBuilder {
    cluster: Arc<Cluster>,
    config: ProducerConfig,
}

impl ProducerBuilder {
    pub(crate) fn new(cluster: Arc<Cluster>) -> Self {
        Self {
            cluster,
            config: ProducerConfig::default(),
        }
    }

    producer_settings!();

    /// Gets a producer id.
    ///
    /// # Errors
    /// If a setting is out of range, or no producer id could be had within `max.block.ms`.
    ///
    /// *Cancel safety*: nothing stays behind if the future is dropped.
    pub async fn build(self) -> Result<Producer> {
        let core = Core::start(self.cluster, self.config, None).await?;
        Ok(Producer { core })
    }
}

/// An idempotent producer. Dropping it still sends what was taken, in the background.
#[derive(Debug)]
pub struct Producer {
    core: Core,
}

impl Producer {
    /// Puts a record into its batch; waits only for the topic's metadata or for buffer room.
    ///
    /// # Errors
    /// If the record cannot be taken: too large, unknown topic, no room within `max.block.ms`, producer closed.
    ///
    /// *Cancel safety*: until the future is ready the record was not taken.
    pub async fn send(&self, record: Record<'_>) -> Result<Delivery> {
        self.core.send(&record).await
    }

    /// Waits until every record sent before has its result.
    ///
    /// # Errors
    /// The first failure since the last flush among records whose `Delivery` had been dropped when it failed.
    ///
    /// *Cancel safety*: dropping the future stops the waiting, nothing else.
    pub async fn flush(&self) -> Result<()> {
        self.core.flush().await
    }

    /// Flushes and closes.
    ///
    /// # Errors
    /// As [`Producer::flush`].
    ///
    /// *Cancel safety*: the producer closes in any case; batches that were taken are still sent in the background.
    pub async fn close(self) -> Result<()> {
        self.core.flush().await
    }
}
