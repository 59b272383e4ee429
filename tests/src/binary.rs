//! The `sealwax` binary, built once per test process.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::Value;

/// Path of the binary, built from the present sources.
///
/// # Errors
/// If cargo cannot build it.
pub fn sealwax() -> Result<PathBuf> {
    static PATH: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    PATH.get_or_init(|| build().map_err(|error| format!("{error:#}")))
        .clone()
        .map_err(|reason| anyhow!(reason))
}

fn build() -> Result<PathBuf> {
    let output = Command::new(env!("CARGO"))
        .args([
            "build",
            "--quiet",
            "--package",
            "sealwax-connect",
            "--bin",
            "sealwax",
            "--message-format",
            "json",
        ])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .output()
        .context("cargo cannot be started")?;
    ensure!(
        output.status.success(),
        "cargo build failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == "sealwax" && message["target"]["kind"][0] == "bin")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .context("cargo named no executable")
}
