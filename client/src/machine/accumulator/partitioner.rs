//! Which partition a record without an explicit one goes to: by the key's murmur2 hash over all partitions as in Java, or, without
//! a key, stuck to one partition until its batch closes (KIP-480). In: key, partitions. Out: an index.

/// Partition of a key among `partitions` (at least 1).
pub(crate) fn for_key(key: &[u8], partitions: usize) -> usize {
    (murmur2(key) & 0x7FFF_FFFF) as usize % partitions.max(1)
}

/// A random one of the partitions that have a leader, if possible another than `last`. Any partition if none has a leader.
pub(crate) fn next_sticky(
    last: Option<usize>,
    partitions: usize,
    available: impl Fn(usize) -> bool,
    rng: &mut fastrand::Rng,
) -> usize {
    let pick = |wanted: &dyn Fn(usize) -> bool, rng: &mut fastrand::Rng| {
        let count = (0..partitions).filter(|&partition| wanted(partition)).count();
        (count > 0).then(|| {
            let nth = rng.usize(..count);
            (0..partitions).filter(|&partition| wanted(partition)).nth(nth)
        })?
    };
    pick(&|partition| available(partition) && Some(partition) != last, rng)
        .or_else(|| pick(&|partition| available(partition), rng))
        .or_else(|| pick(&|partition| Some(partition) != last, rng))
        .unwrap_or(0)
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
    fn a_key_goes_where_java_puts_it() {
        for (key, partition) in [("foobar", 6), ("abc", 7), ("21", 0)] {
            assert_eq!(for_key(key.as_bytes(), 10), partition, "{key}");
        }
    }

    #[test]
    fn the_next_sticky_partition_is_another_one_that_has_a_leader() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut seen = [0; 4];
        for _ in 0..200 {
            let next = next_sticky(Some(1), 4, |partition| partition != 3, &mut rng);
            seen[next] += 1;
        }
        assert_eq!((seen[1], seen[3]), (0, 0));
        assert!(seen[0] > 50 && seen[2] > 50, "{seen:?}");
    }

    #[test]
    fn without_choice_the_sticky_partition_stays() {
        let mut rng = fastrand::Rng::with_seed(1);
        assert_eq!(next_sticky(Some(0), 1, |_| true, &mut rng), 0);
        assert_eq!(next_sticky(Some(2), 3, |partition| partition == 2, &mut rng), 2);
        assert_eq!(next_sticky(None, 1, |_| false, &mut rng), 0);
    }
}
