//! The keys that all source connectors share (KIP-618's among them), and the names that are derived from them.

use std::time::Duration;

use super::WorkerConfig;
use super::client::{
    client_definition, consumer_config, consumer_definition, producer_config, producer_definition,
    warnings_of_producer,
};
use crate::api::{ConfigDef, ConfigError, ConfigKey, ConfigType, Settings, Validator};

const PRODUCER_OVERRIDE: &str = "producer.override.";
const CONSUMER_OVERRIDE: &str = "consumer.override.";

/// Settings below these prefixes are checked by those whom they are for.
const PREFIXES: [&str; 6] = [
    "key.converter.",
    "value.converter.",
    "header.converter.",
    "admin.override.",
    "topic.creation.",
    "errors.",
];

/// Longest name of a topic in Kafka.
const MAX_TOPIC_NAME: usize = 249;

/// Which events end a transaction (`transaction.boundary`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundaryKind {
    /// Each batch that a poll returns is a transaction.
    Poll,
    /// A transaction ends when this much time has passed, at the end of a batch or while a poll waits.
    Interval(Duration),
    /// The connector says when.
    Connector,
}

/// What the user wants to be sure of (`exactly.once.support`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExactlyOnceRequest {
    /// Transactions and fencing are used; whether the connector can be exactly-once is not asked.
    Requested,
    /// The connector must say that it can.
    Required,
}

/// The checked configuration of a connector, as far as it is common to all.
#[derive(Debug, Clone)]
pub struct ConnectorConfig {
    /// `name`
    pub name: String,
    /// `connector.class`, as the user wrote it.
    pub class: String,
    /// `tasks.max`
    pub tasks_max: usize,
    /// `exactly.once.support`
    pub exactly_once: ExactlyOnceRequest,
    settings: Settings,
    boundary: Boundary,
    interval: Option<Duration>,
}

#[derive(Debug, Clone, Copy)]
enum Boundary {
    Poll,
    Interval,
    Connector,
}

fn definition() -> ConfigDef {
    ConfigDef::new()
        .key(
            ConfigKey::required("name", ConfigType::String, "Name of the connector.")
                .allowing(Validator::NonEmpty),
        )
        .key(
            ConfigKey::required(
                "connector.class",
                ConfigType::Class,
                "Class or simple name of the connector.",
            )
            .allowing(Validator::NonEmpty),
        )
        .key(
            ConfigKey::optional("tasks.max", ConfigType::Int, "The most tasks.")
                .default("1")
                .allowing(Validator::AtLeast(1)),
        )
        .key(ConfigKey::optional(
            "tasks.max.enforce",
            ConfigType::Boolean,
            "Has no effect: never more tasks than tasks.max.",
        ))
        .key(
            ConfigKey::optional(
                "transaction.boundary",
                ConfigType::String,
                "What ends a transaction.",
            )
            .default("poll")
            .allowing(Validator::OneOf(&["poll", "interval", "connector"])),
        )
        .key(
            ConfigKey::optional(
                "transaction.boundary.interval.ms",
                ConfigType::Long,
                "For transaction.boundary=interval.",
            )
            .allowing(Validator::AtLeast(0)),
        )
        .key(
            ConfigKey::optional(
                "exactly.once.support",
                ConfigType::String,
                "Whether the connector must assert it.",
            )
            .default("requested")
            .allowing(Validator::OneOf(&["requested", "required"])),
        )
        .key(
            ConfigKey::optional(
                "offsets.storage.topic",
                ConfigType::String,
                "The connector's offsets topic.",
            )
            .allowing(Validator::NonEmpty),
        )
        .key(ConfigKey::optional(
            "key.converter",
            ConfigType::Class,
            "Converter of keys.",
        ))
        .key(ConfigKey::optional(
            "value.converter",
            ConfigType::Class,
            "Converter of values.",
        ))
        .key(ConfigKey::optional(
            "header.converter",
            ConfigType::Class,
            "Converter of headers.",
        ))
        .key(ConfigKey::optional(
            "config.action.reload",
            ConfigType::String,
            "Has no effect.",
        ))
}

