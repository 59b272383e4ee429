//! Numbered lines, and what a reader must have seen of them.

use std::path::Path;

use anyhow::{Context, Result, bail};

/// Writes the lines `1` to `count`, each with its newline.
///
/// # Errors
/// If the file cannot be written.
pub fn write(path: &Path, count: u64) -> Result<()> {
    let text: String = (1..=count)
        .flat_map(|number| [number.to_string(), "\n".to_owned()])
        .collect();
    std::fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}

/// How a sequence of read lines differs from `1..=count` in order; `None` if it does not.
#[must_use]
pub fn difference(lines: &[String], count: u64) -> Option<String> {
    for (index, line) in lines.iter().enumerate() {
        let wanted = index as u64 + 1;
        if line.parse() != Ok(wanted) {
            return Some(format!(
                "record {index} is {line:?} instead of {wanted} ({} records in all)",
                lines.len()
            ));
        }
    }
    (lines.len() as u64 != count).then(|| format!("{} records instead of {count}", lines.len()))
}

/// Holds a sequence of read lines to `1..=count` in order.
///
/// # Errors
/// How it differs.
pub fn check(lines: &[String], count: u64) -> Result<()> {
    match difference(lines, count) {
        None => Ok(()),
        Some(difference) => bail!(difference),
    }
}

/// How many lines came more than once.
#[must_use]
pub fn duplicates(lines: &[String]) -> usize {
    let mut sorted: Vec<&String> = lines.iter().collect();
    sorted.sort_unstable();
    sorted.windows(2).filter(|pair| pair[0] == pair[1]).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(numbers: &[u64]) -> Vec<String> {
        numbers.iter().map(u64::to_string).collect()
    }

    #[test]
    fn each_kind_of_difference_is_seen() {
        assert_eq!(difference(&lines(&[1, 2, 3]), 3), None);
        assert!(check(&lines(&[1, 2, 3]), 3).is_ok() && check(&lines(&[1, 3, 2]), 3).is_err());
        assert!(difference(&lines(&[1, 2]), 3).is_some());
        assert!(difference(&lines(&[1, 3, 2]), 3).is_some());
        assert!(difference(&lines(&[1, 2, 2, 3]), 3).is_some());
        assert!(difference(&lines(&[1, 2, 3, 4]), 3).is_some());
        assert_eq!(duplicates(&lines(&[1, 2, 2, 3, 1])), 2);
    }
}
