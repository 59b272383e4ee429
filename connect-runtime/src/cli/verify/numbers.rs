//! Which numbers a topic must hold: `A..B`, both ends included.
//!
//! Input: the argument's text. Output: a [`Numbers`] whose count is within [`Numbers::MAX_COUNT`], so that one bit for each
//! fits into memory.

use std::fmt;
use std::str::FromStr;

/// An inclusive range of numbers that is never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Numbers {
    first: u64,
    last: u64,
}

impl Numbers {
    /// The most numbers that one run can verify: one bit each makes 500 MB.
    pub(super) const MAX_COUNT: u64 = 4_000_000_000;

    /// The smallest number.
    pub(super) fn first(self) -> u64 {
        self.first
    }

    /// The largest number.
    pub(super) fn last(self) -> u64 {
        self.last
    }

    /// How many numbers there are, 1 to [`Self::MAX_COUNT`].
    pub(super) fn count(self) -> u64 {
        self.last - self.first + 1
    }

    /// The place of a number in the range, from 0; `None` if it is outside.
    pub(super) fn index_of(self, number: u64) -> Option<u64> {
        (number <= self.last)
            .then(|| number.checked_sub(self.first))
            .flatten()
    }
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.first, self.last)
    }
}

impl FromStr for Numbers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (first, last) = text.split_once("..").ok_or_else(|| {
            "write the first and the last number as A..B, for example 1..1000000".to_owned()
        })?;
        let (first, last) = (number(first)?, number(last.strip_prefix('=').unwrap_or(last))?);
        if first > last {
            return Err(format!(
                "the first number {first} is above the last number {last}"
            ));
        }
        if last - first >= Self::MAX_COUNT {
            return Err(format!(
                "more than {} numbers need more memory than this verb allows itself; verify them in several ranges",
                Self::MAX_COUNT
            ));
        }
        Ok(Self { first, last })
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.trim()
        .replace('_', "")
        .parse()
        .map_err(|_| format!("\"{text}\" is not a whole number from 0 to {}", u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Numbers {
        text.parse().unwrap()
    }

    #[test]
    fn both_ends_are_included() {
        assert_eq!(numbers("3..5").count(), 3);
        assert_eq!(numbers("3..=5"), numbers("3..5"));
        assert_eq!(numbers("0..0").count(), 1);
        assert_eq!(numbers("1..1_000").last(), 1000);
        assert_eq!(numbers("3..5").index_of(3), Some(0));
        assert_eq!(numbers("3..5").index_of(5), Some(2));
        assert_eq!(numbers("3..5").index_of(2), None);
        assert_eq!(numbers("3..5").index_of(6), None);
    }

    #[test]
    fn the_limit_is_exact() {
        assert_eq!(numbers("1..4000000000").count(), Numbers::MAX_COUNT);
        assert!("0..4000000000".parse::<Numbers>().is_err());
        assert!("0..18446744073709551615".parse::<Numbers>().is_err());
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in ["", "7", "..", "1..", "..9", "5..4", "-1..4", "a..b", "1...4"] {
            assert!(text.parse::<Numbers>().is_err(), "{text:?}");
        }
    }
}
