//! Counts tests by the lines in which libtest sums up each test program. Pure.

use crate::outcome::Outcome;

/// How many passed, failed and were left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) passed: u64,
    pub(super) failed: u64,
    pub(super) ignored: u64,
}

impl Counts {
    /// A step that is one check.
    pub(super) fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Passed => Self {
                passed: 1,
                ..Self::default()
            },
            Outcome::Failed => Self {
                failed: 1,
                ..Self::default()
            },
        }
    }

    /// Adds `test result: ok. 5 passed; 0 failed; 1 ignored; …`; other lines are nothing.
    pub(super) fn add_result_line(&mut self, line: &str) {
        let Some(sums) = line.strip_prefix("test result: ") else {
            return;
        };
        let sums = sums.split_once(". ").map_or("", |(_, sums)| sums);
        for sum in sums.split("; ") {
            let Some((number, what)) = sum.split_once(' ') else {
                continue;
            };
            let Ok(number) = number.parse::<u64>() else {
                continue;
            };
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                _ => {}
            }
        }
    }

    /// Adds another count.
    pub(super) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_result_lines() {
        let mut counts = Counts::default();
        counts.add_result_line(
            "test result: ok. 25 passed; 0 failed; 2 ignored; 0 measured; 3 filtered out; finished in 0.03s",
        );
        counts.add_result_line("test result: FAILED. 51 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.12s");
        counts.add_result_line("test a::b ... ok");
        assert_eq!(
            counts,
            Counts {
                passed: 76,
                failed: 1,
                ignored: 2
            }
        );
    }
}
