//! `cargo xtask sizes`: no hub files, no endless functions, and every file says what it decides.
//!
//! A file of more than 800 production lines or a function of more than 100 fails; from 500 and 60 on they are listed for review.
//! Test code is excepted, and so are the tables that `table` lists. Every Rust file must begin with `//!`.

mod count;
mod table;

use std::path::Path;

use anyhow::Result;

use crate::source::{SourceFile, rust_files};
use count::measure;
use table::TABLES;

/// A limit with the size from which a reviewer should look.
struct Limit {
    review: usize,
    stop: usize,
}

const FILE: Limit = Limit {
    review: 500,
    stop: 800,
};
const FUNCTION: Limit = Limit {
    review: 60,
    stop: 100,
};

/// What one look at a file found.
#[derive(Debug, Default, PartialEq, Eq)]
struct Findings {
    failures: Vec<String>,
    reviews: Vec<String>,
}

/// Prints what is too big or undocumented; says whether nothing fails.
///
/// # Errors
/// If the source cannot be read.
pub fn check(root: &Path) -> Result<bool> {
    let files = rust_files(root)?;
    let mut all = Findings::default();
    for file in &files {
        let found = look_at(file);
        all.failures.extend(found.failures);
        all.reviews.extend(found.reviews);
    }
    for text in &all.reviews {
        println!("review: {text}");
    }
    for text in &all.failures {
        println!("too much: {text}");
    }
    println!(
        "sizes: {} files, {} to review, {} failures",
        files.len(),
        all.reviews.len(),
        all.failures.len()
    );
    Ok(all.failures.is_empty())
}

fn look_at(file: &SourceFile) -> Findings {
    let mut findings = Findings::default();
    let shown = file.shown();
    if !file.text.starts_with("//!") {
        findings.failures.push(format!(
            "{shown}:1: does not begin with `//!` (what this room decides, its inputs and outputs)"
        ));
    }
    if file.is_test() {
        return findings;
    }
    let measure = measure(&file.text);
    if !TABLES.iter().any(|(table, _)| *table == shown) {
        findings.add(
            &FILE,
            measure.lines,
            format!("{shown}: {} production lines", measure.lines),
        );
    }
    for function in measure.functions {
        let text = format!(
            "{shown}:{}: fn {} has {} lines",
            function.line, function.name, function.lines
        );
        findings.add(&FUNCTION, function.lines, text);
    }
    findings
}

impl Findings {
    fn add(&mut self, limit: &Limit, size: usize, text: String) {
        if size > limit.stop {
            self.failures.push(format!("{text} (at most {})", limit.stop));
        } else if size > limit.review {
            self.reviews.push(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(path: &str, text: String) -> Findings {
        look_at(&SourceFile {
            package: "p".to_owned(),
            path: path.to_owned(),
            text,
        })
    }

    #[test]
    fn long_functions_and_files_fail() {
        let body = |lines: usize| format!("//! Doc.\nfn long() {{\n{}}}\n", "    call();\n".repeat(lines));
        assert_eq!(look("src/a.rs", body(50)), Findings::default());
        assert_eq!(
            look("src/a.rs", body(80)).reviews,
            ["p/src/a.rs:2: fn long has 82 lines"]
        );
        assert_eq!(
            look("src/a.rs", body(99)).failures,
            ["p/src/a.rs:2: fn long has 101 lines (at most 100)"]
        );
        assert_eq!(look("src/a.rs", body(900)).failures.len(), 2);
        assert_eq!(look("tests/a.rs", body(900)), Findings::default());
    }

    #[test]
    fn a_file_without_a_head_fails() {
        assert_eq!(look("tests/a.rs", "fn a() {}".to_owned()).failures.len(), 1);
    }
}
