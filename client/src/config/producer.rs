//! Settings of a producer, and whether they go together.
//!
//! In: fields. Out: settings that were checked, or an error that names the key, the value and what is allowed. Kafka's dotted keys are
//! read in `producer_properties`.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::partitioner::Partitioning;
use super::value::{MILLIS, invalid, numbers};
use crate::error::{Error, ErrorKind, Result};

pub(super) const BATCH_SIZE: &str = "batch.size";
pub(super) const LINGER_MS: &str = "linger.ms";
pub(super) const BUFFER_MEMORY: &str = "buffer.memory";
pub(super) const MAX_BLOCK_MS: &str = "max.block.ms";
pub(super) const MAX_REQUEST_SIZE: &str = "max.request.size";
pub(super) const MAX_IN_FLIGHT: &str = "max.in.flight.requests.per.connection";
pub(super) const DELIVERY_TIMEOUT_MS: &str = "delivery.timeout.ms";
pub(super) const TRANSACTION_TIMEOUT_MS: &str = "transaction.timeout.ms";
pub(super) const TRANSACTION_EPOCH_BUMP: &str = "sealwax.transaction.epoch.bump";
pub(super) const ACKS: &str = "acks";
pub(super) const RETRIES: &str = "retries";
pub(super) const ENABLE_IDEMPOTENCE: &str = "enable.idempotence";
pub(super) const AVAILABILITY_TIMEOUT_MS: &str = "partitioner.availability.timeout.ms";

/// What Kafka allows for sizes that it sends as a signed 32-bit number.
pub(super) const SIZE: RangeInclusive<u64> = 1..=i32::MAX as u64;
/// A budget may be larger than what one message can say.
pub(super) const MEMORY: RangeInclusive<u64> = 1..=i64::MAX as u64;
/// The transaction's timeout in milliseconds.
pub(super) const TIMEOUT: RangeInclusive<u64> = 1..=i32::MAX as u64;
/// Requests in flight of a plain producer.
pub(super) const IN_FLIGHT: RangeInclusive<u64> = 1..=i32::MAX as u64;
/// Attempts after the first.
pub(super) const ATTEMPTS: RangeInclusive<u64> = 0..=i32::MAX as u64;
/// A broker recognises repeats of its last five batches.
const MAX_IN_FLIGHT_OF_IDEMPOTENT: usize = 5;

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

/// Who must have a batch before it counts as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Acks {
    /// `0`: nobody. A record's result says only that its bytes were handed to the operating system; its offset is not known, and a record
    /// that the broker refuses or loses is lost without a word.
    None,
    /// `1`: the leader. What only the leader has is lost if another one takes over.
    Leader,
    /// `all` or `-1`: every in-sync replica, at least `min.insync.replicas` of them.
    #[default]
    All,
}