impl ConnectorConfig {
    /// Checks the keys that all connectors share.
    ///
    /// # Errors
    /// Every key whose value is missing or not allowed, or that asks for something that is not built yet.
    pub fn from_settings(settings: Settings) -> Result<Self, Vec<ConfigError>> {
        let producer = producer_config(&settings.below(PRODUCER_OVERRIDE))
            .err()
            .unwrap_or_default();
        let mut errors: Vec<_> = producer
            .into_iter()
            .map(|error| error.under(PRODUCER_OVERRIDE))
            .collect();
        let consumer = consumer_config(&settings.below(CONSUMER_OVERRIDE))
            .err()
            .unwrap_or_default();
        errors.extend(consumer.into_iter().map(|error| error.under(CONSUMER_OVERRIDE)));
        errors.extend(not_built(&settings));
        errors.extend(settings.value("name").and_then(wrong_name));
        let parsed = match definition().parse(&settings) {
            Ok(parsed) if errors.is_empty() => parsed,
            Ok(_) => return Err(errors),
            Err(more) => {
                errors.extend(more);
                return Err(errors);
            }
        };
        let text = |key| parsed.text(key).unwrap_or_default();
        Ok(Self {
            name: text("name").to_owned(),
            class: text("connector.class").to_owned(),
            tasks_max: parsed
                .integer("tasks.max")
                .and_then(|n| usize::try_from(n).ok())
                .unwrap_or(1),
            exactly_once: if text("exactly.once.support").eq_ignore_ascii_case("required") {
                ExactlyOnceRequest::Required
            } else {
                ExactlyOnceRequest::Requested
            },
            boundary: match text("transaction.boundary").to_ascii_lowercase().as_str() {
                "interval" => Boundary::Interval,
                "connector" => Boundary::Connector,
                _ => Boundary::Poll,
            },
            interval: parsed
                .integer("transaction.boundary.interval.ms")
                .map(|millis| Duration::from_millis(millis.unsigned_abs())),
            settings,
        })
    }

    /// All settings as text.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What ends a transaction; the interval is `offset.flush.interval.ms` of the worker unless set.
    pub fn boundary(&self, worker: &WorkerConfig) -> BoundaryKind {
        match self.boundary {
            Boundary::Poll => BoundaryKind::Poll,
            Boundary::Interval => {
                BoundaryKind::Interval(self.interval.unwrap_or(worker.offset_flush_interval))
            }
            Boundary::Connector => BoundaryKind::Connector,
        }
    }

    /// The transactional id of a task: `<group.id>-<connector>-<task>` as in Java's distributed worker, or
    /// `sealwax-<connector>-<task>` when the worker has no `group.id`.
    pub fn transactional_id(&self, worker: &WorkerConfig, task: usize) -> String {
        let group = worker.group_id.as_deref().unwrap_or("sealwax");
        format!("{group}-{}-{task}", self.name)
    }

    /// The connector's offsets topic: `offsets.storage.topic`, else `<group.id>-<connector>-offsets`, or
    /// `<connector>-offsets` when the worker has no `group.id`.
    ///
    /// # Errors
    /// The name derived from the connector's name is not a valid topic name.
    pub fn offsets_topic(&self, worker: &WorkerConfig) -> Result<String, ConfigError> {
        let given = self.settings.value("offsets.storage.topic").map(str::trim);
        let topic = match (given, &worker.group_id) {
            (Some(topic), _) => topic.to_owned(),
            (None, Some(group)) => format!("{group}-{}-offsets", self.name),
            (None, None) => format!("{}-offsets", self.name),
        };
        if is_topic_name(&topic) {
            return Ok(topic);
        }
        let why = "a topic's name has 1 to 249 of the characters a-z, A-Z, 0-9, '.', '_' and '-'";
        match given {
            Some(given) => Err(ConfigError::invalid("offsets.storage.topic", given, why)),
            None => Err(ConfigError::new(
                "offsets.storage.topic",
                format!(
                    "the offsets topic cannot be named after the connector ({topic}): {why}; set offsets.storage.topic"
                ),
            )),
        }
    }

