//! `cargo xtask faults`: the whole table of faults on the transaction path, on real brokers, and its report.
//!
//! The table itself is a test (`tests/tests/client_faults`); an environment variable makes it run whole and write its rows. Here they
//! are put together. What it says is replaced in `docs/evidence/`, whatever the result is.

mod report;
mod row;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};

use crate::kafka::{Jvm, Missing, Version};
use crate::{librdkafka, workspace};
use report::Page;
use row::Row;

/// The evidence files, below the root: the summary, and every run.
const SUMMARY: &str = "docs/evidence/faults.md";
const TABLE: &str = "docs/evidence/faults.tsv";
const VERSIONS: [Version; 3] = [Version::V3_3_2, Version::V3_9_1, Version::V4_4_0];

/// Runs the table and writes the report; says whether every run ended as it must.
///
/// # Errors
/// If something cannot be built, fetched, started or written, or the table did not come to its end.
pub fn run(missing: Missing) -> Result<bool> {
    let root = workspace::root()?;
    for version in VERSIONS {
        Jvm::prepare(version, missing)?;
    }
    librdkafka::prepare(missing)?;
    let dir = workspace::target_dir()?.join("faults");
    // Rows of an earlier run must not be taken for this one's.
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).with_context(|| format!("{} cannot be created", dir.display()))?;
    let begun = Instant::now();
    let passed = table(&root, &dir)?;
    let rows = read(&dir)?;
    let page = Page {
        rows: &rows,
        commit: commit(&root),
        took: begun.elapsed(),
    };
    let summary = page.summary();
    println!("{summary}");
    write(&root.join(SUMMARY), &summary)?;
    write(&root.join(TABLE), &page.table())?;
    Ok(passed && rows.iter().all(Row::is_good))
}

/// Runs the test; its progress is shown as it comes.
fn table(root: &Path, dir: &Path) -> Result<bool> {
    let status = Command::new(workspace::cargo())
        .args([
            "test",
            "--locked",
            "-p",
            "sealwax-tests",
            "--test",
            "client_faults",
        ])
        .args(["--", "table_", "--nocapture"])
        .env("SEALWAX_FAULTS", dir)
        .current_dir(root)
        .status()
        .context("cargo cannot be started")?;
    Ok(status.success())
}

fn read(dir: &Path) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for version in VERSIONS {
        let path = dir.join(format!("{version}.tsv"));
        let text = fs::read_to_string(&path)
            .with_context(|| format!("the table of {version} did not come to its end"))?;
        for line in text.lines() {
            rows.push(Row::parse(line).with_context(|| format!("{line:?} is no row"))?);
        }
    }
    Ok(rows)
}

/// The commit that was tried, with its date, if this is a git repository.
fn commit(root: &Path) -> Option<String> {
    let output = Command::new("git")
        .args(["log", "-1", "--format=%h of %cs"])
        .current_dir(root)
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}
