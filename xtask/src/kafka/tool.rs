//! Runs one of Kafka's Java tools to its end and hands back what it printed.

use std::process::Output;

use anyhow::{Context, Result, ensure};

use super::jvm::Jvm;

/// Runs `main_class` with `arguments`; returns its standard output.
///
/// The class names of the usual tools per version: [`Version::main_class`](super::Version::main_class).
///
/// # Errors
/// If Java cannot be started or the tool's exit code is not 0; the error holds what it printed.
pub fn run_java_tool<S: AsRef<str>>(jvm: &Jvm, main_class: &str, arguments: &[S]) -> Result<String> {
    let mut command = jvm.tool(main_class)?;
    let output = command
        .args(arguments.iter().map(AsRef::as_ref))
        .output()
        .context("Java cannot be started")?;
    ensure!(
        output.status.success(),
        "{main_class} failed ({}):\n{}",
        output.status,
        printed(&output)
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn printed(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}