    /// The settings of a task's producer, connector over worker, without prefix.
    pub fn producer_settings(&self, worker: &WorkerConfig) -> Settings {
        worker
            .settings()
            .below("producer.")
            .overlaid(&self.settings.below(PRODUCER_OVERRIDE))
    }

    /// The settings of a task's offsets consumer, connector over worker, without prefix.
    pub fn consumer_settings(&self, worker: &WorkerConfig) -> Settings {
        worker
            .settings()
            .below("consumer.")
            .overlaid(&self.settings.below(CONSUMER_OVERRIDE))
    }

    /// Class and settings of a converter. A class of the connector brings its own settings; those of the worker are
    /// not inherited.
    pub fn converter(&self, key: &str, worker: &WorkerConfig) -> (String, Settings) {
        let prefix = format!("{key}.");
        match self.settings.value(key) {
            Some(class) => (class.trim().to_owned(), self.settings.below(&prefix)),
            None => (worker.converter_class(key), worker.settings().below(&prefix)),
        }
    }

    /// What the operator should know: keys that neither the runtime nor the connector understands, and producer
    /// settings that are overridden.
    pub fn warnings(&self, connector: &ConfigDef, worker: &WorkerConfig) -> Vec<String> {
        let unknown = self
            .settings
            .iter()
            .map(|(key, _)| key)
            .filter(|key| !is_known(key) && !connector.defines(key));
        let mut warnings: Vec<String> = unknown
            .map(|key| {
                format!(
                    "unknown key {key} in the configuration of connector {}: it has no effect",
                    self.name
                )
            })
            .collect();
        warnings.extend(warnings_of_producer(&self.producer_settings(worker)));
        warnings
    }
}

fn is_known(key: &str) -> bool {
    match (
        key.strip_prefix(PRODUCER_OVERRIDE),
        key.strip_prefix(CONSUMER_OVERRIDE),
    ) {
        (Some(rest), _) => producer_definition().defines(rest),
        (_, Some(rest)) => consumer_definition().defines(rest),
        (None, None) => definition().defines(key) || PREFIXES.iter().any(|prefix| key.starts_with(prefix)),
    }
}

/// Keys that would change what is written, or where, and are not built yet. To pass over them silently would be wrong.
fn not_built(settings: &Settings) -> Vec<ConfigError> {
    let wanted = |key: &str, value: &str| match key {
        "transforms" | "predicates" => !value.trim().is_empty(),
        "errors.tolerance" => !value.trim().eq_ignore_ascii_case("none"),
        _ => {
            let over = [PRODUCER_OVERRIDE, CONSUMER_OVERRIDE, "admin.override."];
            over.iter().any(|prefix| {
                key.strip_prefix(prefix)
                    .is_some_and(|rest| client_definition().defines(rest))
            })
        }
    };
    settings
        .iter()
        .filter(|(key, value)| wanted(key, value))
        .map(|(key, value)| {
            ConfigError::invalid(key, value, "Not built yet in this version; take the key out")
        })
        .collect()
}

fn wrong_name(name: &str) -> Option<ConfigError> {
    let wrong = name.chars().any(char::is_control);
    wrong.then(|| ConfigError::new("name", "the connector's name holds control characters"))
}

