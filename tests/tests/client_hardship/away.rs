//! Every broker dies while a transaction is open (O02): the abort says within its limit that it could not be confirmed and may be tried again,
//! and when the broker is back the same producer goes on. Of the first transaction nothing is visible, of the second everything.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sealwax::config::ProducerConfig;
use sealwax::{Client, ErrorKind, Record};
use sealwax_tests::readers;
use sealwax_tests::scratch::unique;
use xtask::kafka::{Cluster, Isolation, Version, create_topic};

const LIMIT: Duration = Duration::from_secs(3);
const RECORDS: usize = 10;

async fn coordinator_away(version: Version) -> Result<()> {
    let start = move || Cluster::builder(version).start();
    let cluster = Arc::new(tokio::task::spawn_blocking(start).await??);
    let topic = unique("away");
    create_topic(&cluster.bootstrap(), &topic, 1, &[])?;
    let client = Client::builder(cluster.bootstrap().split(',')).connect().await?;
    let mut config = ProducerConfig::default();
    config.max_block = LIMIT;
    let mut producer = client
        .transactional_producer(unique("away"))
        .config(config)
        .build()
        .await?;
    let mut transaction = producer.begin().await?;
    for number in 0..RECORDS {
        let value = format!("first-{number}");
        transaction
            .send(Record::new(&topic, &value))
            .await?
            .wait()
            .await?;
    }
    let node = cluster.node_ids()[0];
    cluster.node(node)?.kill()?;
    let begun = Instant::now();
    let error = transaction
        .abort()
        .await
        .err()
        .context("an abort without coordinator")?;
    ensure!(
        error.kind() == ErrorKind::Timeout && error.is_retriable(),
        "{error:?}"
    );
    // Twice the limit, so that a slow machine does not count.
    ensure!(begun.elapsed() < LIMIT * 2, "{:?}", begun.elapsed());
    // Meanwhile the next one is refused in time too.
    let next = producer.begin().await.err().context("a transaction began")?;
    ensure!(next.kind() == ErrorKind::Timeout, "{next:?}");

    let restart = Arc::clone(&cluster);
    tokio::task::spawn_blocking(move || {
        restart.node(node)?.start()?;
        restart.await_ready()
    })
    .await??;
    let mut transaction = loop {
        match producer.begin().await {
            Ok(transaction) => break transaction,
            // The broker has just begun to answer.
            Err(error) if error.kind() == ErrorKind::Timeout && begun.elapsed() < LIMIT * 20 => {}
            Err(error) => return Err(error.into()),
        }
    };
    for number in 0..RECORDS {
        let value = format!("second-{number}");
        transaction.send(Record::new(&topic, &value)).await?;
    }
    let _committed = transaction.commit().await?;
    let expected: Vec<String> = (0..RECORDS).map(|number| format!("second-{number}")).collect();
    let read = tokio::task::spawn_blocking(move || readers::java(&cluster, &topic, Isolation::ReadCommitted));
    ensure!(read.await?? == expected, "Java sees something else");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_transaction_is_aborted_3_9_1() -> Result<()> {
    coordinator_away(Version::V3_9_1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_transaction_is_aborted_4_4_0() -> Result<()> {
    coordinator_away(Version::V4_4_0).await
}
