//! The table of one version, carried out: many runs at once on one broker, read back together, judged one by one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sealwax_tests::checker::Anomaly;
use sealwax_tests::readers::Place;
use sealwax_tests::scratch::unique;
use sealwax_tests::{clusters, readers, wait};
use tokio::task::{JoinSet, spawn_blocking};
use xtask::kafka::{Cluster, Isolation, Version, create_topic, end_offset};

use crate::case;
use crate::judge::{Reading, judge};
use crate::workload::{self, PARTITIONS, Run};

/// Set to a directory: the whole table is run, and its rows are written there.
const WHOLE: &str = "SEALWAX_FAULTS";
/// Runs at once; most of their time is waiting for timeouts.
const AT_ONCE: usize = 16;
/// A transaction that nobody ends is ended by the coordinator after 60 s; within less, only the client can have done it.
const SETTLED_WITHIN: Duration = Duration::from_secs(20);

/// What was found of a run.
#[derive(Debug)]
struct Row {
    run: Run,
    findings: Vec<String>,
}

/// Carries out a version's table.
pub(crate) async fn carry_out(version: Version) -> Result<()> {
    let report = std::env::var_os(WHOLE).map(PathBuf::from);
    let cluster = spawn_blocking(move || clusters::shared(version)).await??;
    let topic = unique("faults");
    create_topic(&cluster.bootstrap(), &topic, PARTITIONS, &[])?;
    let runs = run_all(version, report.is_some(), &cluster, &topic).await?;
    let rows = judge_all(runs, &cluster, &topic).await?;
    let failures: Vec<String> = rows
        .iter()
        .filter(|row| !row.findings.is_empty())
        .map(|row| line(version, row))
        .collect();
    match report {
        Some(dir) => write(&dir, version, &rows)?,
        None => println!("{}", summary(version, &rows)),
    }
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}

async fn run_all(version: Version, whole: bool, cluster: &Arc<Cluster>, topic: &str) -> Result<Vec<Run>> {
    let cases = case::cases(version, whole);
    let all = cases.len();
    let mut cases = cases.into_iter();
    let mut running = JoinSet::new();
    let mut runs = Vec::new();
    loop {
        while running.len() < AT_ONCE
            && let Some(case) = cases.next()
        {
            let (bootstrap, topic) = (cluster.bootstrap(), topic.to_owned());
            running.spawn(async move { workload::run(case, &bootstrap, &topic).await });
        }
        match running.join_next().await {
            Some(run) => runs.push(run??),
            None => return Ok(runs),
        }
        if whole && runs.len() % 50 == 0 {
            println!("{version}: {} of {all}", runs.len());
        }
    }
}

async fn judge_all(runs: Vec<Run>, cluster: &Arc<Cluster>, topic: &str) -> Result<Vec<Row>> {
    let settled = settle(cluster, topic).await.err();
    let (cluster, topic) = (Arc::clone(cluster), topic.to_owned());
    let rows = spawn_blocking(move || {
        let found = Found::read(&cluster, &topic, &runs)?;
        found.judge(runs, &topic)
    })
    .await??;
    match settled {
        Some(error) => Err(error.context(failures(&rows))),
        None => Ok(rows),
    }
}

/// What is there when all is over.
struct Found {
    java: Reading,
    librdkafka: Reading,
    /// As read_uncommitted reads it.
    plain: Reading,
    /// The runs' groups' offsets.
    offsets: Vec<Option<i64>>,
}

impl Found {
    fn read(cluster: &Cluster, topic: &str, runs: &[Run]) -> Result<Self> {
        let bootstrap = cluster.bootstrap();
        let read = |isolation| readers::librdkafka_places(&bootstrap, topic, isolation);
        let java = sorted(readers::java_places(cluster, topic, Isolation::ReadCommitted)?);
        let librdkafka = sorted(read(Isolation::ReadCommitted)?);
        ensure!(
            java == librdkafka,
            "Java and librdkafka do not read the same records at the same places"
        );
        let groups: Vec<String> = runs.iter().map(|run| run.group.clone()).collect();
        Ok(Self {
            java: Reading::new("java", java),
            librdkafka: Reading::new("librdkafka", librdkafka),
            plain: Reading::new("plain", read(Isolation::ReadUncommitted)?),
            offsets: readers::group_offsets(&bootstrap, topic, 0, &groups)?,
        })
    }

