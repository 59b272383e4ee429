//! The check of a connector's whole configuration, before anything is started. Pure but for the connector's own check.
//!
//! Input: the worker's and the connector's configuration, the plugins. Output: the connector and how its tasks are to be
//! run, or every problem at once.

use sealwax::config::{ConsumerConfig, ProducerConfig};

use super::FindSource;
use crate::api::{BoundarySupport, ConfigError, ExactlyOnceSupport, SourceConnector};
use crate::config::{
    BoundaryKind, ConnectorConfig, ExactlyOnceRequest, InvalidConfig, WorkerConfig, consumer_config,
    producer_config,
};
use crate::store::CompactedTopic;
use crate::task::converters;

const BOUNDARY: &str = "transaction.boundary";
const SUPPORT: &str = "exactly.once.support";

/// A connector whose configuration is valid. Nothing is started.
pub(super) struct CheckedConnector {
    pub(super) config: ConnectorConfig,
    pub(super) connector: Box<dyn SourceConnector>,
    pub(super) common: CommonSetup,
    /// What the operator should know.
    pub(super) warnings: Vec<String>,
}

/// What all tasks of a connector have in common.
#[derive(Debug, Clone)]
pub(super) struct CommonSetup {
    pub(super) offsets_topic: CompactedTopic,
    /// Settings of the consumer that reads the offsets.
    pub(super) consumer: ConsumerConfig,
    pub(super) producer: ProducerConfig,
    pub(super) boundary: BoundaryKind,
}

/// Checks class, the connector's own keys, exactly-once support, converters, offsets topic and clients.
pub(super) fn check(
    worker: &WorkerConfig,
    find: &FindSource,
    config: ConnectorConfig,
) -> Result<CheckedConnector, InvalidConfig> {
    let origin = format!("connector {}", config.name);
    let connector = find(&config.class).map_err(|error| InvalidConfig::new(&origin, vec![error]))?;
    let mut errors = connector.validate(config.settings());
    errors.extend(check_exactly_once(&config, worker, connector.as_ref()));
    errors.extend(converters(&config, worker).err().unwrap_or_default());
    let mut common = match common_setup(&config, worker) {
        Ok(common) if errors.is_empty() => common,
        Ok(_) => return Err(InvalidConfig::new(origin, errors)),
        Err(more) => {
            errors.extend(more);
            return Err(InvalidConfig::new(origin, errors));
        }
    };
    let mut warnings = config.warnings(&connector.config_def(), worker);
    warnings.extend(warn_of_support(&config, connector.as_ref()));
    warnings.extend(bound_interval(&config.name, &mut common));
    Ok(CheckedConnector {
        config,
        connector,
        common,
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

fn common_setup(config: &ConnectorConfig, worker: &WorkerConfig) -> Result<CommonSetup, Vec<ConfigError>> {
    let producer = producer_config(&config.producer_settings(worker));
    let consumer = consumer_config(&config.consumer_settings(worker));
    match (config.offsets_topic(worker), producer, consumer) {
        (Ok(name), Ok(producer), Ok(consumer)) => Ok(CommonSetup {
            offsets_topic: CompactedTopic {
                name,
                partitions: worker.offset_storage_partitions,
                replication_factor: worker.offset_storage_replication_factor,
            },
            consumer,
            producer,
            boundary: config.boundary(worker),
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
fn bound_interval(connector: &str, common: &mut CommonSetup) -> Option<String> {
    let timeout = common.producer.transaction_timeout;
    let most = timeout / 2;
    match common.boundary {
        BoundaryKind::Interval(interval) if interval > most => {
            common.boundary = BoundaryKind::Interval(most);
            Some(format!(
                "{BOUNDARY}.interval.ms={} of connector {connector} is held at {} ms, half of transaction.timeout.ms={}: \
                 an older transaction would be aborted by the broker",
                interval.as_millis(),
                most.as_millis(),
                timeout.as_millis()
            ))
        }
        BoundaryKind::Poll | BoundaryKind::Interval(_) | BoundaryKind::Connector => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use async_trait::async_trait;

    use super::*;
    use crate::api::{ConfigDef, ConfigKey, ConfigType, ConnectError, Settings, SourceTask, Validator};

    /// A connector with two keys, exactly-once if it has a file.
    struct Fake;

    #[async_trait]
    impl SourceConnector for Fake {
        fn version(&self) -> &'static str {
            "1"
        }

        fn config_def(&self) -> ConfigDef {
            let key = |name| ConfigKey::required(name, ConfigType::String, "");
            ConfigDef::new()
                .key(key("file"))
                .key(key("topic").allowing(Validator::NonEmpty))
        }

        async fn start(&mut self, _settings: &Settings) -> Result<(), ConnectError> {
            Ok(())
        }

        fn task(&self) -> Box<dyn SourceTask> {
            unreachable!("a check starts nothing")
        }

        fn task_configs(&self, _max: usize) -> Result<Vec<Settings>, ConnectError> {
            Ok(Vec::new())
        }

        fn exactly_once_support(&self, settings: &Settings) -> ExactlyOnceSupport {
            match settings.value("file") {
                Some("") => ExactlyOnceSupport::Unsupported,
                Some(_) => ExactlyOnceSupport::Supported,
                None => ExactlyOnceSupport::Unknown,
            }
        }
    }

    fn find(class: &str) -> Result<Box<dyn SourceConnector>, ConfigError> {
        match class {
            "Fake" => Ok(Box::new(Fake)),
            other => Err(ConfigError::invalid("connector.class", other, "unknown")),
        }
    }

    fn checked(worker: &[(&str, &str)], connector: &[(&str, &str)]) -> Result<CheckedConnector, String> {
        let worker = WorkerConfig::from_settings(worker.iter().copied().collect()).unwrap();
        let base: Settings = [
            ("name", "c"),
            ("connector.class", "Fake"),
            ("file", "f"),
            ("topic", "t"),
        ]
        .into_iter()
        .collect();
        let config =
            ConnectorConfig::from_settings(base.overlaid(&connector.iter().copied().collect())).unwrap();
        check(&worker, &find, config).map_err(|invalid| invalid.to_string())
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
        assert_eq!(checked.common.offsets_topic.name, "g-c-offsets");
        assert_eq!(checked.common.offsets_topic.partitions, 1);
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
            checked.common.boundary,
            BoundaryKind::Interval(Duration::from_secs(5))
        );
        assert!(
            checked.warnings[0].contains("=60000 of connector c is held at 5000 ms"),
            "{:?}",
            checked.warnings
        );
    }
}
