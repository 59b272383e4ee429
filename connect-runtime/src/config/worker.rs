//! The worker's configuration: Java's keys, with what is different here said at each.

use std::time::Duration;

use super::client::{
    client_config, client_definition, consumer_config, consumer_definition, producer_config,
    producer_definition,
};
use crate::api::{ConfigDef, ConfigError, ConfigKey, ConfigType, Settings, Validator};

const PRODUCER: &str = "producer.";
const CONSUMER: &str = "consumer.";

/// Java's converter in its sample files. Java has no default and refuses to start.
const JSON_CONVERTER: &str = "org.apache.kafka.connect.json.JsonConverter";
const SIMPLE_HEADER_CONVERTER: &str = "org.apache.kafka.connect.storage.SimpleHeaderConverter";

/// Keys whose settings belong to others: passed on, checked there.
const PREFIXES: [&str; 10] = [
    "key.converter.",
    "value.converter.",
    "header.converter.",
    "admin.",
    "config.storage.",
    "status.storage.",
    "offset.storage.",
    "topic.creation.",
    "metrics.",
    "listeners.https.",
];

/// Keys of a Java worker that are accepted and have no effect in this process.
const WITHOUT_EFFECT: [&str; 20] = [
    "plugin.path",
    "plugin.discovery",
    "listeners",
    "admin.listeners",
    "rest.advertised.host.name",
    "rest.advertised.port",
    "rest.advertised.listener",
    "rest.extension.classes",
    "access.control.allow.origin",
    "access.control.allow.methods",
    "response.http.headers.config",
    "offset.flush.timeout.ms",
    "task.shutdown.graceful.timeout.ms",
    "connector.client.config.override.policy",
    "config.storage.topic",
    "status.storage.topic",
    "exactly.once.source.support",
    "connect.protocol",
    "topic.tracking.enable",
    "topic.tracking.allow.reset",
];

/// The checked configuration of the worker.
#[derive(Debug, Clone)]
pub struct WorkerConfig {
    /// `group.id`, the prefix of transactional ids and of derived offsets topics. Java's standalone worker has none.
    pub group_id: Option<String>,
    /// `offset.flush.interval.ms`: the default interval of `transaction.boundary=interval`. Default 60 s.
    pub offset_flush_interval: Duration,
    /// `offset.storage.partitions`: partitions of an offsets topic that is created here. Default 1: it belongs to one
    /// connector and holds one record per source partition, and the whole of it is read at each start (Java's 25 is
    /// for the one topic of all connectors).
    pub offset_storage_partitions: i32,
    /// `offset.storage.replication.factor` of an offsets topic that is created here; none takes the broker's default
    /// (Java's default of 3 cannot be had on a small cluster). −1 means the same.
    pub offset_storage_replication_factor: Option<i16>,
    settings: Settings,
}

fn definition() -> ConfigDef {
    ConfigDef::new()
        .key(
            ConfigKey::optional(
                "group.id",
                ConfigType::String,
                "Prefix of transactional ids and offsets topics.",
            )
            .allowing(Validator::NonEmpty),
        )
        .key(
            ConfigKey::optional(
                "offset.flush.interval.ms",
                ConfigType::Long,
                "Default of transaction.boundary.interval.ms.",
            )
            .default("60000")
            .allowing(Validator::AtLeast(0)),
        )
        .key(
            ConfigKey::optional(
                "offset.storage.partitions",
                ConfigType::Int,
                "Partitions of a new offsets topic.",
            )
            .default("1")
            .allowing(Validator::AtLeast(1)),
        )
        .key(
            ConfigKey::optional(
                "offset.storage.replication.factor",
                ConfigType::Int,
                "Replicas of a new offsets topic; -1 takes the broker's default.",
            )
            .default("-1")
            .allowing(Validator::Between(-1, 32767)),
        )
        .key(ConfigKey::optional(
            "offset.storage.topic",
            ConfigType::String,
            "Has no effect: each connector has its own offsets topic.",
        ))
        .key(ConfigKey::optional(
            "offset.storage.file.filename",
            ConfigType::String,
            "Has no effect: offsets are kept in Kafka.",
        ))
        .key(
            ConfigKey::optional("key.converter", ConfigType::Class, "Converter of keys.")
                .default(JSON_CONVERTER),
        )
        .key(
            ConfigKey::optional("value.converter", ConfigType::Class, "Converter of values.")
                .default(JSON_CONVERTER),
        )
        .key(
            ConfigKey::optional("header.converter", ConfigType::Class, "Converter of headers.")
                .default(SIMPLE_HEADER_CONVERTER),
        )
}

