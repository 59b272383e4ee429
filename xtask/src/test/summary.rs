//! The table at the end of `cargo xtask test`. Pure.

use std::fmt;
use std::time::Duration;

use super::counts::Counts;
use crate::outcome::Outcome;

/// One step that was made.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) outcome: Outcome,
    pub(super) counts: Counts,
    pub(super) time: Duration,
}

/// All steps; its `Display` is the table and the closing line.
#[derive(Debug, Default)]
pub(super) struct Summary {
    steps: Vec<Step>,
}

impl Summary {
    pub(super) fn add(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// Whether no step failed.
    pub(super) fn is_good(&self) -> bool {
        self.steps.iter().all(|step| step.outcome != Outcome::Failed)
    }

    fn total(&self) -> Counts {
        let mut total = Counts::default();
        for step in &self.steps {
            total.add(step.counts);
        }
        total
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\n{:<24} {:>8} {:>8} {:>8} {:>9}",
            "step", "passed", "failed", "ignored", "time"
        )?;
        for step in &self.steps {
            let Counts {
                passed,
                failed,
                ignored,
            } = step.counts;
            write!(
                f,
                "{:<24} {passed:>8} {failed:>8} {ignored:>8} {:>7.1} s",
                step.name,
                step.time.as_secs_f32()
            )?;
            match step.outcome {
                Outcome::Passed => writeln!(f)?,
                Outcome::Failed => writeln!(f, "  FAILED")?,
            }
        }
        let total = self.total();
        let time: Duration = self.steps.iter().map(|step| step.time).sum();
        writeln!(f, "\n{} ignored, {:.0} s", total.ignored, time.as_secs_f32())?;
        writeln!(f, "{} passed, {} failed", total.passed, total.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &'static str, outcome: Outcome) -> Step {
        Step {
            name,
            counts: Counts::of(outcome),
            outcome,
            time: Duration::from_millis(1500),
        }
    }

    #[test]
    fn closes_with_the_counts() {
        let mut summary = Summary::default();
        summary.add(step("a", Outcome::Passed));
        assert!(summary.is_good());
        assert!(
            summary.to_string().ends_with("\n1 passed, 0 failed\n"),
            "{summary}"
        );
        summary.add(step("c", Outcome::Failed));
        assert!(!summary.is_good());
        assert!(
            summary.to_string().ends_with("\n1 passed, 1 failed\n"),
            "{summary}"
        );
    }
}
