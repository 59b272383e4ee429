//! Holds a load to its rate. Pure: the time is an argument, the caller sleeps.

use std::time::{Duration, Instant};

/// A wait below this is not worth a timer; the rate catches up with the next one.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);

/// Longest single wait, so that a very low rate still reports its progress.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// A rate, counted from a start.
#[derive(Debug, Clone, Copy)]
pub(super) struct Throttle {
    start: Instant,
    per_second: Option<f64>,
}

impl Throttle {
    /// Holds to `per_second` from `start` on; `None` is without bounds.
    pub(super) fn new(per_second: Option<f64>, start: Instant) -> Self {
        Self { start, per_second }
    }

    /// How long to wait before the next record if `sent` were sent; `None` if it is due. Ask again after the wait.
    pub(super) fn wait(&self, sent: u64, now: Instant) -> Option<Duration> {
        let due = sent as f64 / self.per_second?;
        let ahead = due - now.saturating_duration_since(self.start).as_secs_f64();
        let ahead = Duration::try_from_secs_f64(ahead).ok()?;
        (ahead >= SHORTEST_WAIT).then_some(ahead.min(LONGEST_WAIT))
    }
}

/// Reads `--throughput`: records per second, or −1 for no bounds.
///
/// # Errors
/// If it is no number, or zero.
pub(super) fn parse(text: &str) -> Result<Throughput, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate < 0.0 => Ok(Throughput(None)),
        Ok(rate) if rate > 0.0 && rate.is_finite() => Ok(Throughput(Some(rate))),
        Ok(_) | Err(_) => Err("write records per second as a number above 0, or -1 for no limit".to_owned()),
    }
}

/// Records per second; `None` is without bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Throughput(pub(super) Option<f64>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_until_the_next_record_is_due() {
        let start = Instant::now();
        let throttle = Throttle::new(Some(100.0), start);
        let at = |ms| start + Duration::from_millis(ms);
        assert_eq!(throttle.wait(0, start), None);
        assert_eq!(throttle.wait(10, start), Some(Duration::from_millis(100)));
        assert_eq!(throttle.wait(10, at(60)), Some(Duration::from_millis(40)));
        assert_eq!(throttle.wait(10, at(100)), None);
        assert_eq!(
            throttle.wait(10, at(5000)),
            None,
            "what is late is not waited for"
        );
    }

    #[test]
    fn short_waits_are_gathered_and_long_ones_cut() {
        let start = Instant::now();
        assert_eq!(Throttle::new(Some(1_000_000.0), start).wait(999, start), None);
        assert!(
            Throttle::new(Some(1_000_000.0), start)
                .wait(1000, start)
                .is_some()
        );
        assert_eq!(
            Throttle::new(Some(0.001), start).wait(1, start),
            Some(LONGEST_WAIT)
        );
        assert_eq!(Throttle::new(None, start).wait(u64::MAX, start), None);
    }

    #[test]
    fn throughput_is_a_rate_or_unlimited() {
        assert_eq!(parse("-1"), Ok(Throughput(None)));
        assert_eq!(parse("2.5"), Ok(Throughput(Some(2.5))));
        for text in ["0", "", "fast", "inf", "NaN"] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }
}
