//! The check of a connector's whole configuration, before anything is started. Pure but for the connector's own check.
//!
//! Input: the worker's and the connector's configuration, the plugins. Output: the connector and how its tasks are to be
//! run, or every problem at once.

use sealwax::config::ProducerConfig;

use crate::api::{BoundarySupport, ConfigError, ExactlyOnceSupport, Settings, SourceConnector};
use crate::config::{
    BoundaryKind, ConnectorConfig, ExactlyOnceRequest, InvalidConfig, WorkerConfig, consumer_config,
    producer_config,
};
use crate::convert::{ConverterUse, Converters, converter};
use crate::plugin::Plugins;
use crate::store::CompactedTopic;
use crate::task::{TaskId, TaskSetup};

const BOUNDARY: &str = "transaction.boundary";
const SUPPORT: &str = "exactly.once.support";

/// A connector whose configuration is valid. Nothing is started.
pub struct CheckedConnector {
    pub(super) config: ConnectorConfig,
    pub(super) connector: Box<dyn SourceConnector>,
    /// The setup of its tasks; number, transactional id and settings of each are still to be filled in.
    pub(super) setup: TaskSetup,
    /// What the operator should know.
    pub(super) warnings: Vec<String>,
}

/// Checks class, the connector's own keys, exactly-once support, converters, offsets topic and clients.
pub(super) fn check(
    worker: &WorkerConfig,
    plugins: &Plugins,
    config: ConnectorConfig,
) -> Result<CheckedConnector, InvalidConfig> {
    let origin = format!("connector {}", config.name);
    let connector = plugins
        .source(&config.class)
        .map_err(|error| InvalidConfig::new(&origin, vec![error]))?;
    let mut errors = connector.validate(config.settings());
    errors.extend(check_exactly_once(&config, worker, connector.as_ref()));
    errors.extend(converters(&config, worker).err().unwrap_or_default());
    let setup = match setup(&config, worker) {
        Ok(setup) if errors.is_empty() => setup,
        Ok(_) => return Err(InvalidConfig::new(origin, errors)),
        Err(more) => {
            errors.extend(more);
            return Err(InvalidConfig::new(origin, errors));
        }
    };
    let mut warnings = config.warnings(&connector.config_def(), worker);
    warnings.extend(warn_of_support(&config, connector.as_ref()));
    let (setup, warning) = with_bounded_interval(setup);
    warnings.extend(warning);
    Ok(CheckedConnector {
        config,
        connector,
        setup,
        warnings,
    })
}

/// KIP-618's preflight: what the connector says about itself, on the keys that ask for it.
fn check_exactly_once(
    config: &ConnectorConfig,
    worker: &WorkerConfig,
    connector: &dyn SourceConnector,
) -> Vec<ConfigError> {
    let mut errors = Vec::new();
    let settings = config.settings();
    if config.exactly_once == ExactlyOnceRequest::Required {
        let why = match connector.exactly_once_support(settings) {
            ExactlyOnceSupport::Supported => None,
            ExactlyOnceSupport::Unsupported => {
                Some("The connector is not exactly-once with this configuration")
            }
            ExactlyOnceSupport::Unknown => Some(
                "The connector does not say whether it is exactly-once; see its documentation, and set requested to \
                 run it without this check",
            ),
        };
        errors.extend(why.map(|why| ConfigError::invalid(SUPPORT, "required", why)));
    }
    if config.boundary(worker) == BoundaryKind::Connector {
        let why = match connector.can_define_transaction_boundaries(settings) {
            BoundarySupport::Supported => None,
            BoundarySupport::Unsupported => Some(
                "The connector does not define transaction boundaries with this configuration; use poll or interval",
            ),
            BoundarySupport::Unknown => Some(
                "The connector does not say whether it defines transaction boundaries, so it is taken not to; use poll \
                 or interval",
            ),
        };
        errors.extend(why.map(|why| ConfigError::invalid(BOUNDARY, "connector", why)));
    }
    errors
}

fn warn_of_support(config: &ConnectorConfig, connector: &dyn SourceConnector) -> Option<String> {
    let support = connector.exactly_once_support(config.settings());
    (support != ExactlyOnceSupport::Supported).then(|| {
        format!(
            "connector {} does not assert that it is exactly-once: records and offsets are written in transactions, but \
             whether the source replays identically is not known",
            config.name
        )
    })
}

