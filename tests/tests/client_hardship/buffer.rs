//! More records than buffer.memory holds, while the broker stands still: sends wait, memory stays within its bound, nothing is lost, and a
//! producer that is dropped or closed does not hang.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sealwax::config::ProducerConfig;
use sealwax::{Client, ErrorKind, Producer, Record};
use xtask::kafka::{Cluster, Version, create_topic};

use crate::reading;

const BUFFER: usize = 1024 * 1024;
const RECORD: usize = 10_000;
const RECORDS: usize = 10_000;
/// The process may grow by the buffer and what surrounds it, but not by the 100 MB that pass through.
const GROWTH: usize = 24 * 1024 * 1024;

/// Bytes of memory that this process holds.
pub(crate) fn resident() -> Result<usize> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .context("no VmRSS")?;
    Ok(line.trim_end_matches("kB").trim().parse::<usize>()? * 1024)
}

async fn send_all(producer: &Producer, topic: &str, cluster: &Cluster) -> Result<usize> {
    let before = resident()?;
    let mut peak = before;
    for number in 0..RECORDS {
        if number == RECORDS / 4 {
            cluster.node(cluster.node_ids()[0])?.pause()?;
        }
        let value = format!("{number:0RECORD$}");
        let sent = producer.send(Record::new(topic, &value));
        // The buffer is full soon after the broker stands still: then it goes on.
        if let Ok(sent) = tokio::time::timeout(Duration::from_secs(3), sent).await {
            drop(sent?);
        } else {
            cluster.node(cluster.node_ids()[0])?.resume()?;
            drop(producer.send(Record::new(topic, &value)).await?);
        }
        if number % 100 == 0 {
            peak = peak.max(resident()?);
        }
    }
    Ok(peak - before)
}

#[tokio::test(flavor = "multi_thread")]
async fn is_bounded_while_the_broker_stands_still() -> Result<()> {
    let cluster = tokio::task::spawn_blocking(|| Cluster::builder(Version::V4_4_0).start()).await??;
    create_topic(&cluster.bootstrap(), "full", 1, &[])?;
    let client = Client::builder([cluster.bootstrap()]).connect().await?;
    let mut config = ProducerConfig::default();
    config.buffer_memory = BUFFER;
    let producer = client.producer().config(config).build().await?;
    let growth = send_all(&producer, "full", &cluster).await?;
    producer.close().await?;
    let seen = reading::committed(&client, "full", 1).await?;
    ensure!(seen.len() == RECORDS, "{} records", seen.len());
    let in_order = seen
        .iter()
        .enumerate()
        .all(|(number, value)| value.parse() == Ok(number));
    ensure!(in_order, "records are out of order");
    ensure!(growth < GROWTH, "the process grew by {growth} bytes");
    a_producer_without_broker_ends_in_time(&cluster, &client).await
}

async fn a_producer_without_broker_ends_in_time(cluster: &Cluster, client: &Client) -> Result<()> {
    let mut config = ProducerConfig::default();
    config.max_block = Duration::from_secs(2);
    let mut transactional = client
        .transactional_producer("stuck")
        .config(config)
        .build()
        .await?;
    let mut transaction = transactional.begin().await?;
    transaction
        .send(Record::new("full", "never"))
        .await?
        .wait()
        .await?;
    let node = cluster.node_ids()[0];
    cluster.node(node)?.pause()?;
    let pending = transaction.send(Record::new("full", "never either")).await?;
    drop(transaction);
    let closed = tokio::time::timeout(
        Duration::from_secs(10),
        transactional.close(Duration::from_secs(1)),
    );
    let error = closed.await.context("close does not keep to its limit")?.err();
    let waited = tokio::time::timeout(Duration::from_secs(60), pending.wait()).await;
    cluster.node(node)?.resume()?;
    ensure!(
        error.as_ref().map(sealwax::Error::kind) == Some(ErrorKind::Timeout),
        "{error:?}"
    );
    ensure!(
        waited
            .context("a record of a dropped producer has no result")?
            .is_err(),
        "a record of an aborted transaction was written"
    );
    Ok(())
}
