//! O07 (KAFKA-17754), with a control: an EndTxn that reaches a TV1 coordinator in the middle of the next transaction. librdkafka, which
//! goes on with the same epoch, must be seen to break; our client, in the same cases on the same broker, must not.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use sealwax_tests::checker::Anomaly;
use sealwax_tests::history::{Event, Op, Phase, from_line};
use sealwax_tests::proxy::Proxy;
use sealwax_tests::scratch::unique;
use sealwax_tests::{clusters, readers};
use tokio::task::spawn_blocking;
use xtask::kafka::{Cluster, Isolation, Version, create_topic};

use crate::case::{Case, Fault, Reach, Target};
use crate::judge::{Reading, judge};
use crate::script::Script;
use crate::workload::{self, PARTITIONS, Run};

const PROGRAM: &str = include_str!("late_commit.py");

fn cases() -> impl Iterator<Item = Case> {
    [Target::Commit, Target::Abort].into_iter().flat_map(|target| {
        (1..=3).map(move |occurrence| Case {
            target,
            fault: Fault::Late,
            reach: Reach::Once,
            occurrence,
        })
    })
}

/// librdkafka's transactions through the proxy, for as long as it goes on.
fn librdkafka(case: Case, bootstrap: &str, topic: &str) -> Result<Run> {
    let group = unique("no-group");
    let script = Script::new(case, group.clone(), bootstrap.to_owned());
    let proxy = Proxy::start(bootstrap, script.clone())?;
    let mut child = Command::new(xtask::librdkafka::python()?)
        .args(["-c", PROGRAM, &proxy.bootstrap(), topic, &unique("librdkafka")])
        .args([case.to_string(), case.transactions().to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("Python cannot be started")?;
    let mut input = child.stdin.take().context("Python has no input")?;
    let output = child.stdout.take().context("Python has no output")?;
    let mut events = Vec::new();
    for line in BufReader::new(output).lines() {
        let event = from_line(&line?)?;
        if (&event.op, &event.phase) == (&Op::Begin, &Phase::Invoke) {
            script.enter(event.transaction.unwrap_or_default());
            writeln!(input)?;
        }
        events.push(event);
    }
    let status = child.wait()?;
    ensure!(status.success(), "librdkafka's program failed ({status})");
    Ok(Run {
        case,
        group,
        outcomes: Vec::new(),
        account: script.account(),
        recovery: None,
        events: unfinished(events),
        failure: None,
    })
}

/// What it had begun when it gave up gets no answer.
fn unfinished(mut events: Vec<Event>) -> Vec<Event> {
    if let Some(last) = events.last() {
        let crash = Event {
            phase: Phase::Ok,
            op: Op::Crash,
            transaction: None,
            ..last.clone()
        };
        events.push(crash);
    }
    events
}

fn read(cluster: &Cluster, topic: &str) -> Result<Reading> {
    let places = readers::java_places(cluster, topic, Isolation::ReadCommitted)?;
    Ok(Reading::new("java", places))
}

fn print(who: &str, run: &Run, anomalies: &[Anomaly]) {
    println!(
        "{who}, {} ({}): {} anomalies",
        run.case,
        run.account,
        anomalies.len()
    );
    for anomaly in anomalies {
        println!("    {anomaly}");
    }
}

async fn topic_of_its_own(cluster: &Arc<Cluster>, name: &str) -> Result<String> {
    let topic = unique(name);
    let (bootstrap, created) = (cluster.bootstrap(), topic.clone());
    spawn_blocking(move || create_topic(&bootstrap, &created, PARTITIONS, &[])).await??;
    Ok(topic)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_commit_breaks_librdkafka_and_not_ours_on_3_9_1() -> Result<()> {
    let cluster = spawn_blocking(|| clusters::shared(Version::V3_9_1)).await??;
    let theirs = topic_of_its_own(&cluster, "late-librdkafka").await?;
    let ours = topic_of_its_own(&cluster, "late-ours").await?;
    let (mut their_runs, mut our_runs) = (Vec::new(), Vec::new());
    for case in cases() {
        let (bootstrap, topic) = (cluster.bootstrap(), theirs.clone());
        their_runs.push(spawn_blocking(move || librdkafka(case, &bootstrap, &topic)).await??);
        our_runs.push(workload::run(case, &cluster.bootstrap(), &ours).await?);
    }
    let broken = spawn_blocking(move || -> Result<usize> {
        let reading = read(&cluster, &theirs)?;
        let mut broken = 0;
        for run in &their_runs {
            let anomalies = judge(run, &theirs, &[&reading], None);
            print("librdkafka", run, &anomalies);
            broken += usize::from(!anomalies.is_empty());
        }
        let reading = read(&cluster, &ours)?;
        for run in &our_runs {
            let anomalies = judge(run, &ours, &[&reading], None);
            print("sealwax", run, &anomalies);
            ensure!(run.failure.is_none(), "{}: {:?}", run.case, run.failure);
            ensure!(anomalies.is_empty(), "{}: {anomalies:?}", run.case);
        }
        Ok(broken)
    })
    .await??;
    ensure!(broken > 0, "the attack broke nobody: it is none");
    Ok(())
}
