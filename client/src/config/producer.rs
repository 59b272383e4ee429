//! Settings of a producer.
//!
//! In: fields, or properties with Kafka's dotted keys. Out: settings that were checked, or an error that names the key, the value and
//! what is allowed.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::value::{MILLIS, invalid, millis, number, numbers};
use crate::error::{Error, ErrorKind, Result};

const BATCH_SIZE: &str = "batch.size";
const LINGER_MS: &str = "linger.ms";
const BUFFER_MEMORY: &str = "buffer.memory";
const MAX_BLOCK_MS: &str = "max.block.ms";
const MAX_REQUEST_SIZE: &str = "max.request.size";
const MAX_IN_FLIGHT: &str = "max.in.flight.requests.per.connection";
const DELIVERY_TIMEOUT_MS: &str = "delivery.timeout.ms";
const TRANSACTION_TIMEOUT_MS: &str = "transaction.timeout.ms";
const TRANSACTION_EPOCH_BUMP: &str = "sealwax.transaction.epoch.bump";
const ACKS: &str = "acks";
const ENABLE_IDEMPOTENCE: &str = "enable.idempotence";
const COMPRESSION_TYPE: &str = "compression.type";

/// What Kafka allows for sizes that it sends as a signed 32-bit number.
const SIZE: RangeInclusive<u64> = 1..=i32::MAX as u64;
/// A budget may be larger than what one message can say.
const MEMORY: RangeInclusive<u64> = 1..=i64::MAX as u64;
/// The transaction's timeout in milliseconds.
const TIMEOUT: RangeInclusive<u64> = 1..=i32::MAX as u64;
/// A broker recognises repeats of its last five batches.
const IN_FLIGHT: RangeInclusive<u64> = 1..=5;

/// When a transaction gets an epoch of its own on a cluster that speaks the older transaction protocol (`transaction.version` below 2:
/// every Kafka before 4.0). Under the newer one each transaction has its own anyway (KIP-890).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EpochBump {
    /// `needed`: after a transaction of which a request may still be on its way (KAFKA-17754). It costs nothing where nothing went wrong.
    #[default]
    WhenNeeded,
    /// `every`: after every transaction of which the coordinator knows, by one more request (InitProducerId). Then nothing that is
    /// delayed on its way, by whatever stands between client and broker, can touch a later transaction.
    EveryTransaction,
}

/// Settings of a producer. Both kinds are idempotent with `acks=all`; there is nothing to set for that.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProducerConfig {
    /// `batch.size`: a batch is sent when it holds this many bytes; from 1 to 2 GiB. Default 16 KiB.
    pub batch_size: usize,
    /// `linger.ms`: how long an open batch waits for more records. Default 5 ms.
    pub linger: Duration,
    /// `buffer.memory`: bytes of unsent and unacknowledged batches; above it `send` waits. Default 32 MiB.
    pub buffer_memory: usize,
    /// `max.block.ms`: how long `send` waits for buffer room or a topic's metadata, `begin` for the end of the transaction before, and
    /// `commit` (then at least `request.timeout.ms`) for the coordinator once everything is delivered. Default 60 s.
    pub max_block: Duration,
    /// `max.request.size`: largest record, in bytes as encoded, and largest request; from 1 to 2 GiB. Default 1 MiB.
    pub max_request_size: usize,
    /// `max.in.flight.requests.per.connection`, 1 to 5. Default 5.
    pub max_in_flight: usize,
    /// `delivery.timeout.ms`: how long a record may take from `send` to its result. A request that is on the wire then is awaited, for
    /// at most `request.timeout.ms` more. Default 120 s.
    pub delivery_timeout: Duration,
    /// `transaction.timeout.ms`: after how long the coordinator aborts an open transaction. Default 60 s. Transactional only.
    pub transaction_timeout: Duration,
    /// `sealwax.transaction.epoch.bump` (no key of Kafka's), `needed` or `every`. Default `needed`. Transactional only.
    pub epoch_bump: EpochBump,
}

impl Default for ProducerConfig {
    fn default() -> Self {
        Self {
            batch_size: 16 * 1024,
            linger: Duration::from_millis(5),
            buffer_memory: 32 * 1024 * 1024,
            max_block: Duration::from_secs(60),
            max_request_size: 1024 * 1024,
            max_in_flight: 5,
            delivery_timeout: Duration::from_secs(120),
            transaction_timeout: Duration::from_secs(60),
            epoch_bump: EpochBump::WhenNeeded,
        }
    }
}

