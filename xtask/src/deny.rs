//! `cargo xtask deny`: licences, bans, sources and advisories of the dependencies, by cargo-deny after `deny.toml`.
//!
//! Building cargo-deny takes minutes, so it is installed only when asked for (`--install`); where it is missing, or the
//! advisory database cannot be fetched, that part is said to be skipped, never passed.

use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};

use crate::kafka::Missing;
use crate::outcome::Outcome;

/// Runs cargo-deny's checks and prints what they find.
///
/// # Errors
/// If cargo cannot be started, or cargo-deny was to be installed and could not be.
pub fn check(root: &Path, missing: Missing) -> Result<Outcome> {
    if !is_installed(root) {
        match missing {
            Missing::Name => {
                return Ok(Outcome::Skipped(
                    "cargo-deny is not installed (`cargo xtask deny --install`)".to_owned(),
                ));
            }
            Missing::Install => install(root)?,
        }
    }
    let rules = run(root, &["bans", "licenses", "sources"])?;
    if !rules.status.success() {
        print!("{}", printed(&rules));
        return Ok(Outcome::Failed);
    }
    println!("bans, licenses, sources: ok");
    let advisories = run(root, &["advisories"])?;
    let text = printed(&advisories);
    if advisories.status.success() {
        println!("advisories: ok");
        return Ok(Outcome::Passed);
    }
    if text.contains("failed to fetch advisory database") {
        return Ok(Outcome::Skipped(
            "the rest is ok; the advisory database cannot be fetched".to_owned(),
        ));
    }
    print!("{text}");
    Ok(Outcome::Failed)
}

fn is_installed(root: &Path) -> bool {
    let version = Command::new(crate::workspace::cargo())
        .args(["deny", "--version"])
        .current_dir(root)
        .output();
    version.is_ok_and(|output| output.status.success())
}

fn install(root: &Path) -> Result<()> {
    println!("installing cargo-deny; this takes minutes …");
    let status = Command::new(crate::workspace::cargo())
        .args(["install", "--locked", "cargo-deny"])
        .current_dir(root)
        .status()
        .context("cargo cannot be started")?;
    ensure!(status.success(), "cargo install cargo-deny failed ({status})");
    Ok(())
}

fn run(root: &Path, checks: &[&str]) -> Result<Output> {
    let mut command = Command::new(crate::workspace::cargo());
    command
        .args(["deny", "--locked", "check", "--hide-inclusion-graph"])
        .args(checks)
        .current_dir(root);
    command.output().context("cargo cannot be started")
}

fn printed(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}
