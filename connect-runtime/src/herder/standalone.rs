//! The standalone herder: runs each connector on its own, so that one that fails leaves the others alone.
//!
//! Input: the worker's configuration and client, connector configurations, the request to stop. Output: how each connector ended.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use sealwax::Client;
use tokio::task::JoinSet;

use super::FindSource;
use super::check::CheckedConnector;
use super::launch::Launcher;
use crate::api::ConfigError;
use crate::config::{ConnectorConfig, InvalidConfig, WorkerConfig};
use crate::task::{Stop, TaskState};

/// How long tasks may take to finish their transactions after a stop. Then they are dropped, which aborts what is open;
/// together with what the process does around it this stays below five seconds.
const GRACE: Duration = Duration::from_secs(4);

/// How a connector ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectorEnd {
    /// As asked.
    Stopped,
    /// It did not start, or all of its tasks failed.
    Failed {
        /// Why, for each task.
        reasons: Vec<String>,
    },
    /// Its configuration is not valid; nothing was started.
    Invalid(InvalidConfig),
}

/// Runs the connectors of one process.
pub struct StandaloneHerder {
    launcher: Launcher,
    stop: Stop,
}

impl StandaloneHerder {
    /// A herder that runs until `stop`, with a connected client and a way to find connectors.
    pub fn new(config: WorkerConfig, client: Client, find: Arc<FindSource>, stop: Stop) -> Self {
        Self {
            launcher: Launcher { config, client, find },
            stop,
        }
    }

    /// Runs the connectors until a stop, or until none of them runs any more. Returns how each ended, in no order;
    /// a connector that had to be dropped after a stop counts as stopped.
    ///
    /// # Cancel safety
    /// Dropping the future drops all tasks; open transactions are aborted.
    pub async fn run(mut self, connectors: Vec<ConnectorConfig>) -> Vec<ConnectorEnd> {
        let mut names = HashSet::new();
        let mut running = JoinSet::new();
        let mut ends = Vec::new();
        for config in connectors {
            match self.check(&mut names, config) {
                Ok(checked) => {
                    drop(running.spawn(run_connector(self.launcher.clone(), checked, self.stop.clone())))
                }
                Err(invalid) => {
                    tracing::error!("connector FAILED: {invalid}");
                    ends.push(ConnectorEnd::Invalid(invalid));
                }
            }
        }
        while !running.is_empty() && !self.stop.is_requested() {
            tokio::select! {
                Some(ended) = running.join_next() => ends.push(end_of(ended)),
                () = self.stop.requested() => {}
            }
        }
        self.finish(running, &mut ends).await;
        ends
    }

    fn check(
        &self,
        names: &mut HashSet<String>,
        config: ConnectorConfig,
    ) -> Result<CheckedConnector, InvalidConfig> {
        if !names.insert(config.name.clone()) {
            let error = ConfigError::invalid(
                "name",
                &config.name,
                "Another connector of this worker has this name",
            );
            return Err(InvalidConfig::new(
                format!("connector {}", config.name),
                vec![error],
            ));
        }
        self.launcher.check(config)
    }

    /// Waits for what still runs after a stop, and drops what takes too long.
    async fn finish(&self, mut running: JoinSet<ConnectorEnd>, ends: &mut Vec<ConnectorEnd>) {
        let orderly = async {
            while let Some(ended) = running.join_next().await {
                ends.push(end_of(ended));
            }
        };
        if tokio::time::timeout(GRACE, orderly).await.is_err() {
            tracing::warn!(
                "{} connectors did not stop within {GRACE:?} and are dropped; their open transactions are aborted, and \
                 the next start goes on at the committed offsets",
                running.len()
            );
            ends.extend((0..running.len()).map(|_| ConnectorEnd::Stopped));
            running.shutdown().await;
        }
    }
}

/// A panic of a connector ends this connector only.
fn end_of(ended: Result<ConnectorEnd, tokio::task::JoinError>) -> ConnectorEnd {
    ended.unwrap_or_else(|error| {
        tracing::error!("connector FAILED: {error}");
        ConnectorEnd::Failed {
            reasons: vec![error.to_string()],
        }
    })
}

async fn run_connector(launcher: Launcher, checked: CheckedConnector, stop: Stop) -> ConnectorEnd {
    let failed = |reason: String| {
        tracing::error!("connector FAILED: {reason}");
        ConnectorEnd::Failed {
            reasons: vec![reason],
        }
    };
    let started = match launcher.start(checked).await {
        Ok(started) => started,
        Err(error) => return failed(error.to_string()),
    };
    let runners = match launcher.tasks(&started, &stop) {
        Ok(runners) => runners,
        Err(error) => return failed(error.to_string()),
    };
    let mut tasks: JoinSet<TaskState> = runners.into_iter().map(|runner| runner.run()).collect();
    let mut reasons = Vec::new();
    let mut stopped = tasks.is_empty();
    while let Some(ended) = tasks.join_next().await {
        match ended {
            Ok(TaskState::Failed { reason }) => reasons.push(reason),
            Ok(
                TaskState::Stopped
                | TaskState::Unassigned
                | TaskState::Running
                | TaskState::Restarting { .. },
            ) => {
                stopped = true;
            }
            Err(error) => {
                tracing::error!("task FAILED: {error}");
                reasons.push(error.to_string());
            }
        }
    }
    started.stop().await;
    if stopped {
        ConnectorEnd::Stopped
    } else {
        ConnectorEnd::Failed { reasons }
    }
}