impl WorkerConfig {
    /// Checks the worker's settings, including those of its clients.
    ///
    /// # Errors
    /// Every key whose value is missing or not allowed.
    pub fn from_settings(settings: Settings) -> Result<Self, Vec<ConfigError>> {
        let producer = producer_config(&settings.below(PRODUCER))
            .err()
            .unwrap_or_default();
        let mut errors: Vec<_> = producer.into_iter().map(|error| error.under(PRODUCER)).collect();
        let consumer = consumer_config(&settings.below(CONSUMER))
            .err()
            .unwrap_or_default();
        errors.extend(consumer.into_iter().map(|error| error.under(CONSUMER)));
        errors.extend(client_config(&settings).err().unwrap_or_default());
        let parsed = match definition().parse(&settings) {
            Ok(parsed) if errors.is_empty() => parsed,
            Ok(_) => return Err(errors),
            Err(more) => {
                errors.extend(more);
                return Err(errors);
            }
        };
        let integer = |key| parsed.integer(key).unwrap_or_default();
        let factor = i16::try_from(integer("offset.storage.replication.factor"))
            .ok()
            .filter(|factor| *factor > 0);
        Ok(Self {
            group_id: parsed.text("group.id").map(ToOwned::to_owned),
            offset_flush_interval: Duration::from_millis(integer("offset.flush.interval.ms").unsigned_abs()),
            offset_storage_partitions: i32::try_from(integer("offset.storage.partitions")).unwrap_or(1),
            offset_storage_replication_factor: factor,
            settings,
        })
    }

    /// All settings as text.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The class of a converter that the worker sets for all connectors.
    pub fn converter_class(&self, key: &str) -> String {
        let default = if key == "header.converter" {
            SIMPLE_HEADER_CONVERTER
        } else {
            JSON_CONVERTER
        };
        self.settings.value(key).map_or(default, str::trim).to_owned()
    }

    /// What the operator should know: keys that nobody understands, and keys that have no effect here.
    pub fn warnings(&self) -> Vec<String> {
        let unknown = self
            .settings
            .iter()
            .map(|(key, _)| key)
            .filter(|key| !is_known(key));
        let mut warnings: Vec<String> = unknown
            .map(|key| format!("unknown key {key} in the worker's configuration: it has no effect"))
            .collect();
        if self.settings.value("offset.storage.file.filename").is_some() {
            warnings.push(
                "offset.storage.file.filename has no effect: offsets are kept in Kafka, in the connector's offsets topic; \
                 positions in a file of Java's standalone worker are not taken over"
                    .into(),
            );
        }
        warnings
    }
}

fn is_known(key: &str) -> bool {
    let common =
        || client_definition().defines(key) || definition().defines(key) || WITHOUT_EFFECT.contains(&key);
    match (key.strip_prefix(PRODUCER), key.strip_prefix(CONSUMER)) {
        (Some(rest), _) => producer_definition().defines(rest),
        (_, Some(rest)) => consumer_definition().defines(rest),
        (None, None) => PREFIXES.iter().any(|prefix| key.starts_with(prefix)) || common(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(entries: &[(&str, &str)]) -> Result<WorkerConfig, Vec<String>> {
        let parsed = WorkerConfig::from_settings(entries.iter().copied().collect());
        parsed.map_err(|errors| errors.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn defaults() {
        let config = worker(&[("bootstrap.servers", "a:9092")]).unwrap();
        assert_eq!(config.group_id, None);
        assert_eq!(config.offset_flush_interval, Duration::from_secs(60));
        assert_eq!(config.offset_storage_partitions, 1);
        assert_eq!(config.offset_storage_replication_factor, None);
        assert_eq!(config.converter_class("value.converter"), JSON_CONVERTER);
        assert_eq!(config.warnings(), Vec::<String>::new());
    }

    #[test]
    fn all_problems_are_told_at_once_with_the_keys_as_written() {
        let errors = worker(&[
            ("offset.flush.interval.ms", "soon"),
            ("producer.linger.ms", "-1"),
            ("offset.storage.partitions", "0"),
        ])
        .unwrap_err();
        assert_eq!(
            errors,
            [
                "Invalid value -1 for configuration producer.linger.ms: Value must be at least 0",
                "Invalid value soon for configuration offset.flush.interval.ms: Not a number of type LONG \
                 (-9223372036854775808 to 9223372036854775807)",
                "Invalid value 0 for configuration offset.storage.partitions: Value must be at least 1",
            ]
        );
    }

    #[test]
    fn unknown_keys_are_warned_about_once_by_name() {
        let config = worker(&[
            ("bootstrap.servers", "a:9092"),
            ("bootstrap.server", "a:9092"),
            ("plugin.path", "/x"),
            ("producer.linger.millis", "1"),
            ("producer.linger.ms", "1"),
            ("value.converter.schemas.enable", "false"),
            ("offset.storage.file.filename", "/x"),
        ])
        .unwrap();
        let warnings = config.warnings();
        assert_eq!(warnings.len(), 3, "{warnings:?}");
        assert!(warnings[0].contains("unknown key bootstrap.server "));
        assert!(warnings[1].contains("unknown key producer.linger.millis "));
        assert!(warnings[2].contains("offsets are kept in Kafka"));
    }
}
