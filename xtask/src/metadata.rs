//! What cargo knows of the packages, as the JSON text of `cargo metadata`.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::workspace;

/// Asks cargo, with further arguments such as `--no-deps`.
pub(crate) fn read(root: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new(workspace::cargo())
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(arguments)
        .current_dir(root)
        .output()
        .context("cargo cannot be started")?;
    ensure!(
        output.status.success(),
        "cargo metadata failed:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).context("cargo metadata printed no UTF-8")
}
