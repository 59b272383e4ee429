//! Brokers die and come back while a worker works: it goes on by itself, and nothing is lost or repeated.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use sealwax_tests::worker::FileSource;
use sealwax_tests::{numbers, progress, readers, wait};
use xtask::kafka::{Cluster, Isolation, Version, end_offset};

const LINES: u64 = 60_000;

/// Appends the numbers to a file bit by bit, so that there is always something to do.
fn feed(file: &Path) -> Result<()> {
    let mut file = std::fs::OpenOptions::new().append(true).open(file)?;
    for chunk in 0..LINES / 100 {
        let lines: String = (1..=100)
            .map(|index| format!("{}\n", chunk * 100 + index))
            .collect();
        file.write_all(lines.as_bytes())?;
        // The pace of the input, not a wait for anything.
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Kills one node after another with SIGKILL while the worker works, and starts each again.
fn nodes_die_and_return(nodes: u16, version: Version) -> Result<()> {
    let cluster = Cluster::builder(version).nodes(nodes).start()?;
    let bootstrap = cluster.bootstrap();
    let source = FileSource::content(&bootstrap, "", &[])?;
    let worker = source.start()?;
    std::thread::scope(|scope| {
        let input = source.input.clone();
        let feeder = scope.spawn(move || feed(&input));
        let mut reached = 0;
        for node in cluster.node_ids() {
            reached = wait::until("further progress", Duration::from_secs(60), || {
                let end = end_offset(&bootstrap, &source.topic, 0, Isolation::ReadUncommitted).unwrap_or(0);
                Ok((end > reached).then_some(end))
            })
            .with_context(|| worker.output().unwrap_or_default())?;
            cluster.node(node)?.kill()?;
            cluster.node(node)?.start()?;
        }
        feeder
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    progress::await_whole_file(&bootstrap, &source, &worker, Duration::from_secs(120))?;
    worker.kill()?;
    let seen = readers::java(&cluster, &source.topic, Isolation::ReadCommitted)?;
    numbers::check(&seen, LINES)
}

#[test]
fn the_only_node_3_9_1() -> Result<()> {
    nodes_die_and_return(1, Version::V3_9_1)
}

#[test]
fn the_only_node_4_4_0() -> Result<()> {
    nodes_die_and_return(1, Version::V4_4_0)
}

#[test]
fn one_of_three_nodes_after_the_other_4_4_0() -> Result<()> {
    nodes_die_and_return(3, Version::V4_4_0)
}
