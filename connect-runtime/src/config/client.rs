//! The settings of the Kafka clients that the runtime uses, from Java's keys.
//!
//! Input: settings without prefix. Output: the client's own configuration structs. A key that asks for something that
//! is not built yet is an error that says so; a key that exactly-once fixes is overridden (see `warnings_of_producer`).

use std::time::Duration;

use sealwax::config::{ClientConfig, ConsumerConfig, ProducerConfig};

use crate::api::{ConfigDef, ConfigError, ConfigKey, ConfigType, ParsedConfig, Settings, Validator};

type Errors = Vec<ConfigError>;

fn key(name: &'static str, kind: ConfigType, validator: Validator) -> ConfigKey {
    ConfigKey::optional(name, kind, "As in Kafka.").allowing(validator)
}

pub(super) fn client_definition() -> ConfigDef {
    let millis = |name| key(name, ConfigType::Long, Validator::AtLeast(0));
    ConfigDef::new()
        .key(key("bootstrap.servers", ConfigType::List, Validator::NonEmpty).default("localhost:9092"))
        .key(key("client.id", ConfigType::String, Validator::Any))
        .key(
            key(
                "security.protocol",
                ConfigType::String,
                Validator::OneOf(&["PLAINTEXT"]),
            )
            .default("PLAINTEXT"),
        )
        .key(millis("request.timeout.ms"))
        .key(millis("default.api.timeout.ms"))
        .key(millis("socket.connection.setup.timeout.ms"))
        .key(millis("reconnect.backoff.ms"))
        .key(millis("reconnect.backoff.max.ms"))
        .key(millis("retry.backoff.ms"))
        .key(millis("retry.backoff.max.ms"))
        .key(millis("metadata.max.age.ms"))
}

pub(super) fn producer_definition() -> ConfigDef {
    // The client takes no more than 32 bits, but for memory.
    let most = i64::from(i32::MAX);
    let millis = |name| key(name, ConfigType::Long, Validator::Between(0, most));
    let bytes = |name, least| key(name, ConfigType::Long, Validator::Between(least, most));
    ConfigDef::new()
        .key(bytes("batch.size", 1))
        .key(millis("linger.ms"))
        .key(key("buffer.memory", ConfigType::Long, Validator::AtLeast(1)))
        .key(millis("max.block.ms"))
        .key(bytes("max.request.size", 1))
        .key(key(
            "max.in.flight.requests.per.connection",
            ConfigType::Int,
            Validator::Between(1, 5),
        ))
        .key(millis("delivery.timeout.ms"))
        .key(key(
            "transaction.timeout.ms",
            ConfigType::Int,
            Validator::AtLeast(1),
        ))
        .key(key("acks", ConfigType::String, Validator::OneOf(&["all", "-1"])))
        .key(key("enable.idempotence", ConfigType::Boolean, Validator::Any))
        .key(key("transactional.id", ConfigType::String, Validator::Any))
        .key(key(
            "compression.type",
            ConfigType::String,
            Validator::OneOf(&["none"]),
        ))
}

pub(super) fn consumer_definition() -> ConfigDef {
    let bytes = |name| key(name, ConfigType::Int, Validator::AtLeast(1));
    ConfigDef::new()
        .key(bytes("fetch.min.bytes"))
        .key(bytes("fetch.max.bytes"))
        .key(bytes("max.partition.fetch.bytes"))
        .key(key("fetch.max.wait.ms", ConfigType::Int, Validator::AtLeast(0)))
        .key(key(
            "isolation.level",
            ConfigType::String,
            Validator::OneOf(&["read_committed", "read_uncommitted"]),
        ))
}

/// The connection settings, from the worker's unprefixed keys.
///
/// # Errors
/// Every key whose value is not allowed.
pub fn client_config(settings: &Settings) -> Result<ClientConfig, Errors> {
    let parsed = client_definition().parse(settings)?;
    let mut config = ClientConfig::default();
    config.bootstrap_servers = parsed.list("bootstrap.servers").unwrap_or_default().to_vec();
    if let Some(client_id) = parsed.text("client.id").filter(|id| !id.is_empty()) {
        config.client_id = client_id.to_owned();
    }
    millis(&parsed, "request.timeout.ms", &mut config.request_timeout);
    millis(&parsed, "default.api.timeout.ms", &mut config.default_api_timeout);
    millis(
        &parsed,
        "socket.connection.setup.timeout.ms",
        &mut config.socket_connection_setup_timeout,
    );
    millis(&parsed, "reconnect.backoff.ms", &mut config.reconnect_backoff);
    millis(
        &parsed,
        "reconnect.backoff.max.ms",
        &mut config.reconnect_backoff_max,
    );
    millis(&parsed, "retry.backoff.ms", &mut config.retry_backoff);
    millis(&parsed, "retry.backoff.max.ms", &mut config.retry_backoff_max);
    millis(&parsed, "metadata.max.age.ms", &mut config.metadata_max_age);
    Ok(config)
}

