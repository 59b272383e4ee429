//! The transactional producer: its transactional id is its own from `build` on; one transaction at a time.

use std::sync::Arc;
use std::time::Duration;

use super::core::Core;
use super::settings::producer_settings;
use crate::config::{Partitioning, ProducerConfig};
use crate::error::{Error, ErrorKind, Result};
use crate::machine::producer::ProducerMachine;
use crate::runtime::cluster::Cluster;
use crate::transaction::Transaction;

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
