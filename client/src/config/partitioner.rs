//! Which partitioner a producer uses, and the trait of one's own. Settings only: the choice itself is made where records are taken.
//!
//! In: Java's `partitioner.class` or librdkafka's `partitioner`. Out: a [`Partitioning`], or an error that names what is allowed.

use std::fmt;
use std::sync::Arc;

use super::value::invalid;
use crate::error::Result;
use crate::record::Record;

/// Java's key.
pub(super) const PARTITIONER_CLASS: &str = "partitioner.class";
/// librdkafka's key.
pub(super) const PARTITIONER: &str = "partitioner";

/// Chooses a partition for every record that does not name one itself.
///
/// It runs while the record is being sent, under the producer's lock: it must be quick and must not call the producer. It may be asked
/// more than once for the same record, if the record had to wait for buffer room. If it panics, or answers with a partition that the
/// topic does not have, that record's `send` fails and nothing else happens.
///
/// ```
/// use sealwax::Record;
/// use sealwax::config::{Partitioner, Partitioning};
///
/// struct ByLength;
/// impl Partitioner for ByLength {
///     fn partition(&self, record: &Record<'_>, partitions: i32) -> i32 {
///         record.value.map_or(0, <[u8]>::len) as i32 % partitions
///     }
/// }
/// let partitioning = Partitioning::custom(ByLength);
/// ```
pub trait Partitioner: Send + Sync {
    /// The partition of `record`, from 0 to `partitions` − 1; `partitions` is at least 1 and counts those without a leader too.
    fn partition(&self, record: &Record<'_>, partitions: i32) -> i32;
}

/// How the partition of a record is chosen that does not name one.
///
/// Hashes go over all partitions of the topic, with or without leader, so adding partitions moves keys. A record that a variant gives to
/// "the sticky partition" stays with the records before it for about `batch.size` bytes; then the next one is drawn among partitions with
/// a leader, those with fewer waiting batches more often (KIP-480, KIP-794).
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Partitioning {
    /// Java's default and librdkafka's `murmur2_random`: murmur2 of the key, the sticky partition without one.
    #[default]
    Murmur2Random,
    /// librdkafka's `murmur2`: murmur2 of the key; a missing key is hashed as an empty one.
    Murmur2,
    /// librdkafka's default, `consistent_random`: CRC32 of the key; the sticky partition for a missing or empty key.
    ConsistentRandom,
    /// librdkafka's `consistent`: CRC32 of the key; a missing key is hashed as an empty one.
    Consistent,
    /// librdkafka's `random` and Java's old UniformStickyPartitioner: the sticky partition, whatever the key.
    Random,
    /// Java's RoundRobinPartitioner: partitions with a leader in turn, whatever the key.
    RoundRobin,
    /// One's own.
    Custom(Arc<dyn Partitioner>),
}

impl Partitioning {
    /// One's own.
    pub fn custom(partitioner: impl Partitioner + 'static) -> Self {
        Self::Custom(Arc::new(partitioner))
    }

    /// Java's class names, with or without their package. Those that Java 4 removed are understood.
    pub(super) fn from_class(value: &str) -> Result<Self> {
        let name = value.trim().rsplit('.').next().unwrap_or_default();
        match name {
            "" | "DefaultPartitioner" => Ok(Self::Murmur2Random),
            "UniformStickyPartitioner" => Ok(Self::Random),
            "RoundRobinPartitioner" => Ok(Self::RoundRobin),
            _ => Err(invalid(
                PARTITIONER_CLASS,
                value,
                "org.apache.kafka.clients.producer.RoundRobinPartitioner, UniformStickyPartitioner, DefaultPartitioner or nothing; \
                 one's own is set in code (Partitioning::custom)",
            )),
        }
    }

    /// librdkafka's names.
    pub(super) fn from_name(value: &str) -> Result<Self> {
        match value.trim() {
            "random" => Ok(Self::Random),
            "consistent" => Ok(Self::Consistent),
            "consistent_random" => Ok(Self::ConsistentRandom),
            "murmur2" => Ok(Self::Murmur2),
            "murmur2_random" => Ok(Self::Murmur2Random),
            _ => Err(invalid(
                PARTITIONER,
                value,
                "random, consistent, consistent_random, murmur2 or murmur2_random",
            )),
        }
    }

    const fn name(&self) -> &'static str {
        match self {
            Self::Murmur2Random => "Murmur2Random",
            Self::Murmur2 => "Murmur2",
            Self::ConsistentRandom => "ConsistentRandom",
            Self::Consistent => "Consistent",
            Self::Random => "Random",
            Self::RoundRobin => "RoundRobin",
            Self::Custom(_) => "Custom",
        }
    }
}

impl fmt::Debug for Partitioning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Two of one's own are equal if they are the same one.
impl PartialEq for Partitioning {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Custom(one), Self::Custom(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.name() == other.name(),
        }
    }
}

impl Eq for Partitioning {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn names_of_java_and_librdkafka_are_understood() {
        for (name, expected) in [
            (
                "org.apache.kafka.clients.producer.RoundRobinPartitioner",
                Partitioning::RoundRobin,
            ),
            ("RoundRobinPartitioner", Partitioning::RoundRobin),
            (
                "org.apache.kafka.clients.producer.internals.DefaultPartitioner",
                Partitioning::Murmur2Random,
            ),
            (
                "org.apache.kafka.clients.producer.UniformStickyPartitioner",
                Partitioning::Random,
            ),
            ("", Partitioning::Murmur2Random),
        ] {
            assert_eq!(Partitioning::from_class(name).unwrap(), expected, "{name}");
        }
        for (name, expected) in [
            ("random", Partitioning::Random),
            ("consistent", Partitioning::Consistent),
            ("consistent_random", Partitioning::ConsistentRandom),
            ("murmur2", Partitioning::Murmur2),
            ("murmur2_random", Partitioning::Murmur2Random),
        ] {
            assert_eq!(Partitioning::from_name(name).unwrap(), expected, "{name}");
        }
        for error in [
            Partitioning::from_class("com.example.Mine").unwrap_err(),
            Partitioning::from_name("fnv1a").unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Config);
        }
    }

    #[test]
    fn one_of_ones_own_is_equal_only_to_itself() {
        struct First;
        impl Partitioner for First {
            fn partition(&self, _: &Record<'_>, _: i32) -> i32 {
                0
            }
        }
        let mine = Partitioning::custom(First);
        assert_eq!(mine, mine.clone());
        assert_ne!(mine, Partitioning::custom(First));
        assert_ne!(mine, Partitioning::Random);
    }
}
