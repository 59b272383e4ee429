//! Hashes and draws behind the choice of a partition: murmur2 as Java, CRC32 as librdkafka, and the next sticky partition by the batches
//! that wait (KIP-794). In: keys, partitions, loads. Out: an index.

use std::time::Duration;

use crate::config::{Partitioning, ProducerConfig};

/// How records find their partition.
#[derive(Debug, Clone)]
pub(crate) struct PartitionerSettings {
    /// Hash, turn, draw, or one's own.
    pub(crate) partitioning: Partitioning,
    /// `partitioner.ignore.keys`.
    pub(crate) ignore_keys: bool,
    /// `partitioner.adaptive.partitioning.enable`.
    pub(crate) adaptive: bool,
    /// `partitioner.availability.timeout.ms`.
    pub(crate) availability_timeout: Duration,
}

impl PartitionerSettings {
    /// Those of a producer.
    pub(crate) fn of(config: &ProducerConfig) -> Self {
        Self {
            partitioning: config.partitioning.clone(),
            ignore_keys: config.partitioner_ignore_keys,
            adaptive: config.partitioner_adaptive_partitioning,
            availability_timeout: config.partitioner_availability_timeout,
        }
    }
}

/// Partition of a key among `partitions` (at least 1), as Java and librdkafka's `murmur2` place it.
pub(crate) fn by_murmur2(key: &[u8], partitions: usize) -> usize {
    (murmur2(key) & 0x7FFF_FFFF) as usize % partitions.max(1)
}

/// Partition of a key among `partitions` (at least 1), as librdkafka's `consistent` places it.
pub(crate) fn by_crc32(key: &[u8], partitions: usize) -> usize {
    crc32(key) as usize % partitions.max(1)
}

/// Draws one of the partitions that `load` gives a number for, those with a lower one more often: each has the weight "highest load + 1
/// − its own". `None` if there is none.
pub(crate) fn draw(
    partitions: usize,
    load: impl Fn(usize) -> Option<usize>,
    rng: &mut fastrand::Rng,
) -> Option<usize> {
    let loads = || (0..partitions).filter_map(|partition| Some((partition, load(partition)?)));
    let highest = loads().map(|(_, load)| load).max()?;
    let total: usize = loads().map(|(_, load)| highest + 1 - load).sum();
    let mut ticket = rng.usize(..total);
    for (partition, load) in loads() {
        let weight = highest + 1 - load;
        if ticket < weight {
            return Some(partition);
        }
        ticket -= weight;
    }
    None
}

/// The 32-bit murmur2 hash with Kafka's seed.
fn murmur2(data: &[u8]) -> u32 {
    const M: u32 = 0x5BD1_E995;
    const SEED: u32 = 0x9747_B28C;
    // A key is shorter than 2 GiB, so its length fits as Java's does.
    let mut hash = SEED ^ data.len() as u32;
    let (words, tail) = data.as_chunks::<4>();
    for word in words {
        let mut k = u32::from_le_bytes(*word).wrapping_mul(M);
        k ^= k >> 24;
        hash = hash.wrapping_mul(M) ^ k.wrapping_mul(M);
    }
    if !tail.is_empty() {
        for (index, byte) in tail.iter().enumerate() {
            hash ^= u32::from(*byte) << (8 * index);
        }
        hash = hash.wrapping_mul(M);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(M);
    hash ^ (hash >> 15)
}

/// The CRC32 of IEEE 802.3. Bit by bit: keys are short.
fn crc32(data: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0xEDB8_8320;
    let step = |crc: u32| (crc >> 1) ^ (POLYNOMIAL & (crc & 1).wrapping_neg());
    let byte = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc));
    !data.iter().fold(u32::MAX, byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn murmur2_gives_javas_hashes() {
        for (key, hash) in [
            ("21", -973_932_308),
            ("foobar", -790_332_482),
            ("abc", 479_470_107),
            ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829),
            ("", 275_646_681),
            ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
        ] {
            assert_eq!(murmur2(key.as_bytes()).cast_signed(), hash, "{key}");
        }
    }

    #[test]
    fn crc32_gives_librdkafkas_hashes() {
        for (key, hash) in [
            ("", 0),
            ("foobar", 0x9EF6_1F95),
            ("abc", 0x3524_41C2),
            ("21", 0xFD77_46B4),
        ] {
            assert_eq!(crc32(key.as_bytes()), hash, "{key}");
        }
    }

    #[test]
    fn a_key_goes_where_java_and_librdkafka_put_it() {
        for (key, java, librdkafka) in [("foobar", 6, 9), ("abc", 7, 8), ("21", 0, 2)] {
            assert_eq!(by_murmur2(key.as_bytes(), 10), java, "{key}");
            assert_eq!(by_crc32(key.as_bytes(), 10), librdkafka, "{key}");
        }
    }

    fn drawn(loads: &[Option<usize>]) -> Vec<usize> {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut seen = vec![0; loads.len()];
        for _ in 0..10_000 {
            seen[draw(loads.len(), |partition| loads[partition], &mut rng).unwrap()] += 1;
        }
        seen
    }

    #[test]
    fn what_waits_least_is_drawn_most() {
        // KIP-794's own example: queues of 0, 3 and 1 weigh 4, 1 and 3.
        let seen = drawn(&[Some(0), Some(3), Some(1), None]);
        assert!((4700..5300).contains(&seen[0]), "{seen:?}");
        assert!((1050..1450).contains(&seen[1]), "{seen:?}");
        assert!((3450..4050).contains(&seen[2]), "{seen:?}");
        assert_eq!(seen[3], 0);
    }

    #[test]
    fn equal_loads_are_drawn_equally_and_no_partition_is_no_draw() {
        for seen in drawn(&[Some(7); 4]) {
            assert!((2300..2700).contains(&seen), "{seen}");
        }
        assert_eq!(draw(3, |_| None, &mut fastrand::Rng::with_seed(1)), None);
    }
}
