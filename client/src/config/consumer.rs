//! Settings of a consumer.
//!
//! In: fields, or properties with Kafka's dotted keys. Out: settings that were checked, or an error that names the key, the value and
//! what is allowed.

use std::ops::RangeInclusive;
use std::time::Duration;

use sealwax_protocol::fetch::IsolationLevel;

use super::value::{MILLIS, invalid, millis, number, numbers};
use crate::error::Result;

const ISOLATION_LEVEL: &str = "isolation.level";
const FETCH_MIN_BYTES: &str = "fetch.min.bytes";
const FETCH_MAX_BYTES: &str = "fetch.max.bytes";
const MAX_PARTITION_FETCH_BYTES: &str = "max.partition.fetch.bytes";
const FETCH_MAX_WAIT_MS: &str = "fetch.max.wait.ms";

/// What Kafka allows for all numbers of bytes here.
const SIZE: RangeInclusive<u64> = 0..=i32::MAX as u64;

/// Room that a Fetch answer needs beside its records.
const ANSWER_OVERHEAD: usize = 512;

/// Settings of a consumer.
///
/// The broker's bounds are soft: the first batch of an answer comes whole, however large it is (KIP-74). The hard bound of one answer
/// is [`crate::config::ClientConfig::receive_message_max_bytes`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConsumerConfig {
    /// `isolation.level`. Default read_committed: who uses this client wants to see what was committed.
    pub isolation_level: IsolationLevel,
    /// `fetch.min.bytes`, from 0. Default 1.
    pub fetch_min_bytes: i32,
    /// `fetch.max.bytes`: soft bound of one answer, from 0. Default 50 MiB.
    pub fetch_max_bytes: i32,
    /// `max.partition.fetch.bytes`: soft bound of one partition in one answer, from 0. Default 1 MiB.
    pub max_partition_fetch_bytes: i32,
    /// `fetch.max.wait.ms`: how long the broker may wait for `fetch_min_bytes`, up to [`i32::MAX`] ms. Default 500 ms.
    pub fetch_max_wait: Duration,
}

impl Default for ConsumerConfig {
    fn default() -> Self {
        Self {
            isolation_level: IsolationLevel::ReadCommitted,
            fetch_min_bytes: 1,
            fetch_max_bytes: 50 * 1024 * 1024,
            max_partition_fetch_bytes: 1024 * 1024,
            fetch_max_wait: Duration::from_millis(500),
        }
    }
}

impl ConsumerConfig {
    /// Reads Java's property keys. What has no meaning for a consumer is given back beside the settings, so that the caller can pass
    /// it on or warn about it.
    ///
    /// ```
    /// use sealwax::config::ConsumerConfig;
    /// let (config, unknown) = ConsumerConfig::from_properties([("fetch.min.bytes", "1024"), ("group.id", "g")])?;
    /// assert_eq!(config.fetch_min_bytes, 1024);
    /// assert_eq!(unknown, [("group.id", "g")]);
    /// # Ok::<(), sealwax::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a value is of the wrong type or out of range: the error names key, value and what is allowed.
    pub fn from_properties<'a>(
        properties: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(Self, Vec<(&'a str, &'a str)>)> {
        let mut config = Self::default();
        let mut unknown = Vec::new();
        for (key, value) in properties {
            match key {
                ISOLATION_LEVEL => config.isolation_level = parse_isolation_level(value)?,
                FETCH_MIN_BYTES => config.fetch_min_bytes = number(key, value, &SIZE)?,
                FETCH_MAX_BYTES => config.fetch_max_bytes = number(key, value, &SIZE)?,
                MAX_PARTITION_FETCH_BYTES => config.max_partition_fetch_bytes = number(key, value, &SIZE)?,
                FETCH_MAX_WAIT_MS => config.fetch_max_wait = millis(key, value, &MILLIS)?,
                _ => unknown.push((key, value)),
            }
        }
        Ok((config, unknown))
    }

