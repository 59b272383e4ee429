//! `cargo xtask deny`: licences, bans, sources and advisories of the dependencies, by cargo-deny after `deny.toml`.
//!
//! cargo-deny is built once into the user's cache (it needs Rust and nothing else). The rules are checked offline and are part
//! of `cargo xtask test`; advisories need a database from the network, so only the verb checks them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};

use crate::outcome::Outcome;
use crate::workspace;

const VERSION: &str = "0.20.2";

/// Checks bans, licences and sources, and prints what breaks a rule.
///
/// # Errors
/// If cargo-deny cannot be built or started.
pub fn check_rules(root: &Path) -> Result<Outcome> {
    report(
        &run(root, &["bans", "licenses", "sources"])?,
        "bans, licenses, sources",
    )
}

/// Checks the advisories.
///
/// # Errors
/// If cargo-deny cannot be built or started, or the database of advisories cannot be fetched: unknown is not good.
pub fn check_advisories(root: &Path) -> Result<Outcome> {
    let advisories = run(root, &["advisories"])?;
    ensure!(
        !printed(&advisories).contains("failed to fetch advisory database"),
        "the advisories are not checked: their database cannot be fetched from the network"
    );
    report(&advisories, "advisories")
}

fn report(output: &Output, what: &str) -> Result<Outcome> {
    if output.status.success() {
        println!("{what}: ok");
        return Ok(Outcome::Passed);
    }
    print!("{}", printed(output));
    Ok(Outcome::Failed)
}

fn run(root: &Path, checks: &[&str]) -> Result<Output> {
    Command::new(binary()?)
        .args(["--locked", "check", "--hide-inclusion-graph"])
        .args(checks)
        .current_dir(root)
        .output()
        .context("cargo-deny cannot be started")
}

/// The binary, built if it is not in the cache yet.
fn binary() -> Result<PathBuf> {
    let home = workspace::cache_dir()?.join(format!("cargo-deny-{VERSION}"));
    let binary = home.join("bin/cargo-deny");
    if !binary.is_file() {
        println!("building cargo-deny {VERSION}, once; this takes some minutes …");
        let status = Command::new(workspace::cargo())
            .args([
                "install",
                "--quiet",
                "--locked",
                "cargo-deny",
                "--version",
                VERSION,
                "--root",
            ])
            .arg(&home)
            .status()
            .context("cargo cannot be started")?;
        ensure!(status.success(), "cargo install cargo-deny failed ({status})");
    }
    Ok(binary)
}

fn printed(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}
