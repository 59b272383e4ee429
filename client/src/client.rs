//! The client: one set of connections and metadata from which producers, consumers and the administrator are made.

use std::sync::Arc;
use std::time::Duration;

use crate::admin::Admin;
use crate::config::ClientConfig;
use crate::consumer::ConsumerBuilder;
use crate::error::{Error, Result};
use crate::producer::{ProducerBuilder, TransactionalProducerBuilder};
use crate::runtime::cluster::Cluster;
use crate::transaction::Transaction;

/// A connected client. Cloning is cheap; all clones share connections and metadata.
#[derive(Debug, Clone)]
pub struct Client {
    cluster: Arc<Cluster>,
}

impl Client {
    /// Starts to set up a client for a cluster.
    pub fn builder<S: Into<String>>(bootstrap_servers: impl IntoIterator<Item = S>) -> ClientBuilder {
        let config = ClientConfig {
            bootstrap_servers: bootstrap_servers.into_iter().map(Into::into).collect(),
            ..ClientConfig::default()
        };
        ClientBuilder { config }
    }

    /// A producer without transactions: idempotent, `acks=all`.
    pub fn producer(&self) -> ProducerBuilder {
        ProducerBuilder::new(Arc::clone(&self.cluster))
    }

    /// A transactional producer. Building it fences every older one with the same id.
    pub fn transactional_producer(
        &self,
        transactional_id: impl Into<Arc<str>>,
    ) -> TransactionalProducerBuilder {
        TransactionalProducerBuilder::new(Arc::clone(&self.cluster), transactional_id.into())
    }

    /// A whole transaction as one call: gets a producer for the transactional id (which fences every older one), begins, runs `body`,
    /// commits, closes. What is safe to repeat is repeated: see [`crate::TransactionalProducer::transaction`], which is also what to
    /// use for more than one transaction.
    ///
    /// ```no_run
    /// # async fn f(client: &sealwax::Client) -> sealwax::Result<()> {
    /// use sealwax::Record;
    ///
    /// let orders = ["42 crates", "7 barrels"];
    /// client
    ///     .transaction("orders-1", async |txn| {
    ///         for order in orders {
    ///             txn.send(Record::new("orders", order)).await?;
    ///         }
    ///         Ok::<_, sealwax::Error>(())
    ///     })
    ///     .await
    /// # }
    /// ```
    ///
    /// # Errors
    /// See [`crate::TransactionalProducerBuilder::build`] and [`crate::TransactionalProducer::transaction`].
    ///
    /// *Cancel safety*: the transaction is aborted in the background, unless its commit was under way: that goes on.
    pub async fn transaction<T, E: From<Error>>(
        &self,
        transactional_id: impl Into<Arc<str>>,
        body: impl AsyncFnMut(&mut Transaction<'_>) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let mut producer = self.transactional_producer(transactional_id).build().await?;
        producer.transaction(body).await
    }

    /// A consumer whose partitions are assigned by hand.
    pub fn consumer(&self) -> ConsumerBuilder {
        ConsumerBuilder::new(Arc::clone(&self.cluster))
    }

    /// The administrator.
    #[must_use]
    pub fn admin(&self) -> Admin {
        Admin::new(Arc::clone(&self.cluster))
    }
}

/// Settings of a client that is about to be connected.
#[derive(Debug, Clone)]
#[must_use]
pub struct ClientBuilder {
    config: ClientConfig,
}

impl ClientBuilder {
    /// `client.id`. Default `sealwax`.
    pub fn client_id(mut self, client_id: impl Into<String>) -> Self {
        self.config.client_id = client_id.into();
        self
    }

    /// `request.timeout.ms`. Default 30 s.
    pub fn request_timeout(mut self, timeout: Duration) -> Self {
        self.config.request_timeout = timeout;
        self
    }

    /// Replaces all settings at once.
    pub fn config(mut self, config: ClientConfig) -> Self {
        self.config = config;
        self
    }

    /// Connects to the first bootstrap address that answers.
    ///
    /// # Errors
    /// If no address answers (each is named with its reason), or what answers does not speak Kafka.
    ///
    /// *Cancel safety*: nothing stays behind if the future is dropped.
    pub async fn connect(self) -> Result<Client> {
        Ok(Client {
            cluster: Cluster::connect(self.config).await?,
        })
    }
}
