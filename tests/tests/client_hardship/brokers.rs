//! Each of three brokers is killed and started again while records are pipelined: none is lost, doubled or out of order.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sealwax::{Client, CommitError, Record};
use tokio::task::JoinHandle;
use xtask::kafka::{Cluster, Version, create_topic};

use crate::reading;

const PARTITIONS: i32 = 3;
const IDEMPOTENT: &str = "idempotent";
const TRANSACTIONAL: &str = "transactional";
/// Records between two breaths of the sender, so that brokers on a small machine have time to boot.
const BURST: u64 = 100;
const BREATH: Duration = Duration::from_millis(15);

fn kill_in_turn(cluster: &Arc<Cluster>) -> JoinHandle<Result<()>> {
    let cluster = Arc::clone(cluster);
    tokio::task::spawn_blocking(move || {
        for node in cluster.node_ids() {
            // The pace of the attack, not a wait for anything.
            std::thread::sleep(Duration::from_secs(1));
            cluster.node(node)?.kill()?;
            cluster.node(node)?.start()?;
            cluster.await_ready()?;
        }
        Ok(())
    })
}

fn partition(number: u64) -> i32 {
    i32::try_from(number % 3).unwrap_or(0)
}

async fn idempotent(client: &Client, is_over: &AtomicBool) -> Result<u64> {
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
            tokio::time::sleep(BREATH).await;
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

async fn in_turn(version: Version) -> Result<()> {
    let cluster = tokio::task::spawn_blocking(move || Cluster::builder(version).nodes(3).start()).await??;
    let cluster = Arc::new(cluster);
    let client = Client::builder(cluster.bootstrap().split(',')).connect().await?;
    for topic in [IDEMPOTENT, TRANSACTIONAL] {
        create_topic(&cluster.bootstrap(), topic, PARTITIONS, &[])?;
    }
    let is_over = AtomicBool::new(false);
    let attack = async {
        let outcome = kill_in_turn(&cluster).await;
        is_over.store(true, Ordering::SeqCst);
        outcome
    };
    let (attacked, sent, committed) = tokio::join!(
        attack,
        idempotent(&client, &is_over),
        transactional(&client, &is_over)
    );
    attacked??;
    let (sent, committed) = (sent?, committed?);
    println!("{version:?}: {sent} records sent, {committed} committed");
    ensure!(
        sent > 10_000 && committed > 1_000,
        "too little was sent to be hit"
    );
    check(&client, IDEMPOTENT, sent).await.context(IDEMPOTENT)?;
    check(&client, TRANSACTIONAL, committed)
        .await
        .context(TRANSACTIONAL)
}

#[tokio::test(flavor = "multi_thread")]
async fn die_in_turn_3_9_1() -> Result<()> {
    in_turn(Version::V3_9_1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn die_in_turn_4_4_0() -> Result<()> {
    in_turn(Version::V4_4_0).await
}
