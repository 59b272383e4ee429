//! Exponential backoff with jitter. The random source is handed in.

use std::time::Duration;

/// How long to wait before the n-th try again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Backoff {
    /// The first pause.
    pub(crate) initial: Duration,
    /// The longest pause.
    pub(crate) max: Duration,
}

impl Backoff {
    /// While another operation on the same transactional id ends (KAFKA-5477). Mostly these are the markers of the transaction before, which
    /// take a few milliseconds: each longer pause would be part of every small transaction's latency.
    pub(crate) const CONCURRENT: Self = Self {
        initial: Duration::from_millis(1),
        max: Duration::from_millis(100),
    };

    /// The pause after `failures` failures in a row (1 is the first): doubles each time up to the maximum, ±20 % jitter.
    pub(crate) fn delay(&self, failures: u32, rng: &mut fastrand::Rng) -> Duration {
        let doublings = failures.saturating_sub(1).min(20);
        let plain = self.initial.saturating_mul(1 << doublings).min(self.max);
        plain.mul_f64(0.8 + 0.4 * rng.f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_doubles_up_to_the_maximum_within_the_jitter() {
        let backoff = Backoff {
            initial: Duration::from_millis(100),
            max: Duration::from_secs(1),
        };
        let mut rng = fastrand::Rng::with_seed(1);
        for (failures, plain_ms) in [
            (1, 100.0),
            (2, 200.0),
            (3, 400.0),
            (4, 800.0),
            (5, 1000.0),
            (500, 1000.0),
        ] {
            let ms = backoff.delay(failures, &mut rng).as_secs_f64() * 1e3;
            assert!(
                ms >= plain_ms * 0.8 - 0.1 && ms <= plain_ms * 1.2 + 0.1,
                "{failures} failures gave {ms} ms"
            );
        }
    }
}
