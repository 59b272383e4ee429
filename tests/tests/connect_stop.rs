//! SIGTERM and Ctrl-C: the open transaction is finished or aborted and the worker is gone within five seconds.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rustix::process::Signal;
use sealwax_tests::worker::FileSource;
use sealwax_tests::{clusters, numbers, progress, readers};
use xtask::kafka::{Isolation, Version};

/// The promise, and so the bound that is tested.
const LIMIT: Duration = Duration::from_secs(5);

fn stops_and_goes_on(version: Version, signal: Signal, settings: &[&str]) -> Result<()> {
    let cluster = clusters::shared(version)?;
    let bootstrap = cluster.bootstrap();
    let source = FileSource::numbers(&bootstrap, 50_000, settings)?;
    let mut worker = source.start()?;
    sealwax_tests::wait::until("the first commit", Duration::from_secs(30), || {
        Ok((progress::committed_position(&bootstrap, &source)? > 0).then_some(()))
    })?;
    worker.signal(signal)?;
    let asked = Instant::now();
    let status = worker.await_end(LIMIT)?;
    ensure!(
        status.success(),
        "{status} after {:?}: {}",
        asked.elapsed(),
        worker.output()?
    );

    let worker = source.start()?;
    progress::await_whole_file(&bootstrap, &source, &worker, Duration::from_secs(60))?;
    worker.kill()?;
    let seen = readers::java(&cluster, &source.topic, Isolation::ReadCommitted)?;
    numbers::check(&seen, 50_000)
}

#[test]
fn sigterm_with_boundary_poll() -> Result<()> {
    stops_and_goes_on(Version::V4_4_0, Signal::TERM, &[])
}

#[test]
fn sigint_with_an_open_interval_transaction() -> Result<()> {
    let settings = [
        "transaction.boundary=interval",
        "transaction.boundary.interval.ms=300",
    ];
    stops_and_goes_on(Version::V3_9_1, Signal::INT, &settings)
}