/// The settings of a task's producer: `producer.*` of the worker with `producer.override.*` of the connector over it,
/// both without prefix.
///
/// # Errors
/// Every key whose value is not allowed.
pub fn producer_config(settings: &Settings) -> Result<ProducerConfig, Errors> {
    let parsed = producer_definition().parse(settings)?;
    let mut config = ProducerConfig::default();
    size(&parsed, "batch.size", &mut config.batch_size);
    millis(&parsed, "linger.ms", &mut config.linger);
    size(&parsed, "buffer.memory", &mut config.buffer_memory);
    millis(&parsed, "max.block.ms", &mut config.max_block);
    size(&parsed, "max.request.size", &mut config.max_request_size);
    size(
        &parsed,
        "max.in.flight.requests.per.connection",
        &mut config.max_in_flight,
    );
    millis(&parsed, "delivery.timeout.ms", &mut config.delivery_timeout);
    millis(&parsed, "transaction.timeout.ms", &mut config.transaction_timeout);
    Ok(config)
}

/// What exactly-once overrides in a producer's settings, to be told to the operator.
pub(super) fn warnings_of_producer(settings: &Settings) -> Vec<String> {
    let mut warnings = Vec::new();
    if settings
        .value("enable.idempotence")
        .is_some_and(|value| !value.trim().eq_ignore_ascii_case("true"))
    {
        warnings.push(
            "enable.idempotence of a producer is overridden with true: the source is exactly once".to_owned(),
        );
    }
    if settings.value("transactional.id").is_some() {
        warnings.push(
            "transactional.id of a producer is overridden: fencing needs the id of the task".to_owned(),
        );
    }
    warnings
}

/// The settings of a task's offsets consumer, from `consumer.*` and `consumer.override.*` without prefix. The isolation
/// level is read_committed whatever is set: offsets of aborted transactions must not be seen.
///
/// # Errors
/// Every key whose value is not allowed.
pub fn consumer_config(settings: &Settings) -> Result<ConsumerConfig, Errors> {
    let parsed = consumer_definition().parse(settings)?;
    let mut config = ConsumerConfig::default();
    int(&parsed, "fetch.min.bytes", &mut config.fetch_min_bytes);
    int(&parsed, "fetch.max.bytes", &mut config.fetch_max_bytes);
    int(
        &parsed,
        "max.partition.fetch.bytes",
        &mut config.max_partition_fetch_bytes,
    );
    millis(&parsed, "fetch.max.wait.ms", &mut config.fetch_max_wait);
    Ok(config)
}

fn millis(parsed: &ParsedConfig, key: &str, to: &mut Duration) {
    if let Some(value) = parsed.integer(key) {
        *to = Duration::from_millis(value.unsigned_abs());
    }
}

fn size(parsed: &ParsedConfig, key: &str, to: &mut usize) {
    if let Some(value) = parsed.integer(key) {
        *to = usize::try_from(value).unwrap_or(usize::MAX);
    }
}

fn int(parsed: &ParsedConfig, key: &str, to: &mut i32) {
    if let Some(value) = parsed.integer(key) {
        *to = i32::try_from(value).unwrap_or(i32::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(entries: &[(&str, &str)]) -> Settings {
        entries.iter().copied().collect()
    }

    #[test]
    fn kafkas_keys_reach_the_client() {
        let client = client_config(&settings(&[
            ("bootstrap.servers", "a:9092, b:9093"),
            ("client.id", "me"),
            ("request.timeout.ms", "1500"),
        ]))
        .unwrap();
        assert_eq!(client.bootstrap_servers, ["a:9092", "b:9093"]);
        assert_eq!(client.client_id, "me");
        assert_eq!(client.request_timeout, Duration::from_millis(1500));
        let producer = producer_config(&settings(&[
            ("batch.size", "99"),
            ("transaction.timeout.ms", "7000"),
        ]))
        .unwrap();
        assert_eq!(producer.batch_size, 99);
        assert_eq!(producer.transaction_timeout, Duration::from_secs(7));
        let consumer = consumer_config(&settings(&[("fetch.max.wait.ms", "9")])).unwrap();
        assert_eq!(consumer.fetch_max_wait, Duration::from_millis(9));
    }

    #[test]
    fn what_is_not_built_is_refused_with_what_is_allowed() {
        for (key, value) in [
            ("acks", "1"),
            ("compression.type", "zstd"),
            ("linger.ms", "2147483648"),
            ("batch.size", "2147483648"),
            ("max.in.flight.requests.per.connection", "6"),
        ] {
            let errors = producer_config(&settings(&[(key, value)])).unwrap_err();
            assert!(
                errors[0]
                    .to_string()
                    .starts_with(&format!("Invalid value {value} for configuration {key}: "))
            );
        }
        let errors = client_config(&settings(&[("security.protocol", "SASL_SSL")])).unwrap_err();
        assert!(errors[0].to_string().contains("PLAINTEXT"));
    }

    #[test]
    fn what_exactly_once_overrides_is_told() {
        assert_eq!(
            warnings_of_producer(&settings(&[("enable.idempotence", "true"), ("acks", "all")])),
            Vec::<String>::new()
        );
        assert_eq!(
            warnings_of_producer(&settings(&[
                ("enable.idempotence", "false"),
                ("transactional.id", "x")
            ]))
            .len(),
            2
        );
    }
}