    /// Whether every setting is in range, and one answer fits into the largest frame that the client takes.
    #[cfg_attr(
        not(feature = "runtime"),
        allow(
            dead_code,
            reason = "only a consumer, which needs the runtime, is built from settings"
        )
    )]
    pub(crate) fn validate(&self, receive_message_max_bytes: usize) -> Result<()> {
        for (key, value) in [
            (FETCH_MIN_BYTES, self.fetch_min_bytes),
            (FETCH_MAX_BYTES, self.fetch_max_bytes),
            (MAX_PARTITION_FETCH_BYTES, self.max_partition_fetch_bytes),
        ] {
            if value < 0 {
                return Err(invalid(key, &value.to_string(), &numbers(&SIZE)));
            }
        }
        let wait = self.fetch_max_wait.as_millis();
        if i32::try_from(wait).is_err() {
            return Err(invalid(FETCH_MAX_WAIT_MS, &wait.to_string(), &numbers(&SIZE)));
        }
        let fits = usize::try_from(self.fetch_max_bytes)
            .ok()
            .and_then(|bytes| bytes.checked_add(ANSWER_OVERHEAD))
            .is_some_and(|bytes| bytes <= receive_message_max_bytes);
        if fits {
            return Ok(());
        }
        let allowed = format!(
            "at most receive_message_max_bytes ({receive_message_max_bytes}) less {ANSWER_OVERHEAD}, \
             because a whole answer must fit into one frame"
        );
        Err(invalid(
            FETCH_MAX_BYTES,
            &self.fetch_max_bytes.to_string(),
            &allowed,
        ))
    }
}

fn parse_isolation_level(value: &str) -> Result<IsolationLevel> {
    match value.trim() {
        "read_committed" => Ok(IsolationLevel::ReadCommitted),
        "read_uncommitted" => Ok(IsolationLevel::ReadUncommitted),
        _ => Err(invalid(
            ISOLATION_LEVEL,
            value,
            "read_committed or read_uncommitted",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn all_keys_are_read_and_the_rest_is_given_back() {
        let (config, unknown) = ConsumerConfig::from_properties([
            ("isolation.level", "read_uncommitted"),
            ("fetch.min.bytes", "2"),
            ("fetch.max.bytes", " 3 "),
            ("max.partition.fetch.bytes", "4"),
            ("fetch.max.wait.ms", "5"),
            ("group.id", "g"),
        ])
        .unwrap();
        let expected = ConsumerConfig {
            isolation_level: IsolationLevel::ReadUncommitted,
            fetch_min_bytes: 2,
            fetch_max_bytes: 3,
            max_partition_fetch_bytes: 4,
            fetch_max_wait: Duration::from_millis(5),
        };
        assert_eq!(config, expected);
        assert_eq!(unknown, [("group.id", "g")]);
    }

    #[test]
    fn a_wrong_value_is_an_error_that_names_key_value_and_what_is_allowed() {
        for (key, value, allowed) in [
            (
                "isolation.level",
                "serializable",
                "read_committed or read_uncommitted",
            ),
            ("fetch.min.bytes", "many", "a whole number from 0 to 2147483647"),
            ("fetch.max.bytes", "-1", "a whole number from 0 to 2147483647"),
            ("max.partition.fetch.bytes", "2147483648", "from 0 to 2147483647"),
            ("fetch.max.wait.ms", "0.5", "a whole number"),
        ] {
            let error = ConsumerConfig::from_properties([(key, value)]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config);
            let text = error.to_string();
            for part in [key, value, allowed] {
                assert!(text.contains(part), "{text:?} lacks {part:?}");
            }
        }
    }

    #[test]
    fn settings_are_checked_when_the_consumer_is_built() {
        let frame = 100 * 1024 * 1024;
        let good = ConsumerConfig::default();
        assert!(good.validate(frame).is_ok());
        let broken = [
            ConsumerConfig {
                fetch_min_bytes: -1,
                ..good.clone()
            },
            ConsumerConfig {
                fetch_max_bytes: -1,
                ..good.clone()
            },
            ConsumerConfig {
                fetch_max_bytes: i32::MAX,
                ..good.clone()
            },
            ConsumerConfig {
                max_partition_fetch_bytes: -1,
                ..good.clone()
            },
            ConsumerConfig {
                fetch_max_wait: Duration::MAX,
                ..good.clone()
            },
        ];
        for config in broken {
            let error = config.validate(frame).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config, "{config:?}");
        }
    }
}
