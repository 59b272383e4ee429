//! Progress behind an open transaction (O09): a writer commits a state and dies with another transaction open, a second writer commits a newer
//! state above it. Who takes the first one's place and reads to the end finds the newer state: it waits for the open transaction or, having the
//! id, aborts it, and never reads past it.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sealwax::admin::OffsetSpec;
use sealwax::{Client, IsolationLevel, Record, TopicPartition, TransactionalProducer};
use sealwax_tests::scratch::unique;
use xtask::kafka::Version;

use crate::{reading, set_up};

async fn state(producer: &mut TransactionalProducer, topic: &str, value: &str) -> Result<()> {
    let mut transaction = producer.begin().await?;
    transaction.send(Record::new(topic, value)).await?;
    let _committed = transaction.commit().await?;
    Ok(())
}

/// Where the last stable offset is.
async fn stable(client: &Client, topic: &str) -> Result<i64> {
    let partition = TopicPartition::new(topic, 0);
    let asked = [(partition.clone(), OffsetSpec::Latest)];
    let ends = client
        .admin()
        .list_offsets(&asked, IsolationLevel::ReadCommitted)
        .await?;
    ends.get(&partition).copied().context("no end")
}

async fn progress(version: Version) -> Result<()> {
    let (_cluster, client, topic) = set_up(version, 1).await?;
    let id = unique("writer");
    let mut first = client.transactional_producer(id.as_str()).build().await?;
    state(&mut first, &topic, "s1").await?;
    let mut open = first.begin().await?;
    let never = open.send(Record::new(&topic, "never")).await?.wait().await?;
    // As a process that dies: nothing is said to the broker.
    std::mem::forget(open);
    let mut second = client.transactional_producer(unique("writer")).build().await?;
    state(&mut second, &topic, "s2").await?;
    ensure!(
        Some(stable(&client, &topic).await?) == never.offset,
        "a committed reader would pass the open transaction"
    );

    // A reader that does not take the place waits: it is given nothing behind the open transaction.
    let reading = reading::committed(&client, &topic, 1);
    let waited = tokio::time::timeout(Duration::from_millis(500), reading).await;
    ensure!(
        waited.is_err(),
        "it was read past an open transaction: {waited:?}"
    );

    let _third = client.transactional_producer(id.as_str()).build().await?;
    let seen = reading::committed(&client, &topic, 1).await?;
    ensure!(seen == ["s1", "s2"], "{seen:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn is_not_read_past_an_open_transaction_3_9_1() -> Result<()> {
    progress(Version::V3_9_1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn is_not_read_past_an_open_transaction_4_4_0() -> Result<()> {
    progress(Version::V4_4_0).await
}
