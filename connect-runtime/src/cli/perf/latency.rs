//! Latencies: recorded in microseconds, summed up in milliseconds. Pure.
//!
//! A histogram of fixed size (three significant digits, 1 µs to one hour; what is longer counts as one hour).

use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::{Value, json};

const HIGHEST_MICROS: u64 = 3_600_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;

/// The latencies of a run.
#[derive(Debug)]
pub(super) struct Latencies {
    micros: Histogram<u64>,
}

/// The sum of a run's latencies, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LatencySummary {
    /// Mean.
    pub(super) avg: f64,
    /// Median.
    pub(super) p50: f64,
    /// 95 of 100 were not longer.
    pub(super) p95: f64,
    /// 99 of 100 were not longer.
    pub(super) p99: f64,
    /// 999 of 1000 were not longer.
    pub(super) p99_9: f64,
    /// The longest.
    pub(super) max: f64,
}

impl Latencies {
    /// No latencies yet.
    pub(super) fn new() -> Self {
        match Histogram::new_with_bounds(1, HIGHEST_MICROS, SIGNIFICANT_DIGITS) {
            Ok(micros) => Self { micros },
            Err(error) => unreachable!("the bounds are constants that every test of this file uses: {error}"),
        }
    }

    /// Records one latency.
    pub(super) fn record(&mut self, latency: Duration) {
        let micros = u64::try_from(latency.as_micros()).unwrap_or(HIGHEST_MICROS);
        self.micros.saturating_record(micros);
    }

    /// The summary; `None` if nothing was recorded.
    pub(super) fn summary(&self) -> Option<LatencySummary> {
        let at = |quantile| self.micros.value_at_quantile(quantile) as f64 / 1000.0;
        (!self.micros.is_empty()).then(|| LatencySummary {
            avg: self.micros.mean() / 1000.0,
            p50: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
            p99_9: at(0.999),
            max: self.micros.max() as f64 / 1000.0,
        })
    }
}

impl LatencySummary {
    /// As a JSON object.
    pub(super) fn to_json(self) -> Value {
        json!({
            "avg": self.avg,
            "p50": self.p50,
            "p95": self.p95,
            "p99": self.p99,
            "p99_9": self.p99_9,
            "max": self.max,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_in_milliseconds() {
        let mut latencies = Latencies::new();
        assert_eq!(latencies.summary(), None);
        for ms in 1..=1000 {
            latencies.record(Duration::from_millis(ms));
        }
        let summary = latencies.summary().unwrap();
        for (value, exact) in [
            (summary.avg, 500.5),
            (summary.p50, 500.0),
            (summary.p95, 950.0),
            (summary.p99, 990.0),
            (summary.p99_9, 999.0),
            (summary.max, 1000.0),
        ] {
            assert!((value - exact).abs() <= exact / 500.0, "{value} for {exact}");
        }
    }

    #[test]
    fn a_latency_beyond_the_bounds_counts_as_the_longest() {
        let mut latencies = Latencies::new();
        latencies.record(Duration::MAX);
        latencies.record(Duration::ZERO);
        assert!(latencies.summary().unwrap().max >= HIGHEST_MICROS as f64 / 1000.0);
        assert!(latencies.summary().unwrap().p50 <= 0.001);
    }
}