/// Settings of a producer. Unless told otherwise it is idempotent: each record is written once, in order, to all in-sync replicas.
///
/// # Plain producers
/// `enable_idempotence = Some(false)`, or `acks` other than [`Acks::All`], or `retries = 0`, make a plain producer: it has no producer id,
/// and the broker recognises nothing. A batch whose answer was lost and that is sent again may then stand in the log twice, and with more
/// than one request in flight, a batch that is sent again may come behind a later one. As in Java, `max_in_flight = 1` keeps the order,
/// and `retries = 0` keeps a batch from being sent twice. A transactional producer refuses such settings.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProducerConfig {
    /// `acks`. Default all.
    pub acks: Acks,
    /// `enable.idempotence`. `None`, the default, lets `acks` and `retries` decide: see [`ProducerConfig::is_idempotent`]. `Some(true)` makes
    /// a contradiction with them an error.
    pub enable_idempotence: Option<bool>,
    /// `retries`: how often a batch is sent again after an attempt that reached the network and failed for a passing reason, within
    /// `delivery.timeout.ms`. Default 2147483647; an idempotent producer is best left at that, because a batch that is given up costs it
    /// its epoch.
    pub retries: u32,
    /// `batch.size`: a batch is sent when it holds this many bytes; from 1 to 2 GiB. Default 16 KiB.
    pub batch_size: usize,
    /// `linger.ms`: how long an open batch waits for more records. Default 5 ms.
    pub linger: Duration,
    /// `buffer.memory`: bytes of unsent and unacknowledged batches; above it `send` waits. Default 32 MiB.
    pub buffer_memory: usize,
    /// `max.block.ms`: how long `send` waits for buffer room or a topic's metadata, `begin` for the end of the transaction before, and
    /// `commit` (then at least `request.timeout.ms`) for the coordinator once everything is delivered. Zero: `send` never waits; a producer id
    /// is waited for `request.timeout.ms` then. Default 60 s.
    pub max_block: Duration,
    /// `max.request.size`: largest record, in bytes as encoded, and largest request; from 1 to 2 GiB. Default 1 MiB.
    pub max_request_size: usize,
    /// `max.in.flight.requests.per.connection`, from 1; at most 5 unless the producer is plain. Default 5.
    pub max_in_flight: usize,
    /// `delivery.timeout.ms`: how long a record may take from `send` to its result. A request that is on the wire then is awaited, for
    /// at most `request.timeout.ms` more. Default 120 s.
    pub delivery_timeout: Duration,
    /// `transaction.timeout.ms`: after how long the coordinator aborts an open transaction. Default 60 s. Transactional only.
    pub transaction_timeout: Duration,
    /// `partitioner.class` or `partitioner`: where records go that do not name a partition. Default as Java.
    pub partitioning: Partitioning,
    /// `partitioner.ignore.keys`: takes every record for one without key when its partition is chosen. Default false.
    pub partitioner_ignore_keys: bool,
    /// `partitioner.adaptive.partitioning.enable`: the next sticky partition is drawn by the batches that wait, fewer more often
    /// (KIP-794). Default true.
    pub partitioner_adaptive_partitioning: bool,
    /// `partitioner.availability.timeout.ms`: a broker that has taken nothing for longer than this, although something waits for it, gets no
    /// sticky partition; zero, the default, lets it. Only with adaptive partitioning.
    pub partitioner_availability_timeout: Duration,
    /// `sealwax.transaction.epoch.bump` (no key of Kafka's), `needed` or `every`. Default `needed`. Transactional only.
    pub epoch_bump: EpochBump,
}

impl Default for ProducerConfig {
    fn default() -> Self {
        Self {
            acks: Acks::All,
            enable_idempotence: None,
            retries: i32::MAX as u32,
            batch_size: 16 * 1024,
            linger: Duration::from_millis(5),
            buffer_memory: 32 * 1024 * 1024,
            max_block: Duration::from_secs(60),
            max_request_size: 1024 * 1024,
            max_in_flight: 5,
            delivery_timeout: Duration::from_secs(120),
            transaction_timeout: Duration::from_secs(60),
            partitioning: Partitioning::default(),
            partitioner_ignore_keys: false,
            partitioner_adaptive_partitioning: true,
            partitioner_availability_timeout: Duration::ZERO,
            epoch_bump: EpochBump::WhenNeeded,
        }
    }
}

impl ProducerConfig {
    /// Whether the producer gets a producer id, so that brokers recognise what they have already: if `enable_idempotence` says so, or, as in
    /// Java, if it says nothing and `acks` is all and `retries` is not 0.
    #[must_use]
    pub fn is_idempotent(&self) -> bool {
        self.enable_idempotence
            .unwrap_or(self.acks == Acks::All && self.retries > 0)
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
            (RETRIES, self.retries as usize, &ATTEMPTS),
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
            (
                AVAILABILITY_TIMEOUT_MS,
                self.partitioner_availability_timeout,
                &MILLIS,
            ),
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
        self.validate_idempotence()
    }