    fn judge(self, runs: Vec<Run>, topic: &str) -> Result<Vec<Row>> {
        let mut control = 0;
        let mut rows = Vec::new();
        for (run, offset) in runs.into_iter().zip(self.offsets) {
            let anomalies = judge(&run, topic, &[&self.java, &self.librdkafka], Some(offset));
            let seen_by_all = judge(&run, topic, &[&self.plain], None);
            let is_aborted = |anomaly: &Anomaly| anomaly.kind() == "aborted read";
            control += usize::from(seen_by_all.iter().any(is_aborted));
            let anomalies = anomalies.iter().map(ToString::to_string);
            let findings = run.failure.iter().cloned().chain(anomalies).collect();
            rows.push(Row { run, findings });
        }
        // Else the readers, or the checker, would see nothing at all.
        ensure!(
            control * 2 > rows.len(),
            "a plain reader saw aborted records of {control} runs only, of {}",
            rows.len()
        );
        Ok(rows)
    }
}

/// Partition by partition; the order within one stays as it was read.
fn sorted(mut places: Vec<Place>) -> Vec<Place> {
    places.sort_by_key(|place| place.partition);
    places
}

fn failures(rows: &[Row]) -> String {
    let failed: Vec<String> = rows
        .iter()
        .filter(|row| !row.findings.is_empty())
        .map(|row| format!("{}: {}", row.run.case, row.findings.join("; ")))
        .collect();
    failed.join("\n")
}

/// Waits until every transaction is over.
async fn settle(cluster: &Arc<Cluster>, topic: &str) -> Result<()> {
    let (bootstrap, topic) = (cluster.bootstrap(), topic.to_owned());
    spawn_blocking(move || {
        for partition in 0..PARTITIONS {
            let stable = || {
                let stable = end_offset(&bootstrap, &topic, partition, Isolation::ReadCommitted)?;
                let end = end_offset(&bootstrap, &topic, partition, Isolation::ReadUncommitted)?;
                Ok((stable == end).then_some(()))
            };
            wait::until("the end of the last transaction", SETTLED_WITHIN, stable)
                .context("a transaction was left open")?;
        }
        Ok(())
    })
    .await?
}

/// One run as a line of tab-separated fields: version, request, fault, reach, occurrence, what came of the fault, outcomes, recovery
/// in milliseconds, findings.
fn line(version: Version, row: &Row) -> String {
    let Row { run, findings } = row;
    let outcomes: String = run.outcomes.iter().map(ToString::to_string).collect();
    let recovery = run.recovery.map(|time| time.as_millis().to_string());
    [
        version.to_string(),
        format!("{:?}", run.case.target),
        format!("{:?}", run.case.fault),
        format!("{:?}", run.case.reach),
        run.case.occurrence.to_string(),
        run.account.clone(),
        outcomes,
        recovery.unwrap_or_else(|| "-".to_owned()),
        if findings.is_empty() {
            "ok".to_owned()
        } else {
            findings.join("; ")
        },
    ]
    .map(|field| field.replace(['\t', '\n'], " "))
    .join("\t")
}

fn write(dir: &Path, version: Version, rows: &[Row]) -> Result<()> {
    let mut lines: Vec<String> = rows.iter().map(|row| line(version, row)).collect();
    lines.sort();
    let path = dir.join(format!("{version}.tsv"));
    std::fs::write(&path, lines.join("\n") + "\n")
        .with_context(|| format!("{} cannot be written", path.display()))
}

fn summary(version: Version, rows: &[Row]) -> String {
    let struck = rows
        .iter()
        .filter(|row| row.run.account != "no such request")
        .count();
    let failed = rows.iter().filter(|row| !row.findings.is_empty()).count();
    let slowest = rows.iter().filter_map(|row| row.run.recovery).max();
    format!(
        "{version}: {} runs, {struck} struck, {failed} failed, slowest recovery {slowest:?}",
        rows.len()
    )
}
