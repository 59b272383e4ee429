//! Exactly once under single faults, on real brokers: a table of requests × faults × occurrences, each tried on a producer of ten
//! transactions and judged by Java's read_committed consumer. What the client called committed must be there once, what it called
//! aborted must not, and what it called unknown must be whole or absent.
//!
//! The ordinary run leaves out cases that say little; `SEALWAX_FAULTS=all` runs the whole table:
//! `SEALWAX_FAULTS=all cargo test -p sealwax-tests --test client_faults -- --nocapture`.

mod case;
mod judge;
mod script;
mod workload;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sealwax_tests::scratch::unique;
use sealwax_tests::{clusters, readers, wait};
use tokio::task::JoinSet;
use xtask::kafka::{Cluster, Isolation, Version, create_topic, end_offset};

use crate::workload::Run;

/// Cases that run at once; most of their time is waiting for timeouts.
const AT_ONCE: usize = 16;
/// A transaction that nobody ends is ended by the coordinator after 60 s; within less, only the client can have done it.
const SETTLED_WITHIN: Duration = Duration::from_secs(20);

async fn table(version: Version) -> Result<()> {
    let cluster = tokio::task::spawn_blocking(move || clusters::shared(version)).await??;
    let topic = unique("faults");
    create_topic(&cluster.bootstrap(), &topic, 2, &[])?;
    let all = std::env::var("SEALWAX_FAULTS").is_ok_and(|wanted| wanted == "all");
    let (runs, failures) = carry_out(version, all, &cluster, &topic).await?;
    report(version, &runs);
    let seen = read(&cluster, &topic).await?;
    let judged = judge::check(&runs, &seen).map_err(|error| format!("{error:#}"));
    let failures: Vec<String> = failures.into_iter().chain(judged.err()).collect();
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}

async fn carry_out(
    version: Version,
    all: bool,
    cluster: &Arc<Cluster>,
    topic: &str,
) -> Result<(Vec<Run>, Vec<String>)> {
    let mut cases = case::cases(version, all).into_iter();
    let mut running = JoinSet::new();
    let (mut runs, mut failures) = (Vec::new(), Vec::new());
    loop {
        while running.len() < AT_ONCE
            && let Some(case) = cases.next()
        {
            let (bootstrap, topic) = (cluster.bootstrap(), topic.to_owned());
            running.spawn(async move { workload::run(case, &bootstrap, &topic).await });
        }
        match running.join_next().await {
            Some(run) => match run? {
                Ok(run) => runs.push(run),
                Err(error) => failures.push(format!("{error:#}")),
            },
            None => return Ok((runs, failures)),
        }
    }
}

/// All values that Java sees, once every transaction is over.
async fn read(cluster: &Arc<Cluster>, topic: &str) -> Result<Vec<String>> {
    let (cluster, topic) = (Arc::clone(cluster), topic.to_owned());
    tokio::task::spawn_blocking(move || {
        let bootstrap = cluster.bootstrap();
        for partition in 0..2 {
            let stable = || {
                let stable = end_offset(&bootstrap, &topic, partition, Isolation::ReadCommitted)?;
                let end = end_offset(&bootstrap, &topic, partition, Isolation::ReadUncommitted)?;
                Ok((stable == end).then_some(()))
            };
            wait::until("the end of the last transaction", SETTLED_WITHIN, stable)
                .context("a transaction was left open")?;
        }
        readers::java(&cluster, &topic, Isolation::ReadCommitted)
    })
    .await?
}

fn report(version: Version, runs: &[Run]) {
    let mut lines: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for run in runs {
        let line = format!("{:?} [{}]", run.outcomes, run.account);
        lines.entry(line).or_default().push(run.case.to_string());
    }
    for (outcomes, cases) in lines {
        println!("{version:?} {outcomes}: {} × {}", cases.len(), cases.join(" "));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn on_3_3_2() -> Result<()> {
    table(Version::V3_3_2).await
}

#[tokio::test(flavor = "multi_thread")]
async fn on_3_9_1() -> Result<()> {
    table(Version::V3_9_1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn on_4_4_0() -> Result<()> {
    table(Version::V4_4_0).await
}
