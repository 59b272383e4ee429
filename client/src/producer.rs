//! Producers: the idempotent one and the transactional one, and the delivery of a record.

use std::sync::Arc;
use std::time::Duration;

use sealwax_protocol::ids::TopicPartition;

use crate::config::ProducerConfig;
use crate::error::Result;
use crate::record::Record;
use crate::runtime::cluster::Cluster;
use crate::transaction::Transaction;

/// Where a record went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordMetadata {
    /// The partition.
    pub topic_partition: TopicPartition,
    /// The record's offset; `None` if the broker recognised a repeated batch whose offset it no longer knows.
    pub offset: Option<i64>,
    /// The record's timestamp in milliseconds since 1970, if the broker set it (LogAppendTime).
    pub log_append_time: Option<i64>,
}

/// The result of one sent record, to be awaited or dropped.
#[derive(Debug)]
pub struct Delivery {}

impl Delivery {
    /// Waits for the record's result.
    ///
    /// # Errors
    /// Why the record was not written, or that this cannot be known ([`crate::ErrorKind::OutcomeUnknown`]).
    ///
    /// *Cancel safety*: dropping the future changes nothing for the record.
    pub async fn wait(self) -> Result<RecordMetadata> {
        todo!()
    }
}

macro_rules! producer_settings {
    () => {
        /// `batch.size` in bytes. Default 16 KiB.
        pub fn batch_size(mut self, bytes: usize) -> Self {
            self.config.batch_size = bytes;
            self
        }

        /// `linger.ms`. Default 5 ms.
        pub fn linger(mut self, linger: Duration) -> Self {
            self.config.linger = linger;
            self
        }

        /// `delivery.timeout.ms`. Default 120 s.
        pub fn delivery_timeout(mut self, timeout: Duration) -> Self {
            self.config.delivery_timeout = timeout;
            self
        }

        /// Replaces all settings at once.
        pub fn config(mut self, config: ProducerConfig) -> Self {
            self.config = config;
            self
        }
    };
}

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
        let _ = (self.cluster, self.config);
        todo!()
    }
}

/// An idempotent producer.
#[derive(Debug)]
pub struct Producer {}

impl Producer {
    /// Puts a record into its batch; waits only for the topic's metadata or for buffer room.
    ///
    /// # Errors
    /// If the record cannot be taken: too large, unknown topic, no room within `max.block.ms`, producer closed.
    ///
    /// *Cancel safety*: until the future is ready the record was not taken.
    pub async fn send(&self, _record: Record<'_>) -> Result<Delivery> {
        todo!()
    }

    /// Waits until every record sent before has its result.
    ///
    /// # Errors
    /// The first failure among records whose `Delivery` was dropped since the last flush.
    ///
    /// *Cancel safety*: dropping the future stops the waiting, nothing else.
    pub async fn flush(&self) -> Result<()> {
        todo!()
    }

    /// Flushes and closes.
    ///
    /// # Errors
    /// As [`Producer::flush`].
    ///
    /// *Cancel safety*: the producer closes in any case; batches that were taken are still sent in the background.
    pub async fn close(self) -> Result<()> {
        todo!()
    }
}

/// Settings of a transactional producer that is about to be built.
#[derive(Debug)]
#[must_use]
pub struct TransactionalProducerBuilder {
    cluster: Arc<Cluster>,
    transactional_id: Arc<str>,
    config: ProducerConfig,
}

impl TransactionalProducerBuilder {
    pub(crate) fn new(cluster: Arc<Cluster>, transactional_id: Arc<str>) -> Self {
        Self {
            cluster,
            transactional_id,
            config: ProducerConfig::default(),
        }
    }

    producer_settings!();

    /// `transaction.timeout.ms`. Default 60 s.
    pub fn transaction_timeout(mut self, timeout: Duration) -> Self {
        self.config.transaction_timeout = timeout;
        self
    }

    /// InitProducerId: fences every older producer with this transactional id and aborts what it left open.
    ///
    /// # Errors
    /// If a setting is out of range, the transaction timeout is above the broker's maximum, or no coordinator answered
    /// within `max.block.ms`.
    ///
    /// *Cancel safety*: the older producer may be fenced already when the future is dropped.
    pub async fn build(self) -> Result<TransactionalProducer> {
        let _ = (self.cluster, self.transactional_id, self.config);
        todo!()
    }
}

/// A transactional producer.
#[derive(Debug)]
pub struct TransactionalProducer {}

impl TransactionalProducer {
    /// The transactional id.
    #[must_use]
    pub fn transactional_id(&self) -> &str {
        todo!()
    }

    /// Begins a transaction. If the transaction before was dropped, or its commit's outcome is being cleared up, this waits for that.
    ///
    /// # Errors
    /// If this producer was fenced or is otherwise beyond use.
    ///
    /// *Cancel safety*: dropping the future leaves no transaction open.
    pub async fn begin(&mut self) -> Result<Transaction<'_>> {
        todo!()
    }

    /// Closes: an abort that is still due is carried out first, for at most `limit`.
    ///
    /// # Errors
    /// If the abort could not be confirmed in time (the coordinator will abort after `transaction.timeout.ms`).
    ///
    /// *Cancel safety*: the abort goes on in the background.
    pub async fn close(self, _limit: Duration) -> Result<()> {
        todo!()
    }
}
