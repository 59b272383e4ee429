//! Each of three brokers is killed, or stopped as its operator would, and started again while records are pipelined: none is lost, doubled
//! or out of order.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sealwax::{Client, CommitError, Record};
use tokio::task::JoinHandle;
use xtask::kafka::{Cluster, ConsoleConsumer, Isolation, Version, create_topic};

use crate::reading;

const PARTITIONS: i32 = 3;
const IDEMPOTENT: &str = "idempotent";
const TRANSACTIONAL: &str = "transactional";
/// Records between two breaths of the sender, so that brokers on a small machine have time to boot.
const BURST: u64 = 100;
const BREATH: Duration = Duration::from_millis(15);

/// How a broker goes down.
#[derive(Debug, Clone, Copy)]
enum End {
    /// SIGKILL.
    Kill,
    /// SIGTERM: it hands its leaderships over first.
    Stop,
}

fn restart_in_turn(cluster: &Arc<Cluster>, end: End, rounds: u32) -> JoinHandle<Result<()>> {
    let cluster = Arc::clone(cluster);
    tokio::task::spawn_blocking(move || {
        for _ in 0..rounds {
            for node in cluster.node_ids() {
                // The pace of the attack, not a wait for anything.
                std::thread::sleep(Duration::from_secs(1));
                match end {
                    End::Kill => cluster.node(node)?.kill()?,
                    End::Stop => cluster.node(node)?.stop()?,
                }
                // Returns when all replicas are in sync again.
                cluster.node(node)?.start()?;
            }
        }
        Ok(())
    })
}

fn partition(number: u64) -> i32 {
    i32::try_from(number % 3).unwrap_or(0)
}

async fn idempotent(client: &Client, is_over: &AtomicBool, breath: Duration) -> Result<u64> {
    let producer = client
        .producer()
        .linger(Duration::ZERO)
        .batch_size(2_000)
        .build()
        .await?;
    let mut number = 0;
    while !is_over.load(Ordering::SeqCst) {
        let value = number.to_string();
        producer
            .send(Record::new(IDEMPOTENT, &value).partition(partition(number)))
            .await?;
        number += 1;
        if number % BURST == 0 {
            tokio::time::sleep(breath).await;
        }
    }
    producer.close().await?;
    Ok(number)
}

async fn transactional(client: &Client, is_over: &AtomicBool) -> Result<u64> {
    let mut producer = client
        .transactional_producer("in-turn")
        .linger(Duration::ZERO)
        .batch_size(2_000)
        .build()
        .await?;
    let mut number = 0;
    while !is_over.load(Ordering::SeqCst) {
        let next = number + 500;
        let mut transaction = producer.begin().await?;
        for number in number..next {
            let value = number.to_string();
            // A failed send shows at the commit.
            let _ = transaction
                .send(Record::new(TRANSACTIONAL, &value).partition(partition(number)))
                .await;
        }
        match transaction.commit().await {
            Ok(_committed) => number = next,
            Err(CommitError::Aborted(_)) => {}
            Err(CommitError::Unknown(_)) => {
                producer.begin().await?.abort().await?;
                let seen = reading::committed(client, TRANSACTIONAL, PARTITIONS).await?;
                if seen.contains(&number.to_string()) {
                    number = next;
                }
            }
            Err(other) => return Err(other.into()),
        }
    }
    Ok(number)
}

async fn check(client: &Client, topic: &str, count: u64) -> Result<()> {
    let seen = reading::committed(client, topic, PARTITIONS).await?;
    let expected = (0..3).flat_map(|first| (first..count).step_by(3));
    let mut seen = seen.iter();
    for number in expected {
        let value = seen
            .next()
            .with_context(|| format!("{number} and all behind it are lost"))?;
        ensure!(
            *value == number.to_string(),
            "{value} is where {number} should be (of {count})"
        );
    }
    ensure!(seen.next().is_none(), "there are more records than were sent");
    Ok(())
}

