//! Brokers that close idle connections (O01), between transactions and inside of an open one: the next request opens a new connection, and no
//! commit is lost. Takes twenty seconds, because brokers look for idle connections no more often than that.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use sealwax::{Client, Record, TransactionalProducer};
use sealwax_tests::readers;
use sealwax_tests::scratch::unique;
use xtask::kafka::{Cluster, Isolation, Version, create_topic};

/// `connections.max.idle.ms` of the brokers.
const MAX_IDLE: &str = "2000";
/// Longer than that. Nothing can be awaited here: that nothing happens is the point.
const PAUSE: Duration = Duration::from_secs(5);
const RECORDS: usize = 10;

async fn transaction(
    producer: &mut TransactionalProducer,
    topic: &str,
    name: &str,
    pause: bool,
) -> Result<()> {
    let mut transaction = producer.begin().await?;
    for number in 0..RECORDS {
        if pause && number == RECORDS / 2 {
            tokio::time::sleep(PAUSE).await;
        }
        let value = format!("{name}-{number}");
        transaction.send(Record::new(topic, &value)).await?.wait().await?;
    }
    if pause {
        tokio::time::sleep(PAUSE).await;
    }
    let _committed = transaction.commit().await?;
    Ok(())
}

async fn idle(version: Version) -> Result<()> {
    let start = move || {
        Cluster::builder(version)
            .config("connections.max.idle.ms", MAX_IDLE)
            .start()
    };
    let cluster = Arc::new(tokio::task::spawn_blocking(start).await??);
    let topic = unique("idle");
    create_topic(&cluster.bootstrap(), &topic, 1, &[])?;
    let client = Client::builder(cluster.bootstrap().split(',')).connect().await?;
    let mut producer = client.transactional_producer(unique("idle")).build().await?;
    transaction(&mut producer, &topic, "first", false).await?;
    tokio::time::sleep(PAUSE).await;
    transaction(&mut producer, &topic, "after a pause", false).await?;
    transaction(&mut producer, &topic, "with pauses", true).await?;
    let mut aborted = producer.begin().await?;
    aborted.send(Record::new(&topic, "aborted")).await?.wait().await?;
    tokio::time::sleep(PAUSE).await;
    aborted.abort().await?;
    transaction(&mut producer, &topic, "last", false).await?;

    let expected: Vec<String> = ["first", "after a pause", "with pauses", "last"]
        .iter()
        .flat_map(|name| (0..RECORDS).map(move |number| format!("{name}-{number}")))
        .collect();
    let read = tokio::task::spawn_blocking(move || readers::java(&cluster, &topic, Isolation::ReadCommitted));
    ensure!(read.await?? == expected, "Java sees something else");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_closed_by_3_9_1() -> Result<()> {
    idle(Version::V3_9_1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_closed_by_4_4_0() -> Result<()> {
    idle(Version::V4_4_0).await
}
