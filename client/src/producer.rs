//! Producers: the idempotent one and the transactional one, and the delivery of a record.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sealwax_protocol::ids::TopicPartition;

use crate::config::ProducerConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::machine::accumulator::{Appended, Refusal};
use crate::machine::producer::{ProducerMachine, Settings};
use crate::record::Record;
use crate::runtime::cluster::Cluster;
use crate::runtime::driver::DriverHandle;
use crate::runtime::waiters::{BatchCell, Completion, Deliveries};
use crate::runtime::{clock, entropy};
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
pub struct Delivery {
    batch: Arc<BatchCell>,
    /// The record's place in its batch.
    index: u32,
}

impl Delivery {
    /// Waits for the record's result.
    ///
    /// # Errors
    /// Why the record was not written, or that this cannot be known ([`crate::ErrorKind::OutcomeUnknown`]).
    ///
    /// *Cancel safety*: dropping the future changes nothing for the record.
    pub async fn wait(self) -> Result<RecordMetadata> {
        let batch = self.batch.wait().await.as_ref().map_err(Clone::clone)?;
        Ok(RecordMetadata {
            topic_partition: batch.topic_partition.clone(),
            offset: batch
                .base_offset
                .map(|base| base.saturating_add(i64::from(self.index))),
            log_append_time: batch.log_append_time,
        })
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
        let core = Core::start(
            self.cluster,
            self.config,
            Some(Arc::clone(&self.transactional_id)),
        )
        .await?;
        Ok(TransactionalProducer {
            core,
            transactional_id: self.transactional_id,
        })
    }
}

/// A transactional producer. Dropping it aborts what is open, in the background.
#[derive(Debug)]
pub struct TransactionalProducer {
    core: Core,
    transactional_id: Arc<str>,
}

impl TransactionalProducer {
    /// The transactional id.
    #[must_use]
    pub fn transactional_id(&self) -> &str {
        &self.transactional_id
    }

    /// Begins a transaction. If the transaction before was dropped, or its commit's outcome is being cleared up, this waits for that.
    ///
    /// # Errors
    /// If this producer was fenced or is otherwise beyond use, or if the transaction before could not be cleared up within
    /// `max.block.ms` (then this may be called again).
    ///
    /// *Cancel safety*: dropping the future leaves no transaction open.
    pub async fn begin(&mut self) -> Result<Transaction<'_>> {
        let serial = match self.core.handle.with(ProducerMachine::begin) {
            Some(begun) => begun?,
            None => self.begin_later().await?,
        };
        Ok(Transaction::new(&mut self.core, serial))
    }

    /// Closes: an abort that is still due is carried out first, for at most `limit`.
    ///
    /// # Errors
    /// If the abort could not be confirmed in time (the coordinator will abort after `transaction.timeout.ms`).
    ///
    /// *Cancel safety*: the abort goes on in the background.
    pub async fn close(self, limit: Duration) -> Result<()> {
        let idle = self
            .core
            .handle
            .wait_for(|machine, _| machine.is_idle().then_some(()));
        tokio::time::timeout(limit, idle)
            .await
            .map_err(|_| self.overdue("the last transaction has not ended", limit))
    }

    async fn begin_later(&self) -> Result<u64> {
        let limit = self.core.max_block;
        let begun = self.core.handle.wait_for(ProducerMachine::begin);
        tokio::time::timeout(limit, begun)
            .await
            .unwrap_or_else(|_| Err(self.overdue("the transaction before has not ended", limit)))
    }

    fn overdue(&self, what: &str, limit: Duration) -> Error {
        let message = format!(
            "transactional id {}: {what} within {} ms; check that its coordinator can be reached",
            self.transactional_id,
            limit.as_millis()
        );
        Error::new(ErrorKind::Timeout, message)
    }
}

/// What both kinds of producer share: the machine's driver and the way of a record into it.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) handle: DriverHandle<ProducerMachine<Completion>>,
    pub(crate) max_block: Duration,
    deliveries: Arc<Deliveries>,
}