fn is_topic_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    (1..=MAX_TOPIC_NAME).contains(&name.len()) && name != "." && name != ".." && name.chars().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(entries: &[(&str, &str)]) -> WorkerConfig {
        WorkerConfig::from_settings(entries.iter().copied().collect()).unwrap()
    }

    fn connector(entries: &[(&str, &str)]) -> Result<ConnectorConfig, Vec<String>> {
        let base: Settings = [("name", "file-src"), ("connector.class", "FileStreamSource")]
            .into_iter()
            .collect();
        let settings = base.overlaid(&entries.iter().copied().collect());
        let parsed = ConnectorConfig::from_settings(settings);
        parsed.map_err(|errors| errors.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn names_are_derived_with_and_without_a_group() {
        let config = connector(&[]).unwrap();
        let grouped = worker(&[("group.id", "connect-cluster")]);
        assert_eq!(config.transactional_id(&grouped, 0), "connect-cluster-file-src-0");
        assert_eq!(
            config.offsets_topic(&grouped).unwrap(),
            "connect-cluster-file-src-offsets"
        );
        let alone = worker(&[]);
        assert_eq!(config.transactional_id(&alone, 3), "sealwax-file-src-3");
        assert_eq!(config.offsets_topic(&alone).unwrap(), "file-src-offsets");
        let named = connector(&[("offsets.storage.topic", " mine ")]).unwrap();
        assert_eq!(named.offsets_topic(&grouped).unwrap(), "mine");
    }

    #[test]
    fn a_name_that_is_no_topic_name_needs_a_topic() {
        let config = connector(&[("name", "rest2-a/b")]).unwrap();
        let error = config.offsets_topic(&worker(&[])).unwrap_err().to_string();
        assert!(
            error.contains("rest2-a/b-offsets") && error.contains("set offsets.storage.topic"),
            "{error}"
        );
        assert!(
            connector(&[("offsets.storage.topic", "a b")])
                .unwrap()
                .offsets_topic(&worker(&[]))
                .is_err()
        );
        assert!(connector(&[("name", "a\u{7}")]).is_err());
    }

    #[test]
    fn boundaries_in_any_case_and_the_workers_interval() {
        let worker = worker(&[("offset.flush.interval.ms", "500")]);
        let boundary = |entries: &[(&str, &str)]| connector(entries).unwrap().boundary(&worker);
        assert_eq!(boundary(&[]), BoundaryKind::Poll);
        assert_eq!(
            boundary(&[("transaction.boundary", "Connector")]),
            BoundaryKind::Connector
        );
        let interval = [("transaction.boundary", "INTERVAL")];
        assert_eq!(
            boundary(&interval),
            BoundaryKind::Interval(Duration::from_millis(500))
        );
        let interval = [
            ("transaction.boundary", "interval"),
            ("transaction.boundary.interval.ms", "7"),
        ];
        assert_eq!(
            boundary(&interval),
            BoundaryKind::Interval(Duration::from_millis(7))
        );
    }

    #[test]
    fn wrong_values_name_key_value_and_what_is_allowed() {
        let errors = connector(&[
            ("tasks.max", "0"),
            ("transaction.boundary", "batch"),
            ("producer.override.acks", "1"),
            ("transforms", "a"),
        ])
        .unwrap_err();
        assert_eq!(
            errors,
            [
                "Invalid value 1 for configuration producer.override.acks: String must be one of (case insensitive): all, -1",
                "Invalid value a for configuration transforms: Not built yet in this version; take the key out",
                "Invalid value 0 for configuration tasks.max: Value must be at least 1",
                "Invalid value batch for configuration transaction.boundary: String must be one of (case insensitive): \
                 poll, interval, connector",
            ]
        );
    }

    #[test]
    fn the_connectors_producer_settings_win_over_the_workers() {
        let worker = worker(&[("producer.linger.ms", "1"), ("producer.batch.size", "2")]);
        let config = connector(&[("producer.override.linger.ms", "9")]).unwrap();
        let settings = config.producer_settings(&worker);
        assert_eq!(
            settings.iter().collect::<Vec<_>>(),
            [("batch.size", "2"), ("linger.ms", "9")]
        );
    }

    #[test]
    fn a_converter_of_the_connector_does_not_inherit_settings() {
        let worker = worker(&[("value.converter", "A"), ("value.converter.x", "1")]);
        let (class, settings) = connector(&[]).unwrap().converter("value.converter", &worker);
        assert_eq!((class.as_str(), settings.value("x")), ("A", Some("1")));
        let (class, settings) = connector(&[("value.converter", "B")])
            .unwrap()
            .converter("value.converter", &worker);
        assert_eq!((class.as_str(), settings.value("x")), ("B", None));
    }

    #[test]
    fn unknown_keys_are_named() {
        let known = ConfigDef::new().key(ConfigKey::optional("file", ConfigType::String, ""));
        let config = connector(&[
            ("file", "f"),
            ("flie", "f"),
            ("producer.override.linger.millis", "1"),
        ])
        .unwrap();
        let warnings = config.warnings(&known, &worker(&[]));
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(
            warnings[0].contains("unknown key flie ")
                && warnings[1].contains("producer.override.linger.millis")
        );
    }
}
