//! Long forms of tests on real brokers that are short in the ordinary run: the same test, told by the environment to go on for longer.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result};

use super::report;
use crate::kafka::Version;
use crate::workspace;

/// What tests print for the report begins with this.
const REPORTED: &str = "evidence: ";

/// A test and how long its form is.
#[derive(Debug, Clone, Copy)]
pub enum Long {
    /// Three brokers are restarted in turn, each by SIGTERM, so many times, under producers that live through it.
    Rolling {
        /// How often each broker is restarted.
        rounds: u32,
    },
    /// Every broker is down for so long, while a producer with little memory goes on sending.
    Outage {
        /// For how long, in seconds.
        seconds: u32,
    },
}

impl Long {
    /// The test, and the variable with its value.
    fn told(self, version: Version) -> (String, [(&'static str, u32); 1]) {
        let suffix = version.as_str().replace('.', "_");
        match self {
            Self::Rolling { rounds } => (
                format!("brokers::are_restarted_in_turn_{suffix}"),
                [("SEALWAX_ROLLING_ROUNDS", rounds)],
            ),
            Self::Outage { seconds } => (
                format!("outage::memory_is_bounded_{suffix}"),
                [("SEALWAX_OUTAGE_SECONDS", seconds)],
            ),
        }
    }

    fn title(self, version: Version) -> String {
        match self {
            Self::Rolling { rounds } => {
                format!("{version}: rolling restart of three brokers, {rounds} times")
            }
            Self::Outage { seconds } => format!("{version}: every broker down for {seconds} s"),
        }
    }

    fn flag(self) -> String {
        match self {
            Self::Rolling { rounds } => format!("--rolling {rounds}"),
            Self::Outage { seconds } => format!("--outage {seconds}"),
        }
    }
}

/// Runs the long form and appends to the evidence; says whether the test passed.
///
/// # Errors
/// If cargo cannot be started or the evidence cannot be written.
pub fn run(long: Long, version: Version) -> Result<bool> {
    let root = workspace::root()?;
    let begun = Instant::now();
    let (test, variables) = long.told(version);
    let mut child = Command::new(workspace::cargo())
        .args([
            "test",
            "--locked",
            "-p",
            "sealwax-tests",
            "--test",
            "client_hardship",
        ])
        .args(["--", "--exact", &test, "--nocapture"])
        .envs(variables.map(|(name, value)| (name, value.to_string())))
        .current_dir(&root)
        .stdout(Stdio::piped())
        .spawn()
        .context("cargo cannot be started")?;
    let output = child.stdout.take().context("cargo has no output")?;
    let mut rows = Vec::new();
    let mut ran = false;
    for line in BufReader::new(output).lines() {
        let line = line.context("the output of cargo cannot be read")?;
        println!("{line}");
        ran |= line.starts_with("test result: ok. 1 passed");
        if let Some(told) = line.strip_prefix(REPORTED) {
            rows.push(("found", told.to_owned()));
        }
    }
    // A name that no test has passes without having run anything.
    let good = child.wait().context("waiting for cargo failed")?.success() && ran;
    rows.push(("verdict", if good { "good" } else { "NOT good" }.to_owned()));
    rows.push(("took", format!("{} s", begun.elapsed().as_secs())));
    let command = format!("cargo xtask nemesis --version {version} {}", long.flag());
    let section = report::section(&long.title(version), &command, &report::commit(&root), &rows);
    report::append(&root, &section)?;
    Ok(good)
}
