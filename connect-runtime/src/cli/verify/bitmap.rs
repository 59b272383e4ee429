//! A set of indexes `0..length`, one bit each.
//!
//! Input: indexes. Output: whether an index is new, and the ranges that were never inserted.

const WORD_BITS: u64 = 64;

/// A set of indexes below a fixed length.
#[derive(Debug)]
pub(super) struct Bitmap {
    words: Vec<u64>,
    length: u64,
}

impl Bitmap {
    /// An empty set for indexes below `length`; `None` if the memory (`length / 8` bytes) cannot be had.
    pub(super) fn new(length: u64) -> Option<Self> {
        let count = usize::try_from(length.div_ceil(WORD_BITS)).ok()?;
        let mut words = Vec::new();
        words.try_reserve_exact(count).ok()?;
        words.resize(count, 0);
        Some(Self { words, length })
    }

    /// Puts an index in. True if it was not there. An index that is not below the length is never new.
    pub(super) fn insert(&mut self, index: u64) -> bool {
        let bit = 1 << (index % WORD_BITS);
        let Some(word) = self
            .words
            .get_mut(position(index))
            .filter(|_| index < self.length)
        else {
            return false;
        };
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// The inclusive ranges of indexes that are not in the set, in ascending order.
    pub(super) fn gaps(&self) -> impl Iterator<Item = (u64, u64)> {
        let mut from = 0;
        std::iter::from_fn(move || {
            let start = self.find(from, false)?;
            let end = self.find(start, true).unwrap_or(self.length);
            from = end;
            Some((start, end - 1))
        })
    }

    /// The first index at or behind `from` that is in the set, or is not in it.
    fn find(&self, from: u64, present: bool) -> Option<u64> {
        let flip = if present { 0 } else { u64::MAX };
        let mut mask = u64::MAX << (from % WORD_BITS);
        let first = position(from);
        for (i, word) in self.words.get(first..)?.iter().enumerate() {
            let hits = (word ^ flip) & mask;
            if hits != 0 {
                let index = (first + i) as u64 * WORD_BITS + u64::from(hits.trailing_zeros());
                return (index < self.length).then_some(index);
            }
            mask = u64::MAX;
        }
        None
    }
}

/// The word of an index; beyond every possible set if the machine cannot address it.
fn position(index: u64) -> usize {
    usize::try_from(index / WORD_BITS).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(length: u64, indexes: &[u64]) -> Vec<(u64, u64)> {
        let mut set = Bitmap::new(length).unwrap();
        for &index in indexes {
            set.insert(index);
        }
        set.gaps().collect()
    }

    #[test]
    fn gaps_at_word_borders() {
        assert_eq!(gaps(0, &[]), []);
        assert_eq!(gaps(64, &[]), [(0, 63)]);
        assert_eq!(gaps(65, &[64]), [(0, 63)]);
        assert_eq!(gaps(130, &[0, 63, 64, 129]), [(1, 62), (65, 128)]);
        assert_eq!(gaps(3, &[0, 1, 2]), []);
    }

    #[test]
    fn an_index_is_new_once_and_only_below_the_length() {
        let mut set = Bitmap::new(70).unwrap();
        assert!(set.insert(69));
        assert!(!set.insert(69));
        assert!(!set.insert(70));
        assert!(!set.insert(u64::MAX));
    }
}
