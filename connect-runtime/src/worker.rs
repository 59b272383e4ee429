//! The worker: wires client, plugins and herder together.
//!
//! Input: the worker's configuration and the connectors'. Output: how each connector ended.

use std::sync::Arc;

use sealwax::Client;

use crate::config::{ConnectorConfig, WorkerConfig};
use crate::herder::{ConnectorEnd, StandaloneHerder};
use crate::plugin::Plugins;
use crate::task::Stop;

/// A worker with a connected client.
#[derive(Debug, Clone)]
pub struct Worker {
    config: WorkerConfig,
    client: Client,
    plugins: Plugins,
}

impl Worker {
    /// Wires a worker.
    pub fn new(config: WorkerConfig, client: Client, plugins: Plugins) -> Self {
        Self {
            config,
            client,
            plugins,
        }
    }

    /// Runs these connectors in this process until a stop, or until none of them runs any more.
    ///
    /// # Cancel safety
    /// Dropping the future drops all tasks; open transactions are aborted.
    pub async fn run_standalone(self, connectors: Vec<ConnectorConfig>, stop: Stop) -> Vec<ConnectorEnd> {
        let plugins = self.plugins;
        let find = Arc::new(move |class: &str| plugins.source(class));
        StandaloneHerder::new(self.config, self.client, find, stop)
            .run(connectors)
            .await
    }
}
