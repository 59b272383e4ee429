//! Configuration files: reading them, and the typed settings of the worker, of a connector, and of the clients.
//!
//! Input: paths, or settings as text. Output: checked structs, or every problem at once with key, value and what is
//! allowed. Values of secret keys are never printed.

mod client;
mod connector;
mod file;
mod properties;
mod worker;

use std::fmt;

use crate::api::ConfigError;

pub use client::{client_config, consumer_config, producer_config};
pub use connector::{BoundaryKind, ConnectorConfig, ExactlyOnceRequest};
pub use file::{read_connector_file, read_worker_file};
pub use properties::{PropertiesError, parse_properties};
pub use worker::WorkerConfig;

/// What is wrong with a configuration: where it came from, and every problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidConfig {
    /// The file, or the connector's name.
    pub origin: String,
    /// The problems, at least one.
    pub errors: Vec<ConfigError>,
}

impl InvalidConfig {
    /// Problems of a configuration.
    pub fn new(origin: impl Into<String>, errors: Vec<ConfigError>) -> Self {
        Self {
            origin: origin.into(),
            errors,
        }
    }
}

impl fmt::Display for InvalidConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the configuration of {} is not valid:", self.origin)?;
        self.errors.iter().try_for_each(|error| write!(f, "\n  {error}"))
    }
}

impl std::error::Error for InvalidConfig {}