impl ProducerConfig {
    /// Reads Java's property keys. What has no meaning for a producer is given back beside the settings, so that the caller can pass
    /// it on or warn about it. `acks`, `enable.idempotence` and `compression.type` are accepted with the one value that is so anyway.
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
    /// If a value is of the wrong type or out of range: the error names key, value and what is allowed. If it asks for compression
    /// ([`ErrorKind::NotBuilt`]).
    pub fn from_properties<'a>(
        properties: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(Self, Vec<(&'a str, &'a str)>)> {
        let mut config = Self::default();
        let mut unknown = Vec::new();
        for (key, value) in properties {
            match key {
                BATCH_SIZE => config.batch_size = number(key, value, &SIZE)?,
                LINGER_MS => config.linger = millis(key, value, &MILLIS)?,
                BUFFER_MEMORY => config.buffer_memory = number(key, value, &MEMORY)?,
                MAX_BLOCK_MS => config.max_block = millis(key, value, &MILLIS)?,
                MAX_REQUEST_SIZE => config.max_request_size = number(key, value, &SIZE)?,
                MAX_IN_FLIGHT => config.max_in_flight = number(key, value, &IN_FLIGHT)?,
                DELIVERY_TIMEOUT_MS => config.delivery_timeout = millis(key, value, &MILLIS)?,
                TRANSACTION_TIMEOUT_MS => config.transaction_timeout = millis(key, value, &TIMEOUT)?,
                TRANSACTION_EPOCH_BUMP => config.epoch_bump = epoch_bump(value)?,
                ACKS => only(key, value, &["all", "-1"])?,
                ENABLE_IDEMPOTENCE => only(key, value, &["true"])?,
                COMPRESSION_TYPE => not_compressed(value)?,
                _ => unknown.push((key, value)),
            }
        }
        Ok((config, unknown))
    }

    /// Whether every setting is in range and they go together.
    #[cfg_attr(
        not(feature = "runtime"),
        allow(
            dead_code,
            reason = "only a producer, which needs the runtime, is built from settings"
        )
    )]
    pub(crate) fn validate(&self) -> Result<()> {
        for (key, value, range) in [
            (BATCH_SIZE, self.batch_size, &SIZE),
            (BUFFER_MEMORY, self.buffer_memory, &MEMORY),
            (MAX_REQUEST_SIZE, self.max_request_size, &SIZE),
            (MAX_IN_FLIGHT, self.max_in_flight, &IN_FLIGHT),
        ] {
            if !u64::try_from(value).is_ok_and(|value| range.contains(&value)) {
                return Err(invalid(key, &value.to_string(), &numbers(range)));
            }
        }
        for (key, value, range) in [
            (LINGER_MS, self.linger, &MILLIS),
            (MAX_BLOCK_MS, self.max_block, &MILLIS),
            (DELIVERY_TIMEOUT_MS, self.delivery_timeout, &MILLIS),
            (TRANSACTION_TIMEOUT_MS, self.transaction_timeout, &TIMEOUT),
        ] {
            if !u64::try_from(value.as_millis()).is_ok_and(|value| range.contains(&value)) {
                return Err(invalid(key, &value.as_millis().to_string(), &numbers(range)));
            }
        }
        if self.delivery_timeout < self.linger {
            let allowed = format!("at least {LINGER_MS} ({})", self.linger.as_millis());
            let value = self.delivery_timeout.as_millis().to_string();
            return Err(invalid(DELIVERY_TIMEOUT_MS, &value, &allowed));
        }
        Ok(())
    }
}

fn epoch_bump(value: &str) -> Result<EpochBump> {
    match value.trim() {
        "needed" => Ok(EpochBump::WhenNeeded),
        "every" => Ok(EpochBump::EveryTransaction),
        _ => Err(invalid(TRANSACTION_EPOCH_BUMP, value, "needed or every")),
    }
}

fn only(key: &str, value: &str, allowed: &[&str]) -> Result<()> {
    if allowed.contains(&value.trim()) {
        return Ok(());
    }
    let allowed = format!("{}, because every producer is idempotent", allowed.join(" or "));
    Err(invalid(key, value, &allowed))
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
            ("enable.idempotence", "true"),
            ("compression.type", "none"),
            ("transactional.id", "t"),
        ])
        .unwrap();
        let expected = ProducerConfig {
            batch_size: 65_536,
            linger: Duration::from_millis(7),
            buffer_memory: 4_294_967_296,
            max_block: Duration::from_secs(1),
            max_request_size: 2_000_000,
            max_in_flight: 3,
            delivery_timeout: Duration::from_secs(30),
            transaction_timeout: Duration::from_secs(10),
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
            ("max.in.flight.requests.per.connection", "6", "from 1 to 5"),
            ("transaction.timeout.ms", "0", "from 1 to 2147483647"),
            ("sealwax.transaction.epoch.bump", "always", "needed or every"),
            ("acks", "1", "all or -1"),
            ("enable.idempotence", "false", "true"),
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
    fn compression_is_said_not_to_be_built() {
        let error = ProducerConfig::from_properties([("compression.type", "lz4")]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotBuilt);
    }

    #[test]
    fn settings_made_by_hand_are_checked_too() {
        let wrong = [
            ProducerConfig {
                max_in_flight: 6,
                ..ProducerConfig::default()
            },
            ProducerConfig {
                batch_size: 0,
                ..ProducerConfig::default()
            },
            ProducerConfig {
                delivery_timeout: Duration::from_millis(1),
                ..ProducerConfig::default()
            },
            ProducerConfig {
                transaction_timeout: Duration::ZERO,
                ..ProducerConfig::default()
            },
        ];
        for config in wrong {
            assert_eq!(config.validate().unwrap_err().kind(), ErrorKind::Config);
        }
        ProducerConfig::default().validate().unwrap();
    }
}
