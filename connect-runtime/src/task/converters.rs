//! The converters of a task, from the connector's configuration or else the worker's.

use crate::api::ConfigError;
use crate::config::{ConnectorConfig, WorkerConfig};
use crate::convert::{ConverterUse, Converters, converter};

/// The converters of a connector's tasks; new ones with each call.
///
/// # Errors
/// Every class that is not known and every setting that is not allowed.
pub fn converters(config: &ConnectorConfig, worker: &WorkerConfig) -> Result<Converters, Vec<ConfigError>> {
    let make = |usage: ConverterUse| {
        let (class, settings) = config.converter(usage.key(), worker);
        converter(usage, &class, &settings)
    };
    match (
        make(ConverterUse::Key),
        make(ConverterUse::Value),
        make(ConverterUse::Header),
    ) {
        (Ok(key), Ok(value), Ok(header)) => Ok(Converters { key, value, header }),
        (key, value, header) => Err([key.err(), value.err(), header.err()]
            .into_iter()
            .flatten()
            .collect()),
    }
}