/// What both producers did, by what they were told.
#[derive(Debug, Clone, Copy)]
struct Written {
    sent: u64,
    committed: u64,
}

async fn in_turn(version: Version, end: End, rounds: u32) -> Result<(Arc<Cluster>, Written)> {
    let cluster = tokio::task::spawn_blocking(move || Cluster::builder(version).nodes(3).start()).await??;
    let cluster = Arc::new(cluster);
    let client = Client::builder(cluster.bootstrap().split(',')).connect().await?;
    for topic in [IDEMPOTENT, TRANSACTIONAL] {
        create_topic(&cluster.bootstrap(), topic, PARTITIONS, &[])?;
    }
    let is_over = AtomicBool::new(false);
    let attack = async {
        let outcome = restart_in_turn(&cluster, end, rounds).await;
        is_over.store(true, Ordering::SeqCst);
        outcome
    };
    let (attacked, sent, committed) = tokio::join!(
        attack,
        idempotent(&client, &is_over, BREATH * rounds.min(4)),
        transactional(&client, &is_over)
    );
    attacked??;
    let (sent, committed) = (sent?, committed?);
    println!("evidence: {rounds} times {end:?}: {sent} records sent, {committed} records committed");
    ensure!(
        sent > 10_000 && committed > 1_000,
        "too little was sent to be hit"
    );
    check(&client, IDEMPOTENT, sent).await.context(IDEMPOTENT)?;
    check(&client, TRANSACTIONAL, committed)
        .await
        .context(TRANSACTIONAL)?;
    Ok((cluster, Written { sent, committed }))
}

/// Each partition holds every third number, in order, as Java reads it.
fn check_by_java(cluster: &Cluster, topic: &str, count: u64) -> Result<()> {
    let mut next = [0, 1, 2];
    let mut wrong = Vec::new();
    ConsoleConsumer::new(topic, Isolation::ReadCommitted)
        .idle(Duration::from_secs(6))
        .property("print.partition", "true")
        .run(cluster.jvm(), &cluster.bootstrap(), |line| {
            let found = line
                .strip_prefix("Partition:")
                .and_then(|rest| rest.split_once('\t'))
                .and_then(|(partition, value)| {
                    Some((partition.parse::<usize>().ok()?, value.parse::<u64>().ok()?))
                });
            match found.and_then(|(partition, value)| Some((next.get_mut(partition)?, value))) {
                Some((expected, value)) if *expected == value => *expected += 3,
                _ => wrong.push(line.to_owned()),
            }
        })?;
    ensure!(
        wrong.is_empty(),
        "{topic}: {} records are not where they should be, the first of them {:?}",
        wrong.len(),
        wrong[0]
    );
    let ends: Vec<u64> = (0..3).map(|first| first + (count + 2 - first) / 3 * 3).collect();
    ensure!(
        next == *ends,
        "{topic}: its partitions end before {next:?}, not {ends:?}"
    );
    Ok(())
}

/// One round, or as many as `cargo xtask nemesis --rolling` says.
async fn rolling(version: Version) -> Result<()> {
    let rounds = match std::env::var("SEALWAX_ROLLING_ROUNDS") {
        Ok(rounds) => rounds.parse()?,
        Err(_) => 1,
    };
    let (cluster, written) = in_turn(version, End::Stop, rounds).await?;
    tokio::task::spawn_blocking(move || {
        check_by_java(&cluster, IDEMPOTENT, written.sent)?;
        check_by_java(&cluster, TRANSACTIONAL, written.committed)
    })
    .await??;
    println!("evidence: Java reads every record once and in order");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn die_in_turn_3_9_1() -> Result<()> {
    in_turn(Version::V3_9_1, End::Kill, 1).await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn die_in_turn_4_4_0() -> Result<()> {
    in_turn(Version::V4_4_0, End::Kill, 1).await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn are_restarted_in_turn_3_9_1() -> Result<()> {
    rolling(Version::V3_9_1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn are_restarted_in_turn_4_4_0() -> Result<()> {
    rolling(Version::V4_4_0).await
}
