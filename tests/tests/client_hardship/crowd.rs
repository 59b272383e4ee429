//! A hundred producers, each with a hundred transactions of one record, one close behind the other (O08): none of them sees an error, and
//! each value is there once. Takes some ten seconds.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sealwax::{Client, Record};
use sealwax_tests::readers;
use sealwax_tests::scratch::unique;
use tokio::task::JoinSet;
use xtask::kafka::{Isolation, Version};

use crate::set_up;

const PRODUCERS: usize = 100;
const TRANSACTIONS: usize = 100;
const PARTITIONS: i32 = 6;

/// How long each transaction took, from `begin` to the end of `commit`. Any error ends it.
async fn work(client: &Client, topic: &str, producer: usize) -> Result<Vec<Duration>> {
    let id = unique("crowd");
    let mut transactional = client.transactional_producer(id).build().await?;
    let mut took = Vec::with_capacity(TRANSACTIONS);
    for number in 0..TRANSACTIONS {
        let begun = Instant::now();
        let value = format!("{producer}|{number}");
        let mut transaction = transactional.begin().await?;
        transaction.send(Record::new(topic, &value)).await?;
        let _committed = transaction.commit().await?;
        took.push(begun.elapsed());
    }
    transactional.close(Duration::from_secs(20)).await?;
    Ok(took)
}

async fn crowd(version: Version) -> Result<()> {
    let (cluster, client, topic) = set_up(version, PARTITIONS).await?;
    let begun = Instant::now();
    let mut running = JoinSet::new();
    for producer in 0..PRODUCERS {
        let (client, topic) = (client.clone(), topic.clone());
        running.spawn(async move {
            let worked = work(&client, &topic, producer).await;
            worked.with_context(|| format!("producer {producer}"))
        });
    }
    let mut took = Vec::new();
    while let Some(ended) = running.join_next().await {
        took.extend(ended??);
    }
    took.sort_unstable();
    println!(
        "{version}: {} transactions in {:?}; one took {:?} at the median, {:?} at most",
        took.len(),
        begun.elapsed(),
        took[took.len() / 2],
        took[took.len() - 1]
    );
    let path = topic.clone();
    let read = tokio::task::spawn_blocking(move || readers::java(&cluster, &path, Isolation::ReadCommitted));
    let mut seen = read.await??;
    let mut expected: Vec<String> = (0..PRODUCERS)
        .flat_map(|producer| (0..TRANSACTIONS).map(move |number| format!("{producer}|{number}")))
        .collect();
    seen.sort_unstable();
    expected.sort_unstable();
    ensure!(
        seen == expected,
        "Java sees {} records, {} were committed",
        seen.len(),
        expected.len()
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn of_small_transactions_3_9_1() -> Result<()> {
    crowd(Version::V3_9_1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn of_small_transactions_4_4_0() -> Result<()> {
    crowd(Version::V4_4_0).await
}