impl Core {
    async fn start(
        cluster: Arc<Cluster>,
        config: ProducerConfig,
        transactional_id: Option<Arc<str>>,
    ) -> Result<Self> {
        config.validate()?;
        let max_block = config.max_block;
        let settings = Settings {
            config,
            transactional_id,
            request_timeout: cluster.config().request_timeout,
            backoff: cluster.retry_backoff(),
        };
        let deliveries = Arc::new(Deliveries::default());
        let told = Arc::clone(&deliveries);
        let machine = ProducerMachine::new(settings, entropy::rng());
        let core = Self {
            handle: DriverHandle::spawn(cluster, machine, move |resolved| told.deliver(resolved)),
            max_block,
            deliveries,
        };
        let initialized = core.handle.wait_for(|machine, _| machine.initialized());
        match tokio::time::timeout(max_block, initialized).await {
            Ok(initialized) => initialized.map(|()| core),
            Err(_) => {
                let message = format!(
                    "no producer id was given within max.block.ms = {}; check that the brokers can be reached",
                    max_block.as_millis()
                );
                Err(Error::new(ErrorKind::Timeout, message))
            }
        }
    }

    /// Puts a record into its batch.
    pub(crate) async fn send(&self, record: &Record<'_>) -> Result<Delivery> {
        let timestamp = record.timestamp.unwrap_or_else(clock::wall_clock_ms);
        let taken = self
            .handle
            .with_quietly(|machine, now| append(machine, now, record, timestamp));
        match taken {
            Ok(appended) => Ok(self.accept(appended)),
            Err(Refusal::Error(error)) => Err(error),
            Err(Refusal::Metadata(_) | Refusal::Memory) => self.send_later(record, timestamp).await,
        }
    }

    async fn send_later(&self, record: &Record<'_>, timestamp: i64) -> Result<Delivery> {
        // The refused attempt has left wishes with the machine: for the topic, or for room.
        self.handle.wake();
        let mut reason = None;
        let taken = self
            .handle
            .wait_for(|machine, now| match append(machine, now, record, timestamp) {
                Ok(appended) => Some(Ok(appended)),
                Err(Refusal::Error(error)) => Some(Err(error)),
                Err(refusal @ (Refusal::Metadata(_) | Refusal::Memory)) => {
                    reason = Some(refusal);
                    None
                }
            });
        match tokio::time::timeout(self.max_block, taken).await {
            Ok(taken) => taken.map(|appended| self.accept(appended)),
            Err(_) => Err(refused(record.topic, reason, self.max_block)),
        }
    }

    fn accept(&self, appended: Appended<Delivery>) -> Delivery {
        if appended.made_work {
            self.handle.wake();
        }
        appended.ticket
    }

    async fn flush(&self) -> Result<()> {
        let ticket = self.handle.with(|machine, _| machine.flush());
        let told = self
            .handle
            .wait_for(|machine, _| machine.is_flushed(ticket))
            .await;
        // The driver hands results out a moment after the machine has them.
        self.handle
            .wait_for(|_, _| (self.deliveries.told() >= told).then_some(()))
            .await;
        match self.deliveries.take_unseen() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

fn append(
    machine: &mut ProducerMachine<Completion>,
    now: Instant,
    record: &Record<'_>,
    timestamp: i64,
) -> std::result::Result<Appended<Delivery>, Refusal> {
    let taken = |completion: &Completion, index| Delivery {
        batch: completion.cell(),
        index,
    };
    machine.append(now, record, timestamp, Completion::default, taken)
}

fn refused(topic: &str, reason: Option<Refusal>, waited: Duration) -> Error {
    let waited = waited.as_millis();
    match reason {
        Some(Refusal::Memory) => {
            let message = format!(
                "no room for the record within max.block.ms = {waited}: records are sent faster than the brokers take them;                  raise buffer.memory or send more slowly"
            );
            Error::new(ErrorKind::Timeout, message)
        }
        Some(Refusal::Metadata(code)) if code.is_error() => {
            let message = format!(
                "topic {topic} is not there after max.block.ms = {waited}; create it, or let brokers do so \
                 (auto.create.topics.enable)"
            );
            Error::broker(ErrorKind::UnknownTopic, code, message)
        }
        Some(Refusal::Metadata(_) | Refusal::Error(_)) | None => {
            let message = format!(
                "nothing was heard of topic {topic} within max.block.ms = {waited}; check that the brokers can be reached"
            );
            Error::new(ErrorKind::Timeout, message)
        }
    }
}
