//! Two workers with the same connector: the older is fenced, says so, and writes nothing more that a committed reader sees.
//! One worker that only slept for longer than its transaction may stay open looks fenced to itself, and goes on.

use std::io::Write;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use sealwax_tests::worker::FileSource;
use sealwax_tests::{clusters, numbers, progress, readers, wait};
use xtask::kafka::{Isolation, Version, end_offset};

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
    numbers::check(&seen, 9_000)
}

/// An interval that is held at half of the timeout, so that there is an open transaction most of the time.
const SHORT_TIMEOUT: [&str; 4] = [
    "transaction.boundary=interval",
    "transaction.boundary.interval.ms=2000",
    "producer.override.transaction.timeout.ms=4000",
    "batch.size=100",
];

/// Freezes a worker inside a transaction.
fn freeze_inside_a_transaction(
    bootstrap: &str,
    source: &FileSource,
) -> Result<sealwax_tests::process::Process> {
    let worker = source.start()?;
    let ends = || -> Result<(i64, i64)> {
        let end = |isolation| end_offset(bootstrap, &source.topic, 0, isolation);
        Ok((end(Isolation::ReadCommitted)?, end(Isolation::ReadUncommitted)?))
    };
    wait::until("an open transaction", Duration::from_secs(30), || {
        // Before the first record there is no topic.
        let Ok((committed, all)) = ends() else {
            return Ok(None);
        };
        Ok((all > committed).then_some(()))
    })?;
    worker.signal(Signal::STOP)?;
    Ok(worker)
}

fn a_worker_that_slept_goes_on(version: Version) -> Result<()> {
    let cluster = clusters::shared(version)?;
    let bootstrap = cluster.bootstrap();
    let source = FileSource::numbers(&bootstrap, 200_000, &SHORT_TIMEOUT)?;
    let worker = freeze_inside_a_transaction(&bootstrap, &source)?;
    wait::until("the coordinator's abort", Duration::from_secs(60), || {
        let committed = end_offset(&bootstrap, &source.topic, 0, Isolation::ReadCommitted)?;
        let all = end_offset(&bootstrap, &source.topic, 0, Isolation::ReadUncommitted)?;
        Ok((committed == all).then_some(()))
    })?;
    worker.signal(Signal::CONT)?;
    progress::await_whole_file(&bootstrap, &source, &worker, Duration::from_secs(60))
        .with_context(|| worker.output().unwrap_or_default())?;
    worker.kill()?;
    let seen = readers::java(&cluster, &source.topic, Isolation::ReadCommitted)?;
    numbers::check(&seen, 200_000)
}

/// The older one has slept for so long that it cannot know at once whether it was replaced; it finds out and does not strike back.
fn the_older_worker_is_fenced_after_a_long_sleep(version: Version) -> Result<()> {
    let cluster = clusters::shared(version)?;
    let bootstrap = cluster.bootstrap();
    let source = FileSource::numbers(&bootstrap, 200_000, &SHORT_TIMEOUT)?;
    let mut older = freeze_inside_a_transaction(&bootstrap, &source)?;
    let newer = source.start()?;
    progress::await_whole_file(&bootstrap, &source, &newer, Duration::from_secs(60))?;
    older.signal(Signal::CONT)?;
    let status = older.await_end(Duration::from_secs(30))?;
    let output = older.output()?;
    ensure!(status.code() == Some(1), "the older worker ended with {status}");
    ensure!(
        output.contains(&source.transactional_id()) && output.contains("task FAILED, fenced"),
        "the error does not name the transactional id: {output}"
    );
    append(&source, 200_001, 201_000)?;
    progress::await_whole_file(&bootstrap, &source, &newer, Duration::from_secs(30))?;
    newer.kill()?;
    let seen = readers::java(&cluster, &source.topic, Isolation::ReadCommitted)?;
    numbers::check(&seen, 201_000)
}

/// Both run, and there is always something to do: the newer one takes over in the middle of the older one's work.
fn the_older_worker_is_fenced_while_it_works(version: Version) -> Result<()> {
    let cluster = clusters::shared(version)?;
    let bootstrap = cluster.bootstrap();
    let source = FileSource::numbers(&bootstrap, 200_000, &["batch.size=100"])?;
    let mut older = source.start()?;
    wait::until("the older worker's first commit", Duration::from_secs(30), || {
        Ok((progress::committed_position(&bootstrap, &source)? > 0).then_some(()))
    })?;
    let newer = source.start()?;
    let status = older.await_end(Duration::from_secs(60))?;
    let output = older.output()?;
    ensure!(
        status.code() == Some(1),
        "the older worker ended with {status}: {output}"
    );
    ensure!(
        output.contains(&source.transactional_id()) && output.to_lowercase().contains("fenced"),
        "the error does not name the transactional id: {output}"
    );
    progress::await_whole_file(&bootstrap, &source, &newer, Duration::from_secs(120))?;
    newer.kill()?;
    let seen = readers::java(&cluster, &source.topic, Isolation::ReadCommitted)?;
    numbers::check(&seen, 200_000)
}

#[test]
fn at_work_on_3_9_1() -> Result<()> {
    the_older_worker_is_fenced_while_it_works(Version::V3_9_1)
}

#[test]
fn at_work_on_4_4_0() -> Result<()> {
    the_older_worker_is_fenced_while_it_works(Version::V4_4_0)
}

#[test]
fn a_lone_sleeper_on_3_9_1() -> Result<()> {
    a_worker_that_slept_goes_on(Version::V3_9_1)
}

#[test]
fn a_lone_sleeper_on_4_4_0() -> Result<()> {
    a_worker_that_slept_goes_on(Version::V4_4_0)
}

#[test]
fn a_replaced_sleeper_on_3_9_1() -> Result<()> {
    the_older_worker_is_fenced_after_a_long_sleep(Version::V3_9_1)
}

#[test]
fn on_3_9_1() -> Result<()> {
    the_older_worker_is_fenced(Version::V3_9_1)
}

#[test]
fn on_4_4_0() -> Result<()> {
    the_older_worker_is_fenced(Version::V4_4_0)
}
