//! The figures of one run, as text in the shape of Kafka's own tools and as one JSON object. Pure.
//!
//! MB is 1024 × 1024 bytes, as in Kafka's tools; bytes are those of values. JSON keys are stable: added, never renamed.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

use super::cpu::CpuSeconds;
use super::latency::LatencySummary;

/// One MB of Kafka's tools, in bytes.
pub(super) const MB: f64 = 1024.0 * 1024.0;

/// What was measured.
#[derive(Debug)]
pub(super) struct Figures {
    /// `produce`, `consume` or `transactions`.
    pub(super) verb: &'static str,
    /// What was done with the records: `sent`, `consumed`.
    pub(super) done: &'static str,
    /// Records that came to a good end.
    pub(super) records: u64,
    /// Bytes of their values.
    pub(super) bytes: u64,
    /// Records that failed.
    pub(super) failed: u64,
    /// Committed transactions, if the run had any to make.
    pub(super) transactions: Option<u64>,
    /// From the first call to the last answer.
    pub(super) elapsed: Duration,
    /// What the latencies are of, and their summary; `None` where nothing was timed.
    pub(super) latency: Option<(&'static str, LatencySummary)>,
    /// Processor time of this process meanwhile; `None` where the system does not tell.
    pub(super) cpu: Option<CpuSeconds>,
}

impl Figures {
    /// The object of `--json`.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "verb": self.verb,
            "records": self.records,
            "bytes": self.bytes,
            "failed": self.failed,
            "transactions": self.transactions,
            "seconds": self.elapsed.as_secs_f64(),
            "records_per_second": self.per_second(self.records as f64),
            "mb_per_second": self.per_second(self.bytes as f64 / MB),
            "transactions_per_second": self.transactions.map(|count| self.per_second(count as f64)),
            "latency_of": self.latency.map(|(of, _)| of),
            "latency_ms": self.latency.map(|(_, summary)| summary.to_json()),
            "cpu_seconds": self.cpu.map(|cpu| json!({ "user": cpu.user, "system": cpu.system, "total": cpu.total() })),
        })
    }

    fn per_second(&self, count: f64) -> f64 {
        per_second(count, self.elapsed)
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} records {} in {:.3} s, {:.1} records/sec ({:.2} MB/sec)",
            self.records,
            self.done,
            self.elapsed.as_secs_f64(),
            self.per_second(self.records as f64),
            self.per_second(self.bytes as f64 / MB),
        )?;
        if let Some(count) = self.transactions {
            write!(
                f,
                "\n{count} transactions committed, {:.1} transactions/sec",
                self.per_second(count as f64)
            )?;
        }
        if let Some((of, l)) = &self.latency {
            write!(
                f,
                "\nlatency {of}: {:.2} ms avg, {:.2} ms 50th, {:.2} ms 95th, {:.2} ms 99th, {:.2} ms 99.9th, {:.2} ms max",
                l.avg, l.p50, l.p95, l.p99, l.p99_9, l.max
            )?;
        }
        match self.cpu {
            Some(cpu) => write!(
                f,
                "\nCPU of this process: {:.2} s (user {:.2} s, system {:.2} s)",
                cpu.total(),
                cpu.user,
                cpu.system
            ),
            None => write!(
                f,
                "\nCPU of this process: not known, this system does not tell it"
            ),
        }
    }
}

/// A count per second; 0 if no time passed.
pub(super) fn per_second(count: f64, elapsed: Duration) -> f64 {
    let seconds = elapsed.as_secs_f64();
    if seconds > 0.0 { count / seconds } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Figures {
        let summary = LatencySummary {
            avg: 1.5,
            p50: 1.0,
            p95: 2.0,
            p99: 3.0,
            p99_9: 4.0,
            max: 5.0,
        };
        Figures {
            verb: "produce",
            done: "sent",
            records: 2000,
            bytes: 2 * 1024 * 1024,
            failed: 0,
            transactions: None,
            elapsed: Duration::from_secs(2),
            latency: Some(("send to acknowledgement", summary)),
            cpu: Some(CpuSeconds {
                user: 0.5,
                system: 0.25,
            }),
        }
    }

    #[test]
    fn the_text_has_rates_latencies_and_processor_time() {
        assert_eq!(
            figures().to_string(),
            "2000 records sent in 2.000 s, 1000.0 records/sec (1.00 MB/sec)\n\
             latency send to acknowledgement: 1.50 ms avg, 1.00 ms 50th, 2.00 ms 95th, 3.00 ms 99th, 4.00 ms 99.9th, 5.00 ms max\n\
             CPU of this process: 0.75 s (user 0.50 s, system 0.25 s)"
        );
    }

    #[test]
    fn what_is_not_known_is_said_and_never_zero() {
        let unknown = Figures {
            cpu: None,
            latency: None,
            elapsed: Duration::ZERO,
            ..figures()
        };
        assert!(
            unknown
                .to_string()
                .ends_with("CPU of this process: not known, this system does not tell it")
        );
        assert_eq!(unknown.to_json()["cpu_seconds"], Value::Null);
        assert_eq!(unknown.to_json()["latency_ms"], Value::Null);
        assert_eq!(unknown.to_json()["records_per_second"], 0.0);
    }
}
