//! Newtypes for Kafka's numbers, so that an epoch can never stand where a sequence is meant.

use std::fmt;
use std::sync::Arc;

use uuid::Uuid;

/// Identity that the transaction coordinator gives to a producer. −1 on the wire means "none"; see [`ProducerId::NONE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProducerId(pub i64);

impl ProducerId {
    /// The wire's "no producer id".
    pub const NONE: Self = Self(-1);
}

/// Generation of a producer id. A broker refuses writes of an older epoch (fencing).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProducerEpoch(pub i16);

impl ProducerEpoch {
    /// The wire's "no epoch".
    pub const NONE: Self = Self(-1);
}

/// A producer id together with its epoch: what the coordinator hands out and what every batch carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProducerIdAndEpoch {
    /// The producer id.
    pub id: ProducerId,
    /// Its epoch.
    pub epoch: ProducerEpoch,
}

impl ProducerIdAndEpoch {
    /// Neither id nor epoch: what a first InitProducerId sends and what a plain producer's batches carry.
    pub const NONE: Self = Self {
        id: ProducerId::NONE,
        epoch: ProducerEpoch::NONE,
    };
}

impl fmt::Display for ProducerIdAndEpoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "producer id {} epoch {}", self.id.0, self.epoch.0)
    }
}

/// Number of a record within one producer id, epoch and partition: 0 ..= `i32::MAX`, then 0 again.
///
/// Deliberately not `Ord`: sequences wrap, so only [`Sequence::distance_from`] compares them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sequence(i32);

impl Sequence {
    /// The first sequence of a producer id and epoch in a partition.
    pub const ZERO: Self = Self(0);

    /// A sequence from the wire. `None` if it is negative (−1 means "none" there).
    #[must_use]
    pub const fn new(value: i32) -> Option<Self> {
        if value < 0 { None } else { Some(Self(value)) }
    }

    /// The number as it stands on the wire.
    #[must_use]
    pub const fn get(self) -> i32 {
        self.0
    }

    /// This sequence plus `count` records, modulo 2^31.
    #[must_use]
    pub const fn add(self, count: u32) -> Self {
        Self(((self.0 as u32).wrapping_add(count) & 0x7FFF_FFFF) as i32)
    }

    /// How many records lie between `earlier` and this sequence, modulo 2^31.
    #[must_use]
    pub const fn distance_from(self, earlier: Self) -> u32 {
        (self.0 as u32).wrapping_sub(earlier.0 as u32) & 0x7FFF_FFFF
    }
}

/// Epoch of a partition's leader; −1 on the wire means "unknown".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LeaderEpoch(pub i32);

impl LeaderEpoch {
    /// The wire's "unknown".
    pub const UNKNOWN: Self = Self(-1);
}

/// A broker's `node.id`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub i32);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Pairs a response with its request on one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CorrelationId(pub i32);

/// A topic's id (KIP-516). The nil uuid means "unknown".
pub type TopicId = Uuid;

/// A partition of a topic, by name. Cloning costs one reference count.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopicPartition {
    /// The topic's name.
    pub topic: Arc<str>,
    /// The partition's index, from 0.
    pub partition: i32,
}

impl TopicPartition {
    /// A partition of a topic.
    pub fn new(topic: impl Into<Arc<str>>, partition: i32) -> Self {
        Self {
            topic: topic.into(),
            partition,
        }
    }
}

impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_wraps_to_zero_after_the_largest() {
        let max = Sequence::new(i32::MAX).unwrap();
        assert_eq!(max.add(1), Sequence::ZERO);
        assert_eq!(max.add(3).get(), 2);
        assert_eq!(Sequence::new(2).unwrap().distance_from(max), 3);
    }

    #[test]
    fn a_negative_sequence_is_none() {
        assert_eq!(Sequence::new(-1), None);
    }
}
