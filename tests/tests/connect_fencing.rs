//! Two workers with the same connector: the older is fenced, says so, and writes nothing more that a committed reader sees.

use std::io::Write;
use std::time::Duration;

use anyhow::{Result, ensure};
use rustix::process::Signal;
use sealwax_tests::worker::FileSource;
use sealwax_tests::{clusters, numbers, progress, readers};
use xtask::kafka::{Isolation, Version};

fn append(source: &FileSource, from: u64, to: u64) -> Result<()> {
    let lines: String = (from..=to).map(|number| format!("{number}\n")).collect();
    Ok(std::fs::OpenOptions::new()
        .append(true)
        .open(&source.input)?
        .write_all(lines.as_bytes())?)
}

fn the_older_worker_is_fenced(version: Version) -> Result<()> {
    let cluster = clusters::shared(version)?;
    let bootstrap = cluster.bootstrap();
    let source = FileSource::numbers(&bootstrap, 5_000, &[])?;
    let mut older = source.start()?;
    progress::await_whole_file(&bootstrap, &source, &older, Duration::from_secs(30))?;

    // Frozen, it cannot notice that it lost: what it writes when it wakes up is a zombie's.
    older.signal(Signal::STOP)?;
    let newer = source.start()?;
    append(&source, 5_001, 8_000)?;
    progress::await_whole_file(&bootstrap, &source, &newer, Duration::from_secs(30))?;
    older.signal(Signal::CONT)?;
    let status = older.await_end(Duration::from_secs(30))?;
    let output = older.output()?;
    ensure!(status.code() == Some(1), "the older worker ended with {status}");
    ensure!(
        output.contains(&source.transactional_id()) && output.to_lowercase().contains("fenced"),
        "the error does not name the transactional id: {output}"
    );

    append(&source, 8_001, 9_000)?;
    progress::await_whole_file(&bootstrap, &source, &newer, Duration::from_secs(30))?;
    newer.kill()?;
    let seen = readers::java(&cluster, &source.topic, Isolation::ReadCommitted)?;
    match numbers::difference(&seen, 9_000) {
        None => Ok(()),
        Some(difference) => anyhow::bail!(difference),
    }
}

#[test]
fn on_3_9_1() -> Result<()> {
    the_older_worker_is_fenced(Version::V3_9_1)
}

#[test]
fn on_4_4_0() -> Result<()> {
    the_older_worker_is_fenced(Version::V4_4_0)
}
