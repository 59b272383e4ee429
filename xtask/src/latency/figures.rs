//! Percentiles of a round, and the median over rounds. Pure.

use std::time::Duration;

use anyhow::{Context, Result};

/// What a round's transactions took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Percentiles {
    pub(super) p50: Duration,
    pub(super) p90: Duration,
    pub(super) p99: Duration,
}

impl Percentiles {
    /// Of one round's durations in nanoseconds, in any order.
    ///
    /// # Errors
    /// If there are none.
    pub(super) fn of(mut nanoseconds: Vec<u64>) -> Result<Self> {
        nanoseconds.sort_unstable();
        let at = |hundredths: usize| {
            // The smallest value that so many hundredths of all are not above.
            let rank = (nanoseconds.len() * hundredths).div_ceil(100).max(1);
            nanoseconds.get(rank - 1).copied().map(Duration::from_nanos)
        };
        let none = "a round without transactions";
        Ok(Self {
            p50: at(50).context(none)?,
            p90: at(90).context(none)?,
            p99: at(99).context(none)?,
        })
    }
}

/// The median, over rounds, of one of their percentiles; the lower of the two in the middle.
pub(super) fn median(rounds: &[Percentiles], of: impl Fn(&Percentiles) -> Duration) -> Duration {
    let mut values: Vec<Duration> = rounds.iter().map(of).collect();
    values.sort_unstable();
    let middle = values.len().saturating_sub(1) / 2;
    values.get(middle).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let round = Percentiles::of((1..=200).rev().collect()).unwrap();
        assert_eq!(round.p50, Duration::from_nanos(100));
        assert_eq!(round.p90, Duration::from_nanos(180));
        assert_eq!(round.p99, Duration::from_nanos(198));
        assert_eq!(Percentiles::of(vec![7]).unwrap().p99, Duration::from_nanos(7));
        assert!(Percentiles::of(Vec::new()).is_err());
    }

    #[test]
    fn the_median_round_decides() {
        let rounds = [9, 1, 5].map(|value| Percentiles::of(vec![value]).unwrap());
        assert_eq!(median(&rounds, |round| round.p50), Duration::from_nanos(5));
    }
}
