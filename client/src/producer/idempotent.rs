//! The producer without transactions: idempotent unless its settings make it a plain one.

use std::sync::Arc;
use std::time::Duration;

use super::core::Core;
use super::delivery::Delivery;
use super::settings::producer_settings;
use crate::config::{Acks, Partitioning, ProducerConfig};
use crate::error::Result;
use crate::record::Record;
use crate::runtime::cluster::Cluster;

/// Settings of a producer without transactions that is about to be built.
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

    /// `acks`. Default all; anything else makes a plain producer, see [`ProducerConfig`].
    pub fn acks(mut self, acks: Acks) -> Self {
        self.config.acks = acks;
        self
    }

    /// `enable.idempotence`. Default true, as long as `acks` and `retries` allow it; `true` makes a contradiction with them an error.
    pub fn enable_idempotence(mut self, enable: bool) -> Self {
        self.config.enable_idempotence = Some(enable);
        self
    }

    /// Gets a producer id, unless the producer is plain.
    ///
    /// # Errors
    /// If a setting is out of range, settings contradict each other, or no producer id could be had within `max.block.ms`.
    ///
    /// *Cancel safety*: nothing stays behind if the future is dropped.
    pub async fn build(self) -> Result<Producer> {
        let core = Core::start(self.cluster, self.config, None).await?;
        Ok(Producer { core })
    }
}

/// A producer without transactions, idempotent unless its settings make it plain.
///
/// Dropping it sends what was taken in the background, within `delivery.timeout.ms`, as long as the tokio runtime lives; each `Delivery`
/// still gets its result. [`Producer::close`] and [`Producer::close_within`] wait for that.
#[derive(Debug)]
pub struct Producer {
    core: Core,
}

impl Producer {
    /// Puts a record into its batch; waits only for the topic's metadata or for buffer room. Who waits for room is served in turn.
    ///
    /// # Errors
    /// If the record cannot be taken: too large, unknown topic, no room within `max.block.ms`, a custom partitioner that fails.
    ///
    /// *Cancel safety*: until the future is ready the record was not taken.
    pub async fn send(&self, record: Record<'_>) -> Result<Delivery> {
        self.core.send(&record).await
    }

    /// Waits until every record sent before has its result, which takes at most `delivery.timeout.ms` and a request's time.
    ///
    /// # Errors
    /// The first failure since the last flush among records whose `Delivery` had been dropped when it failed.
    ///
    /// *Cancel safety*: dropping the future stops the waiting, nothing else.
    pub async fn flush(&self) -> Result<()> {
        self.core.flush().await
    }

    /// As [`Producer::flush`], but waits no longer than `limit`.
    ///
    /// # Errors
    /// As [`Producer::flush`]; or [`crate::ErrorKind::Timeout`] if records are without result after `limit`. They are not given up: they are
    /// sent and awaited on until `delivery.timeout.ms`.
    ///
    /// *Cancel safety*: dropping the future stops the waiting, nothing else.
    pub async fn flush_within(&self, limit: Duration) -> Result<()> {
        self.core.flush_within(limit).await
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

    /// Flushes and closes, but waits no longer than `limit`. What has no result then is given up: records that did not leave fail with
    /// [`crate::ErrorKind::Closed`], of those that may be written the outcome is unknown ([`crate::ErrorKind::OutcomeUnknown`]). A limit of zero
    /// gives up at once.
    ///
    /// # Errors
    /// As [`Producer::flush`]; or [`crate::ErrorKind::Timeout`] if something was given up.
    ///
    /// *Cancel safety*: the producer closes in any case; within the same limit batches that were taken are still sent in the background.
    pub async fn close_within(self, limit: Duration) -> Result<()> {
        self.core.close_within(limit).await
    }
}
