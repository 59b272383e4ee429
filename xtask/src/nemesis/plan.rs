//! What is done to a cluster and its clients, and when: drawn from a seed, written down as JSON, read back from it. Pure.
//!
//! A period has its faults for `hold` and then none for `rest`. A quarter of the periods is clean.

use std::time::Duration;

use anyhow::{Context, Result};
use fastrand::Rng;
use serde_json::{Value, json};

use super::fault::Fault;

/// The periods of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    /// The seed from which it was drawn; the workload draws from it too.
    pub(super) seed: u64,
    /// One after the other.
    pub(super) periods: Vec<Period>,
}

/// Faults that last together, and then time to recover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Period {
    /// None in a clean period.
    pub(super) faults: Vec<Fault>,
    /// How long they last.
    pub(super) hold: Duration,
    /// How long it is quiet afterwards.
    pub(super) rest: Duration,
}

impl Plan {
    /// A plan that takes `length` in all.
    #[must_use]
    pub(super) fn draw(seed: u64, length: Duration) -> Self {
        let mut rng = Rng::with_seed(seed);
        let mut periods = Vec::new();
        // A clean start, so that the workload is under way when it is hit first.
        let mut left = length.saturating_sub(Duration::from_secs(5));
        while left > Duration::ZERO {
            let period = Period::draw(&mut rng);
            left = left.saturating_sub(period.hold + period.rest);
            periods.push(period);
        }
        Self { seed, periods }
    }

    /// As JSON.
    #[must_use]
    pub(super) fn to_json(&self) -> Value {
        let periods: Vec<Value> = self.periods.iter().map(Period::to_json).collect();
        json!({ "seed": self.seed, "periods": periods })
    }

    /// From JSON.
    ///
    /// # Errors
    /// If it is no plan, or names a node, partition or writer that there is not.
    pub(super) fn from_json(value: &Value) -> Result<Self> {
        let periods = value["periods"].as_array().context("no periods")?;
        Ok(Self {
            seed: value["seed"].as_u64().context("no seed")?,
            periods: periods.iter().map(Period::from_json).collect::<Result<_>>()?,
        })
    }
}

impl Period {
    fn draw(rng: &mut Rng) -> Self {
        let mut faults = Vec::new();
        match rng.u8(0..8) {
            0 | 1 => {}
            2 => faults.push(Fault::draw_on_writers(rng)),
            3 => faults.extend([Fault::draw_on_nodes(rng), Fault::draw_on_writers(rng)]),
            _ => faults.push(Fault::draw_on_nodes(rng)),
        }
        Self {
            faults,
            hold: Duration::from_millis(rng.u64(3_000..9_000)),
            rest: Duration::from_millis(rng.u64(5_000..10_000)),
        }
    }

    fn to_json(&self) -> Value {
        let faults: Vec<Value> = self.faults.iter().copied().map(Fault::to_json).collect();
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        json!({ "faults": faults, "hold_ms": millis(self.hold), "rest_ms": millis(self.rest) })
    }

    fn from_json(value: &Value) -> Result<Self> {
        let millis = |key: &str| {
            let millis = value[key].as_u64().with_context(|| format!("no {key}"))?;
            anyhow::Ok(Duration::from_millis(millis))
        };
        let faults = value["faults"].as_array().context("no faults")?;
        Ok(Self {
            faults: faults.iter().map(Fault::from_json).collect::<Result<_>>()?,
            hold: millis("hold_ms")?,
            rest: millis("rest_ms")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ten_minutes(seed: u64) -> Plan {
        Plan::draw(seed, Duration::from_secs(600))
    }

    #[test]
    fn a_plan_survives_its_json_and_a_seed_repeats_its_plan() {
        for seed in 0..50 {
            let plan = ten_minutes(seed);
            assert_eq!(Plan::from_json(&plan.to_json()).unwrap(), plan);
            assert_eq!(ten_minutes(seed), plan);
        }
        assert_ne!(ten_minutes(1).periods, ten_minutes(2).periods);
    }

    #[test]
    fn a_plan_fills_its_time_and_a_quarter_of_it_is_clean() {
        let mut clean = 0;
        let mut all = 0;
        for seed in 0..50 {
            let plan = ten_minutes(seed);
            let taken: Duration = plan.periods.iter().map(|period| period.hold + period.rest).sum();
            assert!(taken >= Duration::from_secs(595) && taken < Duration::from_secs(595 + 19));
            clean += plan
                .periods
                .iter()
                .filter(|period| period.faults.is_empty())
                .count();
            all += plan.periods.len();
        }
        assert!((all / 5..all / 3).contains(&clean), "{clean} of {all}");
    }
}
