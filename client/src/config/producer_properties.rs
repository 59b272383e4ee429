//! Java's and librdkafka's dotted keys, read into [`ProducerConfig`]. Pairs of strings in; settings and the keys of others out.

use super::partitioner::{PARTITIONER, PARTITIONER_CLASS, Partitioning};
use super::producer::{
    ACKS, ATTEMPTS, AVAILABILITY_TIMEOUT_MS, Acks, BATCH_SIZE, BUFFER_MEMORY, DELIVERY_TIMEOUT_MS,
    ENABLE_IDEMPOTENCE, EpochBump, IN_FLIGHT, LINGER_MS, MAX_BLOCK_MS, MAX_IN_FLIGHT, MAX_REQUEST_SIZE,
    MEMORY, ProducerConfig, RETRIES, SIZE, TIMEOUT, TRANSACTION_EPOCH_BUMP, TRANSACTION_TIMEOUT_MS,
};
use super::value::{MILLIS, invalid, millis, number};
use crate::error::{Error, ErrorKind, Result};

const COMPRESSION_TYPE: &str = "compression.type";
const ADAPTIVE_PARTITIONING: &str = "partitioner.adaptive.partitioning.enable";
const IGNORE_KEYS: &str = "partitioner.ignore.keys";

impl ProducerConfig {
    /// Reads Java's property keys. What has no meaning for a producer is given back beside the settings, so that the caller can pass
    /// it on or warn about it. `compression.type` is accepted with `none` only.
    ///
    /// As in Java, `acks` other than `all`, and `retries=0`, make the producer a plain one unless `enable.idempotence=true` stands there
    /// too, which is an error then. `partitioner` takes librdkafka's names, `partitioner.class` Java's.
    ///
    /// ```
    /// use sealwax::config::ProducerConfig;
    /// let (config, unknown) = ProducerConfig::from_properties([("linger.ms", "20"), ("acks", "all"), ("x", "y")])?;
    /// assert_eq!(config.linger.as_millis(), 20);
    /// assert_eq!(unknown, [("x", "y")]);
    /// # Ok::<(), sealwax::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a value is of the wrong type or out of range: the error names key, value and what is allowed. If settings contradict each
    /// other: it names both keys. If it asks for compression ([`ErrorKind::NotBuilt`]).
    pub fn from_properties<'a>(
        properties: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(Self, Vec<(&'a str, &'a str)>)> {
        let mut config = Self::default();
        let mut unknown = Vec::new();
        for (key, value) in properties {
            if !config.set_producer(key, value)? && !config.set_partitioner(key, value)? {
                unknown.push((key, value));
            }
        }
        config.validate_idempotence()?;
        Ok((config, unknown))
    }

