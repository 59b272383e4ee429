//! A source connector: it checks its configuration and splits the work into tasks.

use async_trait::async_trait;

use super::{ConfigDef, ConfigError, ConnectError, Settings, SourceTask};

/// Whether a connector can be exactly-once with a configuration (KIP-618).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExactlyOnceSupport {
    /// Its offsets name a place from which the source replays identically.
    Supported,
    /// Not with this configuration.
    Unsupported,
    /// The connector does not say (Java: the method returns null).
    Unknown,
}

/// Whether a connector can define its own transaction boundaries with a configuration (KIP-618).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundarySupport {
    /// It uses the [`TransactionContext`](super::TransactionContext).
    Supported,
    /// It does not.
    Unsupported,
    /// The connector does not say; treated as unsupported.
    Unknown,
}

/// A source connector. One instance per configured connector; it creates the tasks but moves no data itself.
#[async_trait]
pub trait SourceConnector: Send + Sync {
    /// Version of the connector, for logs and status.
    fn version(&self) -> &'static str;

    /// The keys that it understands.
    fn config_def(&self) -> ConfigDef;

    /// Checks a configuration: types and ranges by [`config_def`](Self::config_def), then what only the connector
    /// knows. An empty list means valid.
    fn validate(&self, settings: &Settings) -> Vec<ConfigError> {
        self.config_def().parse(settings).err().unwrap_or_default()
    }

    /// Starts the connector with a configuration that passed [`validate`](Self::validate).
    ///
    /// # Errors
    /// The connector cannot work with this configuration.
    ///
    /// # Cancel safety
    /// A connector whose start was cancelled is dropped without `stop`.
    async fn start(&mut self, settings: &Settings) -> Result<(), ConnectError>;

    /// A new, idle task of this connector.
    fn task(&self) -> Box<dyn SourceTask>;

    /// The configurations of the tasks, at least none and at most `max` (`tasks.max`).
    ///
    /// # Errors
    /// The work cannot be split.
    fn task_configs(&self, max: usize) -> Result<Vec<Settings>, ConnectError>;

    /// Ends the connector. Called after its tasks have ended.
    ///
    /// # Cancel safety
    /// May be cancelled when the process has to exit.
    async fn stop(&mut self) {}

    /// Whether it can be exactly-once with these settings.
    fn exactly_once_support(&self, settings: &Settings) -> ExactlyOnceSupport {
        let _ = settings;
        ExactlyOnceSupport::Unknown
    }

    /// Whether it can define transaction boundaries with these settings.
    fn can_define_transaction_boundaries(&self, settings: &Settings) -> BoundarySupport {
        let _ = settings;
        BoundarySupport::Unsupported
    }
}
