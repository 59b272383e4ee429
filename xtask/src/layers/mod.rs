//! `cargo xtask layers`: imports go one way. Between packages (cargo's metadata), between the rooms of a package (paths in the
//! source), and for names that a layer must not know. The rules are data, in `table`; a violation names file, line and rule.

mod crates;
mod names;
mod paths;
mod rooms;
mod table;

use std::fmt;
use std::path::Path;

use anyhow::Result;

use crate::metadata;
use crate::source::{SourceFile, rust_files};
use table::{NAMES, PACKAGES, Rooms};

/// A place that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    file: String,
    line: usize,
    rule: String,
}

impl Violation {
    fn new(file: &str, line: usize, rule: String) -> Self {
        Self {
            file: file.to_owned(),
            line,
            rule,
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.rule)
    }
}

/// Prints every violation; says whether there was none.
///
/// # Errors
/// If the source or cargo's metadata cannot be read.
pub fn check(root: &Path) -> Result<bool> {
    let files = rust_files(root)?;
    let mut violations = crates::check(&crates::parse(&metadata::read(root, &["--no-deps"])?)?, PACKAGES);
    for package in PACKAGES {
        let own: Vec<&SourceFile> = files.iter().filter(|file| file.package == package.dir).collect();
        violations.extend(match package.rooms {
            Rooms::Acyclic => rooms::check_acyclic(&own),
            Rooms::Table(rules) => {
                let mut found = rooms::check_rules(package.name, rules);
                found.extend(rooms::check_table(&own, rules));
                found
            }
            Rooms::Free => Vec::new(),
        });
    }
    violations.extend(files.iter().flat_map(|file| names::check(file, NAMES)));
    violations.sort();
    for violation in &violations {
        println!("{violation}");
    }
    println!("layers: {} files, {} violations", files.len(), violations.len());
    Ok(violations.is_empty())
}