    /// Whether a transactional producer can be built from these settings.
    #[cfg_attr(
        not(feature = "runtime"),
        allow(
            dead_code,
            reason = "only a producer, which needs the runtime, is built from settings"
        )
    )]
    pub(crate) fn validate_transactional(&self) -> Result<()> {
        self.validate()?;
        if self.is_idempotent() {
            return Ok(());
        }
        let culprit = match (self.enable_idempotence, self.acks) {
            (Some(_), _) => format!("{ENABLE_IDEMPOTENCE} = false"),
            (None, Acks::All) => format!("{RETRIES} = 0"),
            (None, acks) => format!("{ACKS} = {}", acks.wire()),
        };
        let message = format!(
            "transactional.id needs {ENABLE_IDEMPOTENCE} = true, {ACKS} = all and {RETRIES} above 0, which {culprit} contradicts"
        );
        Err(Error::new(ErrorKind::Config, message))
    }

    /// What brokers ask of an idempotent producer.
    pub(super) fn validate_idempotence(&self) -> Result<()> {
        if !self.is_idempotent() {
            return Ok(());
        }
        let contradicts = |what: String, allowed: &str| {
            let message = format!(
                "{what} contradicts {ENABLE_IDEMPOTENCE} = true, which needs {allowed}; set {ENABLE_IDEMPOTENCE} = false to do without"
            );
            Err(Error::new(ErrorKind::Config, message))
        };
        if self.acks != Acks::All {
            let what = format!("{ACKS} = {}", self.acks.wire());
            return contradicts(what, &format!("{ACKS} = all"));
        }
        if self.retries == 0 {
            return contradicts(format!("{RETRIES} = 0"), &format!("{RETRIES} above 0"));
        }
        if self.max_in_flight > MAX_IN_FLIGHT_OF_IDEMPOTENT {
            let what = format!("{MAX_IN_FLIGHT} = {}", self.max_in_flight);
            return contradicts(what, &format!("1 to {MAX_IN_FLIGHT_OF_IDEMPOTENT} of them"));
        }
        Ok(())
    }
}

impl Acks {
    /// The number on the wire.
    pub(crate) const fn wire(self) -> i16 {
        match self {
            Self::None => 0,
            Self::Leader => 1,
            Self::All => -1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_made_by_hand_are_checked_too() {
        let wrong = [
            ProducerConfig {
                max_in_flight: 6,
                ..ProducerConfig::default()
            },
            ProducerConfig {
                max_in_flight: 0,
                enable_idempotence: Some(false),
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
            ProducerConfig {
                enable_idempotence: Some(true),
                acks: Acks::None,
                ..ProducerConfig::default()
            },
        ];
        for config in wrong {
            assert_eq!(config.validate().unwrap_err().kind(), ErrorKind::Config);
        }
        ProducerConfig::default().validate().unwrap();
        let plain = ProducerConfig {
            max_in_flight: 50,
            enable_idempotence: Some(false),
            ..ProducerConfig::default()
        };
        plain.validate().unwrap();
    }

    #[test]
    fn what_makes_a_producer_plain_is_refused_by_a_transactional_one_and_named() {
        let default = ProducerConfig::default;
        for (config, names) in [
            (
                ProducerConfig {
                    acks: Acks::Leader,
                    ..default()
                },
                "acks = 1",
            ),
            (
                ProducerConfig {
                    retries: 0,
                    ..default()
                },
                "retries = 0",
            ),
            (
                ProducerConfig {
                    enable_idempotence: Some(false),
                    ..default()
                },
                "enable.idempotence = false",
            ),
        ] {
            config.validate().unwrap();
            assert!(!config.is_idempotent());
            let error = config.validate_transactional().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config);
            let text = error.to_string();
            assert!(
                text.contains("transactional.id") && text.contains(names),
                "{text}"
            );
        }
        default().validate_transactional().unwrap();
    }
}
