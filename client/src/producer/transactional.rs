//! The transactional producer: its transactional id is its own from `build` on; one transaction at a time.

use std::sync::Arc;
use std::time::Duration;

use sealwax_protocol::error_code::ErrorCode;

use super::core::Core;
use super::settings::producer_settings;
use crate::config::{EpochBump, Partitioning, ProducerConfig};
use crate::error::{Error, ErrorKind, Result};
use crate::machine::producer::ProducerMachine;
use crate::machine::retry::Backoff;
use crate::machine::transaction::max_timeout;
use crate::machine::{Destination, Lane, Outbound, RequestId};
use crate::runtime::clock;
use crate::runtime::cluster::Cluster;
use crate::transaction::{self, Resolution, Transaction};

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

    /// Under the older transaction protocol: an epoch of its own for every transaction, or only after one of which a request may still be
    /// on its way (default). See [`EpochBump`].
    pub fn epoch_bump(mut self, bump: EpochBump) -> Self {
        self.config.epoch_bump = bump;
        self
    }

    /// InitProducerId: fences every older producer with this transactional id and aborts what it left open.
    ///
    /// # Errors
    /// If a setting is out of range, the transaction timeout is above the broker's maximum (both are named), a permission is missing
    /// (the error says which, and how to grant it), or no coordinator answered within `max.block.ms`.
    ///
    /// *Cancel safety*: the older producer may be fenced already when the future is dropped; nothing else stays behind.
    pub async fn build(self) -> Result<TransactionalProducer> {
        let backoff = self.cluster.retry_backoff();
        let patience = self.config.max_block.max(self.cluster.config().request_timeout);
        let id = Some(Arc::clone(&self.transactional_id));
        match Core::start(Arc::clone(&self.cluster), self.config, id).await {
            Ok(core) => Ok(TransactionalProducer {
                core,
                transactional_id: self.transactional_id,
                patience,
                backoff,
            }),
            Err(error) if error.code() == Some(ErrorCode::INVALID_TRANSACTION_TIMEOUT) => {
                let maximum = broker_maximum(&self.cluster).await;
                Err(maximum.map_or_else(|| error.clone(), |maximum| max_timeout::explain(&error, &maximum)))
            }
            Err(error) => Err(error),
        }
    }
}

/// `transaction.max.timeout.ms` of a broker; `None` if it may not be read.
async fn broker_maximum(cluster: &Arc<Cluster>) -> Option<String> {
    let node = cluster.view().borrow().metadata.brokers.keys().next().copied()?;
    let body = max_timeout::request(node);
    let asked = Outbound {
        id: RequestId(0),
        to: Destination::Node(node),
        lane: Lane::General,
        versions: body.versions(),
        body,
        deadline: clock::now() + cluster.config().request_timeout,
    };
    max_timeout::read(&cluster.submit(asked).await.ok()?)
}

/// A transactional producer. Dropping it aborts what is open, in the background.
#[derive(Debug)]
pub struct TransactionalProducer {
    core: Core,
    transactional_id: Arc<str>,
    /// `max.block.ms`, at least `request.timeout.ms`.
    patience: Duration,
    backoff: Backoff,
}

impl TransactionalProducer {
    /// The transactional id.
    #[must_use]
    pub fn transactional_id(&self) -> &str {
        &self.transactional_id
    }

    /// Begins a transaction. If the transaction before was dropped or its commit is under way, this waits for that. If its outcome is
    /// unknown, this puts an end to it first: what has not been committed by then is aborted, and [`TransactionalProducer::resolve`]
    /// knows afterwards which it was.
    ///
    /// # Errors
    /// If this producer was fenced or is otherwise beyond use, or if the transaction before could not be cleared up within
    /// `max.block.ms` (then this may be called again).
    ///
    /// *Cancel safety*: dropping the future leaves no transaction open; what it was waiting for goes on.
    pub async fn begin(&mut self) -> Result<Transaction<'_>> {
        let serial = match self.core.handle.with(ProducerMachine::begin) {
            Some(begun) => begun?,
            None => self.begin_later().await?,
        };
        Ok(Transaction::new(&mut self.core, serial))
    }

    /// Tells how the last commit came out: after [`crate::CommitError::Unknown`], or after a commit whose future was dropped.
    ///
    /// If it is unknown the coordinator is asked (DescribeTransactions, which needs the permission Describe on the transactional id).
    /// If it has the transaction open still, the commit never arrived, and is asked for again. Once another commit was asked for, the
    /// answer is about that one; transactions that were aborted or dropped since do not count.
    ///
    /// # Errors
    /// If no commit was ever asked for, the producer is beyond use, or nothing was heard for twice `max.block.ms`
    /// (then this may be called again).
    ///
    /// *Cancel safety*: the question goes on in the background, with the commit that it may lead to; this may be called again.
    pub async fn resolve(&mut self) -> Result<Resolution> {
        self.core.handle.with(ProducerMachine::resolve);
        let limit = self.patience * 2;
        let told = self.core.handle.wait_for(|machine, _| machine.resolution());
        match tokio::time::timeout(limit, told).await {
            Ok(told) => told.map(Resolution::from),
            Err(_) => Err(self.overdue("the last commit has not been cleared up", limit)),
        }
    }

    /// A whole transaction as one call: begins, runs `body`, commits. If the transaction was aborted for a reason that may be gone, all
    /// of that is done again, at most five times, and not after `max.block.ms`: so `body` must be fit to be run again. If a commit is
    /// unknown, [`TransactionalProducer::resolve`] is called; what stays unknown is never repeated.
    ///
    /// # Errors
    /// `body`'s own error, after an abort; or why the transaction could not be committed. [`ErrorKind::OutcomeUnknown`] stays unknown.
    ///
    /// *Cancel safety*: the transaction is aborted, unless its commit was under way: that goes on, and `resolve` tells how it came out.
    pub async fn transaction<T, E: From<Error>>(
        &mut self,
        body: impl AsyncFnMut(&mut Transaction<'_>) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let (backoff, limit) = (self.backoff, self.core.max_block);
        transaction::run(self, backoff, limit, body).await
    }

    /// Closes: what is open is aborted, and what is about to end is waited for, for at most `limit`.
    ///
    /// # Errors
    /// If the abort could not be confirmed in time (the coordinator will abort after `transaction.timeout.ms`).
    ///
    /// *Cancel safety*: the abort goes on in the background.
    pub async fn close(self, limit: Duration) -> Result<()> {
        let idle = self.core.handle.wait_for(|machine, now| {
            machine.wind_up(now);
            machine.is_idle().then_some(())
        });
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
