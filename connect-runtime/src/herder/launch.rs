//! From a connector's checked configuration to tasks that can be run.
//!
//! Input: the worker's configuration, a connected client, a way to find connectors. Output: a started connector and its
//! [`TaskRunner`]s.

use std::sync::Arc;

use sealwax::Client;
use tokio::sync::watch;

use super::FindSource;
use super::check::{CheckedConnector, CommonSetup, check};
use super::offset_store::TopicOffsets;
use crate::api::{ConnectError, Settings, SourceConnector};
use crate::config::{ConnectorConfig, InvalidConfig, WorkerConfig};
use crate::task::{AlwaysOwner, Stop, TaskId, TaskRunner, TaskSetup, TaskState, converters};

/// What all connectors of a process share.
#[derive(Clone)]
pub(super) struct Launcher {
    pub(super) config: WorkerConfig,
    pub(super) client: Client,
    pub(super) find: Arc<FindSource>,
}

/// A connector that was started.
pub(super) struct StartedConnector {
    config: ConnectorConfig,
    connector: Arc<dyn SourceConnector>,
    common: CommonSetup,
}

impl Launcher {
    /// Checks a connector's configuration; every problem at once. Starts nothing.
    pub(super) fn check(&self, config: ConnectorConfig) -> Result<CheckedConnector, InvalidConfig> {
        check(&self.config, self.find.as_ref(), config)
    }

    /// Starts a connector.
    pub(super) async fn start(&self, checked: CheckedConnector) -> Result<StartedConnector, ConnectError> {
        let CheckedConnector {
            config,
            mut connector,
            common,
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
            common,
        })
    }

    /// The tasks of a started connector, ready to run. Fails if the connector cannot split its work, or wants more tasks
    /// than `tasks.max`.
    pub(super) fn tasks(
        &self,
        started: &StartedConnector,
        stop: &Stop,
    ) -> Result<Vec<TaskRunner>, ConnectError> {
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
        let converters = converters(&started.config, &self.config).map_err(|errors| {
            let texts: Vec<_> = errors.iter().map(ToString::to_string).collect();
            ConnectError::config(texts.join("; "))
        })?;
        let maker = started.connector.clone();
        let common = started.common.clone();
        let store = TopicOffsets::new(
            self.client.clone(),
            started.config.name.clone(),
            common.offsets_topic,
            common.consumer,
        );
        let setup = TaskSetup {
            id: TaskId {
                connector: started.config.name.clone(),
                task,
            },
            transactional_id: started.config.transactional_id(&self.config, task),
            settings,
            boundary: common.boundary,
            producer: common.producer,
        };
        Ok(TaskRunner {
            client: self.client.clone(),
            setup,
            ownership: Arc::new(AlwaysOwner),
            store: Arc::new(store),
            converters,
            new_task: Box::new(move || maker.task()),
            stop,
            status: watch::Sender::new(TaskState::Unassigned),
        })
    }
}

impl StartedConnector {
    /// Ends the connector, after its tasks are gone.
    pub(super) async fn stop(mut self) {
        match Arc::get_mut(&mut self.connector) {
            Some(connector) => connector.stop().await,
            None => tracing::warn!(
                connector = self.config.name,
                "connector dropped without a stop: it still has tasks"
            ),
        }
    }
}
