//! How long to wait before a task is started again. Pure: the random number is handed in.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(200);

/// The longest pause. There is no limit on the number of attempts: a broker may be away for hours, and a worker that
/// gave up would not go on by itself.
const LONGEST: Duration = Duration::from_secs(10);

/// Counts failures in a row.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The pause before the next attempt: doubled with each failure up to the longest, then shortened at random by up
    /// to a half so that tasks do not return all at once. `random` is from 0 to 1.
    pub(super) fn next(&mut self, random: f64) -> Duration {
        let doubled = FIRST.saturating_mul(1_u32.checked_shl(self.failures).unwrap_or(u32::MAX));
        self.failures = self.failures.saturating_add(1);
        doubled.min(LONGEST).mul_f64(1.0 - random.clamp(0.0, 1.0) / 2.0)
    }

    /// How many attempts have failed in a row.
    pub(super) fn failures(&self) -> u32 {
        self.failures
    }

    /// Something succeeded.
    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_start_over() {
        let mut backoff = Backoff::default();
        let pauses: Vec<_> = (0..8).map(|_| backoff.next(0.0).as_millis()).collect();
        assert_eq!(pauses, [200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
        for _ in 0..100 {
            assert_eq!(backoff.next(1.0), LONGEST / 2);
        }
        assert_eq!(backoff.failures(), 108);
        backoff.reset();
        assert_eq!(backoff.next(0.0), FIRST);
    }
}
