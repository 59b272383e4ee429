//! `cargo xtask test`: every check and every test, in one run, with one table at the end.
//!
//! All steps run even if an early one fails. The closing line counts each test of `cargo test` and each other step as one.

mod counts;
mod summary;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::demo::{self, Demo};
use crate::kafka::{Jvm, Missing, Version};
use crate::outcome::Outcome;
use crate::{deny, guards, layers, librdkafka, sizes, workspace};
use counts::Counts;
use summary::{Step, Summary};

/// The README's demo with a fifth of its lines: what the README promises is run here, too.
const SHORT_DEMO: Demo = Demo {
    version: Version::V4_4_0,
    lines: 200_000,
    kills: 5,
    seed: 3,
    release: false,
    missing: Missing::Name,
};

/// Runs everything; says whether all of it passed.
///
/// # Errors
/// Only if the repository cannot be found: a step that cannot run counts as failed.
pub fn run(missing: Missing) -> Result<bool> {
    let root = workspace::root()?;
    let mut summary = Summary::default();
    check(&mut summary, "rustfmt", || {
        cargo(&root, &["fmt", "--all", "--check"])
    });
    check(&mut summary, "layers", || layers::check(&root).map(Outcome::from));
    check(&mut summary, "sizes", || sizes::check(&root).map(Outcome::from));
    check(&mut summary, "guards", || guards::check(&root).map(Outcome::from));
    check(&mut summary, "cargo-deny", || deny::check_rules(&root));
    check(&mut summary, "clippy", || {
        cargo(
            &root,
            &[
                "clippy",
                "--workspace",
                "--all-targets",
                "--locked",
                "--",
                "-D",
                "warnings",
            ],
        )
    });
    check(&mut summary, "cargo doc", || {
        cargo(
            &root,
            &[
                "doc",
                "--workspace",
                "--no-deps",
                "--document-private-items",
                "--locked",
            ],
        )
    });
    check(&mut summary, "machines alone", || {
        cargo(
            &root,
            &["check", "-p", "sealwax", "--no-default-features", "--locked"],
        )
    });
    check(&mut summary, "Java and Kafka's jars", || prepare_kafka(missing));
    check(&mut summary, "librdkafka", || {
        librdkafka::prepare(missing).map(|()| Outcome::Passed)
    });
    step(&mut summary, "cargo test", || cargo_test(&root));
    check(&mut summary, "demo, shortened", || {
        demo::run(&SHORT_DEMO).map(Outcome::from)
    });
    print!("{summary}");
    Ok(summary.is_good())
}

fn check(summary: &mut Summary, name: &'static str, work: impl FnOnce() -> Result<Outcome>) {
    step(summary, name, || {
        work().map(|outcome| (Counts::of(outcome), outcome))
    });
}

fn step(summary: &mut Summary, name: &'static str, work: impl FnOnce() -> Result<(Counts, Outcome)>) {
    println!("── {name}");
    let begun = Instant::now();
    let (counts, outcome) = work().unwrap_or_else(|error| {
        println!("error: {error:#}");
        (Counts::of(Outcome::Failed), Outcome::Failed)
    });
    summary.add(Step {
        name,
        outcome,
        counts,
        time: begun.elapsed(),
    });
}

/// The real-broker tests boot their clusters themselves; this makes sure that they can.
fn prepare_kafka(missing: Missing) -> Result<Outcome> {
    for version in Version::ALL {
        Jvm::prepare(version, missing)?;
    }
    println!(
        "Java runs, and the jars of {} versions are in the cache",
        Version::ALL.len()
    );
    Ok(Outcome::Passed)
}

fn cargo(root: &Path, arguments: &[&str]) -> Result<Outcome> {
    let status = Command::new(workspace::cargo())
        .args(arguments)
        .current_dir(root)
        .status()
        .context("cargo cannot be started")?;
    Ok(status.success().into())
}

/// Runs the tests, shows their output as it comes, and counts them by libtest's result lines.
fn cargo_test(root: &Path) -> Result<(Counts, Outcome)> {
    // Some tests run the binary as users do.
    let built = cargo(root, &["build", "--locked", "-p", "sealwax-connect", "--bins"])?;
    ensure!(built == Outcome::Passed, "the binary does not build");
    let mut child = Command::new(workspace::cargo())
        .args(["test", "--workspace", "--no-fail-fast", "--locked"])
        .current_dir(root)
        .stdout(Stdio::piped())
        .spawn()
        .context("cargo cannot be started")?;
    let output = child.stdout.take().context("cargo test has no output")?;
    let mut counts = Counts::default();
    for line in BufReader::new(output).lines() {
        let line = line.context("the output of cargo test cannot be read")?;
        println!("{line}");
        counts.add_result_line(&line);
    }
    let status = child.wait().context("waiting for cargo test failed")?;
    if !status.success() && counts.failed == 0 {
        // It did not compile, or a test program crashed before it could report.
        counts.failed = 1;
    }
    let good = status.success() && counts.failed == 0;
    Ok((counts, good.into()))
}
