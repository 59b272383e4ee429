//! The only source of randomness: machines and tasks get a generator from here, tests a fixed seed.

use std::hash::{BuildHasher, RandomState};

/// A generator with a seed of its own, for jitter and other choices that are no secret.
pub(crate) fn rng() -> fastrand::Rng {
    // Hash maps are seeded by the operating system; each state hashes "nothing" to another number.
    fastrand::Rng::with_seed(RandomState::new().hash_one(()))
}

#[cfg(test)]
mod tests {
    use super::rng;

    #[test]
    fn two_generators_differ() {
        assert_ne!(rng().u64(..), rng().u64(..));
    }
}
