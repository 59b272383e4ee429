//! The numbered file, and the tally of numbers that a reader found. Pure but for the writing.

use std::fmt;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};

/// Writes the lines `1` to `count`.
pub(super) fn write(path: &Path, count: u64) -> Result<()> {
    let write = || -> std::io::Result<()> {
        let mut file = BufWriter::with_capacity(1 << 16, File::create(path)?);
        for number in 1..=count {
            writeln!(file, "{number}")?;
        }
        file.flush()
    };
    write().with_context(|| format!("{} cannot be written", path.display()))
}

/// Counts the numbers `1` to `expected` as they come: one bit per number, and the last one seen.
#[derive(Debug)]
pub(super) struct Tally {
    expected: u64,
    seen: Vec<u64>,
    counted: u64,
    distinct: u64,
    strange: u64,
    out_of_order: u64,
    last: u64,
}

impl Tally {
    /// An empty tally.
    pub(super) fn new(expected: u64) -> Self {
        let words = usize::try_from(expected / 64 + 1).unwrap_or(usize::MAX);
        Self {
            expected,
            seen: vec![0; words],
            counted: 0,
            distinct: 0,
            strange: 0,
            out_of_order: 0,
            last: 0,
        }
    }

    /// Takes one line.
    pub(super) fn add(&mut self, line: &str) {
        self.counted += 1;
        let number = line
            .parse::<u64>()
            .ok()
            .filter(|number| (1..=self.expected).contains(number));
        let slot =
            number.and_then(|number| Some((number, self.seen.get_mut(usize::try_from(number / 64).ok()?)?)));
        let Some((number, word)) = slot else {
            self.strange += 1;
            return;
        };
        let bit = 1 << (number % 64);
        if *word & bit == 0 {
            *word |= bit;
            self.distinct += 1;
            if number < self.last {
                self.out_of_order += 1;
            }
        }
        self.last = number;
    }

    /// Numbers that came again.
    pub(super) fn duplicates(&self) -> u64 {
        self.counted - self.strange - self.distinct
    }

    /// Numbers that did not come.
    pub(super) fn missing(&self) -> u64 {
        self.expected - self.distinct
    }

    /// Whether each number came once, in order, and nothing else.
    pub(super) fn is_exact(&self) -> bool {
        self.counted == self.expected && self.distinct == self.expected && self.out_of_order == 0
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (counted, duplicates, missing) = (self.counted, self.duplicates(), self.missing());
        write!(
            f,
            "counted {counted}, duplicates {duplicates}, missing {missing}, out of order {}",
            self.out_of_order
        )?;
        if self.strange > 0 {
            write!(f, ", not a number of the file {}", self.strange)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(expected: u64, lines: &[&str]) -> Tally {
        let mut tally = Tally::new(expected);
        lines.iter().for_each(|line| tally.add(line));
        tally
    }

    #[test]
    fn an_exact_run() {
        assert!(tally(3, &["1", "2", "3"]).is_exact());
        assert!(
            tally(
                64,
                &(1..=64)
                    .map(|n| n.to_string())
                    .collect::<Vec<_>>()
                    .iter()
                    .map(String::as_str)
                    .collect::<Vec<_>>()
            )
            .is_exact()
        );
    }

    #[test]
    fn every_fault_is_seen() {
        let text = |lines: &[&str]| {
            let tally = tally(3, lines);
            assert!(!tally.is_exact());
            tally.to_string()
        };
        assert_eq!(
            text(&["1", "2", "2", "3"]),
            "counted 4, duplicates 1, missing 0, out of order 0"
        );
        assert_eq!(
            text(&["1", "3"]),
            "counted 2, duplicates 0, missing 1, out of order 0"
        );
        assert_eq!(
            text(&["1", "3", "2"]),
            "counted 3, duplicates 0, missing 0, out of order 1"
        );
        assert!(text(&["1", "2", "4"]).ends_with("missing 1, out of order 0, not a number of the file 1"));
        assert!(text(&["1", "2", "3", "x"]).ends_with("not a number of the file 1"));
    }
}