    /// Whether the key is one of the settings of sending.
    fn set_producer(&mut self, key: &str, value: &str) -> Result<bool> {
        match key {
            BATCH_SIZE => self.batch_size = number(key, value, &SIZE)?,
            LINGER_MS => self.linger = millis(key, value, &MILLIS)?,
            BUFFER_MEMORY => self.buffer_memory = number(key, value, &MEMORY)?,
            MAX_BLOCK_MS => self.max_block = millis(key, value, &MILLIS)?,
            MAX_REQUEST_SIZE => self.max_request_size = number(key, value, &SIZE)?,
            MAX_IN_FLIGHT => self.max_in_flight = number(key, value, &IN_FLIGHT)?,
            DELIVERY_TIMEOUT_MS => self.delivery_timeout = millis(key, value, &MILLIS)?,
            TRANSACTION_TIMEOUT_MS => self.transaction_timeout = millis(key, value, &TIMEOUT)?,
            TRANSACTION_EPOCH_BUMP => self.epoch_bump = epoch_bump(value)?,
            RETRIES => self.retries = number(key, value, &ATTEMPTS)?,
            ACKS => self.acks = acks(value)?,
            ENABLE_IDEMPOTENCE => self.enable_idempotence = Some(boolean(key, value)?),
            COMPRESSION_TYPE => not_compressed(value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Whether the key is one of the settings of the partitioner.
    fn set_partitioner(&mut self, key: &str, value: &str) -> Result<bool> {
        match key {
            PARTITIONER_CLASS => self.partitioning = Partitioning::from_class(value)?,
            PARTITIONER => self.partitioning = Partitioning::from_name(value)?,
            IGNORE_KEYS => self.partitioner_ignore_keys = boolean(key, value)?,
            ADAPTIVE_PARTITIONING => self.partitioner_adaptive_partitioning = boolean(key, value)?,
            AVAILABILITY_TIMEOUT_MS => {
                self.partitioner_availability_timeout = millis(key, value, &MILLIS)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn acks(value: &str) -> Result<Acks> {
    match value.trim() {
        "0" => Ok(Acks::None),
        "1" => Ok(Acks::Leader),
        "all" | "-1" => Ok(Acks::All),
        _ => Err(invalid(ACKS, value, "0, 1, all or -1")),
    }
}

fn epoch_bump(value: &str) -> Result<EpochBump> {
    match value.trim() {
        "needed" => Ok(EpochBump::WhenNeeded),
        "every" => Ok(EpochBump::EveryTransaction),
        _ => Err(invalid(TRANSACTION_EPOCH_BUMP, value, "needed or every")),
    }
}

fn boolean(key: &str, value: &str) -> Result<bool> {
    let word = value.trim();
    if word.eq_ignore_ascii_case("true") {
        Ok(true)
    } else if word.eq_ignore_ascii_case("false") {
        Ok(false)
    } else {
        Err(invalid(key, value, "true or false"))
    }
}

fn not_compressed(value: &str) -> Result<()> {
    match value.trim() {
        "none" => Ok(()),
        "gzip" | "snappy" | "lz4" | "zstd" => {
            let message =
                format!("{COMPRESSION_TYPE} is {value:?}; this client cannot compress yet, use none");
            Err(Error::new(ErrorKind::NotBuilt, message))
        }
        _ => Err(invalid(COMPRESSION_TYPE, value, "none")),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn javas_keys_are_read_and_the_rest_is_given_back() {
        let (config, unknown) = ProducerConfig::from_properties([
            ("batch.size", "65536"),
            ("linger.ms", " 7 "),
            ("buffer.memory", "4294967296"),
            ("max.block.ms", "1000"),
            ("max.request.size", "2000000"),
            ("max.in.flight.requests.per.connection", "3"),
            ("delivery.timeout.ms", "30000"),
            ("transaction.timeout.ms", "10000"),
            ("sealwax.transaction.epoch.bump", "every"),
            ("acks", "-1"),
            ("retries", "8"),
            ("enable.idempotence", "TRUE"),
            ("compression.type", "none"),
            ("partitioner", "consistent_random"),
            ("partitioner.ignore.keys", "true"),
            ("partitioner.adaptive.partitioning.enable", "false"),
            ("partitioner.availability.timeout.ms", "250"),
            ("transactional.id", "t"),
        ])
        .unwrap();
        let expected = ProducerConfig {
            acks: Acks::All,
            enable_idempotence: Some(true),
            retries: 8,
            batch_size: 65_536,
            linger: Duration::from_millis(7),
            buffer_memory: 4_294_967_296,
            max_block: Duration::from_secs(1),
            max_request_size: 2_000_000,
            max_in_flight: 3,
            delivery_timeout: Duration::from_secs(30),
            transaction_timeout: Duration::from_secs(10),
            partitioning: Partitioning::ConsistentRandom,
            partitioner_ignore_keys: true,
            partitioner_adaptive_partitioning: false,
            partitioner_availability_timeout: Duration::from_millis(250),
            epoch_bump: EpochBump::EveryTransaction,
        };
        assert_eq!(config, expected);
        assert_eq!(unknown, [("transactional.id", "t")]);
        config.validate().unwrap();
    }

    #[test]
    fn a_wrong_value_is_named_with_its_key_and_what_is_allowed() {
        for (key, value, allowed) in [
            ("batch.size", "16k", "from 1 to 2147483647"),
            ("batch.size", "0", "from 1 to 2147483647"),
            ("linger.ms", "-1", "from 0 to 2147483647"),
            ("linger.ms", "", "from 0 to 2147483647"),
            (
                "max.in.flight.requests.per.connection",
                "0",
                "from 1 to 2147483647",
            ),
            ("transaction.timeout.ms", "0", "from 1 to 2147483647"),
            ("sealwax.transaction.epoch.bump", "always", "needed or every"),
            ("acks", "2", "0, 1, all or -1"),
            ("retries", "-1", "from 0 to 2147483647"),
            ("enable.idempotence", "yes", "true or false"),
            ("partitioner.ignore.keys", "1", "true or false"),
            ("partitioner", "crc", "consistent_random"),
            ("partitioner.class", "Mine", "RoundRobinPartitioner"),
            ("compression.type", "brotli", "none"),
        ] {
            let error = ProducerConfig::from_properties([(key, value)]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config, "{key}");
            let text = error.to_string();
            for part in [key, value, allowed] {
                assert!(text.contains(part), "{text:?} lacks {part:?}");
            }
        }
    }

    #[test]
    fn idempotence_is_switched_off_by_what_it_cannot_live_with_unless_it_was_asked_for() {
        let read = |properties: &[(&'static str, &'static str)]| {
            ProducerConfig::from_properties(properties.iter().copied()).map(|(config, _)| config)
        };
        assert!(read(&[]).unwrap().is_idempotent());
        for (key, value) in [("acks", "0"), ("acks", "1"), ("retries", "0")] {
            assert!(!read(&[(key, value)]).unwrap().is_idempotent(), "{key}={value}");
            assert!(
                !read(&[("enable.idempotence", "false"), (key, value)])
                    .unwrap()
                    .is_idempotent()
            );
            let error = read(&[("enable.idempotence", "true"), (key, value)]).unwrap_err();
            let text = error.to_string();
            assert!(
                text.contains("enable.idempotence") && text.contains(key),
                "{text}"
            );
        }
        // Too many in flight is an error even if idempotence is only the default (since Java 4.0).
        let many = ("max.in.flight.requests.per.connection", "6");
        let text = read(&[many]).unwrap_err().to_string();
        assert!(
            text.contains("enable.idempotence") && text.contains(many.0),
            "{text}"
        );
        assert_eq!(read(&[many, ("acks", "1")]).unwrap().max_in_flight, 6);
    }

    #[test]
    fn compression_is_said_not_to_be_built() {
        let error = ProducerConfig::from_properties([("compression.type", "lz4")]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotBuilt);
    }
}
