//! Counts while a run goes on, and makes a progress line each five seconds in the words of Kafka's tools. Pure: the time is
//! an argument.
//!
//! Input: records with their bytes and latencies. Output: progress lines, and the sums for the run's figures.

use std::time::{Duration, Instant};

use super::figures::{MB, per_second};
use super::latency::Latencies;

/// How often a progress line is made.
const REPORTING_INTERVAL: Duration = Duration::from_secs(5);

/// The counts of a run.
#[derive(Debug)]
pub(super) struct Meter {
    done: &'static str,
    records: u64,
    bytes: u64,
    latencies: Latencies,
    window: Window,
}

/// The counts since the last progress line.
#[derive(Debug)]
struct Window {
    start: Instant,
    records: u64,
    bytes: u64,
    samples: u64,
    latency_sum: Duration,
    latency_max: Duration,
}

impl Meter {
    /// Nothing counted. `done` is what happens to records: `sent`, `consumed`.
    pub(super) fn new(done: &'static str, start: Instant) -> Self {
        Self {
            done,
            records: 0,
            bytes: 0,
            latencies: Latencies::new(),
            window: Window::new(start),
        }
    }

    /// Counts records with the latency they share, if one was taken. Returns a progress line when it is time for one.
    pub(super) fn add(
        &mut self,
        records: u64,
        bytes: u64,
        latency: Option<Duration>,
        now: Instant,
    ) -> Option<String> {
        self.records += records;
        self.bytes += bytes;
        if let Some(latency) = latency {
            self.latencies.record(latency);
        }
        self.window.add(records, bytes, latency);
        let lasted = now.saturating_duration_since(self.window.start);
        (lasted >= REPORTING_INTERVAL).then(|| {
            let line = self.window.line(self.done, lasted);
            self.window = Window::new(now);
            line
        })
    }

    /// Records counted.
    pub(super) fn records(&self) -> u64 {
        self.records
    }

    /// Bytes counted.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// All latencies.
    pub(super) fn latencies(&self) -> &Latencies {
        &self.latencies
    }
}

impl Window {
    fn new(start: Instant) -> Self {
        Self {
            start,
            records: 0,
            bytes: 0,
            samples: 0,
            latency_sum: Duration::ZERO,
            latency_max: Duration::ZERO,
        }
    }

    fn add(&mut self, records: u64, bytes: u64, latency: Option<Duration>) {
        self.records += records;
        self.bytes += bytes;
        if let Some(latency) = latency {
            self.samples += 1;
            self.latency_sum = self.latency_sum.saturating_add(latency);
            self.latency_max = self.latency_max.max(latency);
        }
    }

    fn line(&self, done: &str, lasted: Duration) -> String {
        let rate = format!(
            "{} records {done}, {:.1} records/sec ({:.2} MB/sec)",
            self.records,
            per_second(self.records as f64, lasted),
            per_second(self.bytes as f64 / MB, lasted),
        );
        if self.samples == 0 {
            return rate;
        }
        let ms = |d: Duration| d.as_secs_f64() * 1000.0;
        format!(
            "{rate}, {:.1} ms avg latency, {:.1} ms max latency",
            ms(self.latency_sum) / self.samples as f64,
            ms(self.latency_max)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_each_five_seconds_over_the_records_since_the_last() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let ms = |ms| Some(Duration::from_millis(ms));
        let mut meter = Meter::new("sent", start);
        assert_eq!(meter.add(1, 1024 * 1024, ms(10), at(4)), None);
        assert_eq!(
            meter.add(9, 9 * 1024 * 1024, ms(30), at(5)).as_deref(),
            Some("10 records sent, 2.0 records/sec (2.00 MB/sec), 20.0 ms avg latency, 30.0 ms max latency")
        );
        assert_eq!(meter.add(1, 0, None, at(9)), None);
        assert_eq!(
            meter.add(1, 0, None, at(11)).as_deref(),
            Some("2 records sent, 0.3 records/sec (0.00 MB/sec)")
        );
        assert_eq!((meter.records(), meter.bytes()), (12, 10 * 1024 * 1024));
    }
}