/// The converters of a task.
pub(super) fn converters(
    config: &ConnectorConfig,
    worker: &WorkerConfig,
) -> Result<Converters, Vec<ConfigError>> {
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

fn setup(config: &ConnectorConfig, worker: &WorkerConfig) -> Result<TaskSetup, Vec<ConfigError>> {
    let producer = producer_config(&config.producer_settings(worker));
    let consumer = consumer_config(&config.consumer_settings(worker));
    match (config.offsets_topic(worker), producer, consumer) {
        (Ok(name), Ok(producer), Ok(consumer)) => Ok(TaskSetup {
            id: TaskId {
                connector: config.name.clone(),
                task: 0,
            },
            transactional_id: String::new(),
            offsets_topic: CompactedTopic {
                name,
                partitions: worker.offset_storage_partitions,
                replication_factor: worker.offset_storage_replication_factor,
            },
            settings: Settings::new(),
            boundary: config.boundary(worker),
            producer,
            consumer,
        }),
        (topic, producer, consumer) => {
            let mut errors: Vec<_> = topic.err().into_iter().collect();
            errors.extend(producer.err().unwrap_or_default());
            errors.extend(consumer.err().unwrap_or_default());
            Err(errors)
        }
    }
}

/// A transaction that is open for longer than `transaction.timeout.ms` is aborted by its coordinator, so the interval is
/// held at half of that. Java's defaults make both 60 s, which fails there.
fn with_bounded_interval(mut setup: TaskSetup) -> (TaskSetup, Option<String>) {
    let ProducerConfig {
        transaction_timeout, ..
    } = setup.producer;
    let most = transaction_timeout / 2;
    match setup.boundary {
        BoundaryKind::Interval(interval) if interval > most => {
            setup.boundary = BoundaryKind::Interval(most);
            let warning = format!(
                "{BOUNDARY}.interval.ms={} of connector {} is held at {} ms, half of transaction.timeout.ms={}: an older \
                 transaction would be aborted by the broker",
                interval.as_millis(),
                setup.id.connector,
                most.as_millis(),
                transaction_timeout.as_millis()
            );
            (setup, Some(warning))
        }
        BoundaryKind::Poll | BoundaryKind::Interval(_) | BoundaryKind::Connector => (setup, None),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn checked(worker: &[(&str, &str)], connector: &[(&str, &str)]) -> Result<CheckedConnector, String> {
        let worker = WorkerConfig::from_settings(worker.iter().copied().collect()).unwrap();
        let base: Settings = [
            ("name", "c"),
            ("connector.class", "FileStreamSource"),
            ("file", "f"),
            ("topic", "t"),
        ]
        .into_iter()
        .collect();
        let config =
            ConnectorConfig::from_settings(base.overlaid(&connector.iter().copied().collect())).unwrap();
        check(&worker, &Plugins::built_in(), config).map_err(|invalid| invalid.to_string())
    }

    fn refused(connector: &[(&str, &str)]) -> String {
        checked(&[], connector).err().unwrap()
    }

    #[test]
    fn a_valid_file_source_is_accepted_without_warnings() {
        let checked = checked(&[("group.id", "g")], &[("exactly.once.support", "required")])
            .ok()
            .unwrap();
        assert_eq!(checked.warnings, Vec::<String>::new());
        assert_eq!(checked.setup.offsets_topic.name, "g-c-offsets");
        assert_eq!(checked.setup.offsets_topic.partitions, 1);
    }

    #[test]
    fn every_problem_is_told_at_once() {
        let text = refused(&[
            ("topic", ""),
            ("transaction.boundary", "connector"),
            ("value.converter", "AvroConverter"),
            ("offsets.storage.topic", "a/b"),
        ]);
        for part in [
            "connector c",
            "configuration topic: String must be non-empty",
            "transaction.boundary: The connector does not define transaction boundaries",
            "Invalid value AvroConverter for configuration value.converter",
            "Invalid value a/b for configuration offsets.storage.topic",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn required_support_is_asked_of_the_connector() {
        let text = refused(&[("file", ""), ("exactly.once.support", "required")]);
        assert!(
            text.contains("exactly.once.support: The connector is not exactly-once"),
            "{text}"
        );
    }

    #[test]
    fn an_unknown_class_is_named() {
        assert!(refused(&[("connector.class", "io.debezium.X")]).contains("io.debezium.X"));
    }

    #[test]
    fn an_interval_longer_than_half_the_transaction_timeout_is_held() {
        let interval = [
            ("transaction.boundary", "interval"),
            ("producer.override.transaction.timeout.ms", "10000"),
        ];
        let checked = checked(&[], &interval).ok().unwrap();
        assert_eq!(
            checked.setup.boundary,
            BoundaryKind::Interval(Duration::from_secs(5))
        );
        assert!(
            checked.warnings[0].contains("=60000 of connector c is held at 5000 ms"),
            "{:?}",
            checked.warnings
        );
    }
}
