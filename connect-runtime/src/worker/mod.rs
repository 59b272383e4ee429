//! The worker: from a connector's configuration to tasks that can be run.
//!
//! Input: the worker's configuration, a connected client, the plugins. Output: for each connector every problem of its
//! configuration at once (`check`), or a started connector and its [`TaskRunner`]s.

mod check;

use std::sync::Arc;

use sealwax::Client;
use tokio::sync::watch;

use crate::api::{ConnectError, Settings, SourceConnector};
use crate::config::{ConnectorConfig, InvalidConfig, WorkerConfig};
use crate::plugin::Plugins;
use crate::task::{AlwaysOwner, Stop, TaskId, TaskRunner, TaskSetup, TaskState};

pub use check::CheckedConnector;

/// What all connectors of a process share.
#[derive(Debug, Clone)]
pub struct Worker {
    config: WorkerConfig,
    client: Client,
    plugins: Plugins,
}

impl Worker {
    /// A worker with a connected client.
    pub fn new(config: WorkerConfig, client: Client, plugins: Plugins) -> Self {
        Self {
            config,
            client,
            plugins,
        }
    }

    /// Checks a connector's configuration. Starts nothing.
    ///
    /// # Errors
    /// Every problem at once.
    pub fn check(&self, config: ConnectorConfig) -> Result<CheckedConnector, InvalidConfig> {
        check::check(&self.config, &self.plugins, config)
    }

    /// Starts a connector.
    ///
    /// # Errors
    /// The connector does not start.
    ///
    /// # Cancel safety
    /// The connector is dropped.
    pub async fn start(&self, checked: CheckedConnector) -> Result<StartedConnector, ConnectError> {
        let CheckedConnector {
            config,
            mut connector,
            setup,
            warnings,
        } = checked;
        for warning in warnings {
            tracing::warn!("{warning}");
        }
        connector.start(config.settings()).await?;
        tracing::info!(
            connector = config.name,
            class = config.class,
            version = connector.version(),
            "connector started"
        );
        Ok(StartedConnector {
            config,
            connector: Arc::from(connector),
            setup,
        })
    }

    /// The tasks of a started connector, ready to run.
    ///
    /// # Errors
    /// The connector cannot split its work, or wants more tasks than `tasks.max`.
    pub fn tasks(&self, started: &StartedConnector, stop: &Stop) -> Result<Vec<TaskRunner>, ConnectError> {
        let most = started.config.tasks_max;
        let settings = started.connector.task_configs(most)?;
        if settings.len() > most {
            let wanted = settings.len();
            return Err(ConnectError::permanent(format!(
                "the connector wants {wanted} tasks, but tasks.max={most}"
            )));
        }
        let one = |(task, settings)| self.task(started, task, settings, stop.clone());
        settings.into_iter().enumerate().map(one).collect()
    }

    fn task(
        &self,
        started: &StartedConnector,
        task: usize,
        settings: Settings,
        stop: Stop,
    ) -> Result<TaskRunner, ConnectError> {
        let converters = check::converters(&started.config, &self.config).map_err(|errors| {
            let texts: Vec<_> = errors.iter().map(ToString::to_string).collect();
            ConnectError::config(texts.join("; "))
        })?;
        let maker = started.connector.clone();
        let setup = TaskSetup {
            id: TaskId {
                connector: started.config.name.clone(),
                task,
            },
            transactional_id: started.config.transactional_id(&self.config, task),
            settings,
            ..started.setup.clone()
        };
        Ok(TaskRunner {
            client: self.client.clone(),
            setup,
            ownership: Arc::new(AlwaysOwner),
            converters,
            new_task: Box::new(move || maker.task()),
            stop,
            status: watch::Sender::new(TaskState::Unassigned),
        })
    }
}

/// A connector that was started.
pub struct StartedConnector {
    config: ConnectorConfig,
    connector: Arc<dyn SourceConnector>,
    setup: TaskSetup,
}

impl StartedConnector {
    /// Ends the connector, after its tasks are gone.
    ///
    /// # Cancel safety
    /// The connector is dropped without the rest of its stop.
    pub async fn stop(mut self) {
        match Arc::get_mut(&mut self.connector) {
            Some(connector) => connector.stop().await,
            None => tracing::warn!(
                connector = self.config.name,
                "connector dropped without a stop: it still has tasks"
            ),
        }
    }
}
