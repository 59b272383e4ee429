//! Records that cannot be taken, and producers that were closed.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use sealwax::config::ProducerConfig;
use sealwax::{CommitError, ErrorKind, Record};
use sealwax_tests::readers;
use sealwax_tests::scratch::unique;
use xtask::kafka::{Isolation, Version, create_topic};

use crate::{check, set_up};

/// A topic that is missing fails after `max.block.ms`, is named, and its transaction is not committed without it.
async fn missing_topic(version: Version) -> Result<()> {
    let (_cluster, client, topic) = set_up(version).await?;
    let mut config = ProducerConfig::default();
    config.max_block = Duration::from_secs(2);
    let mut producer = client
        .transactional_producer(unique("misuse"))
        .config(config)
        .build()
        .await?;
    let mut transaction = producer.begin().await?;
    let nowhere = unique("nowhere");
    let sent = transaction.send(Record::new(&nowhere, "lost")).await;
    let error = sent.err().context("a record for a missing topic was taken")?;
    check(
        &error,
        ErrorKind::UnknownTopic,
        &[&nowhere, "auto.create.topics.enable", "2000"],
    )?;
    ensure!(error.requires_abort(), "{error:?}");
    let Err(CommitError::Aborted(error)) = transaction.commit().await else {
        bail!("a transaction without one of its records was committed");
    };
    ensure!(error.to_string().contains(&nowhere), "{error}");
    let mut transaction = producer.begin().await?;
    transaction.send(Record::new(&topic, "there")).await?;
    let _committed = transaction.commit().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn to_a_missing_topic_3_9_1() -> Result<()> {
    missing_topic(Version::V3_9_1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn to_a_missing_topic_4_4_0() -> Result<()> {
    missing_topic(Version::V4_4_0).await
}

/// A record above `max.request.size` is refused at once, one that only the topic refuses later; either makes the transaction abortable, and the producer goes
/// on. In both cases the error names the setting.
async fn too_large(version: Version) -> Result<()> {
    let (cluster, client, topic) = set_up(version).await?;
    let narrow = unique("narrow");
    create_topic(
        &cluster.bootstrap(),
        &narrow,
        1,
        &[("max.message.bytes", "10000")],
    )?;
    let mut producer = client.transactional_producer(unique("misuse")).build().await?;
    let mut transaction = producer.begin().await?;
    let (huge, large) = ("x".repeat(2 * 1024 * 1024), "x".repeat(20_000));
    let error = transaction.send(Record::new(&topic, &huge)).await.err();
    let error = error.context("a record above max.request.size was taken")?;
    check(
        &error,
        ErrorKind::RecordTooLarge,
        &["max.request.size = 1048576", &topic],
    )?;
    ensure!(error.requires_abort(), "{error:?}");
    transaction.abort().await?;

    let mut transaction = producer.begin().await?;
    let delivery = transaction.send(Record::new(&narrow, &large)).await?;
    let error = delivery.wait().await.err().context("it was written")?;
    ensure!(
        error.requires_abort() && error.to_string().contains("max.message.bytes"),
        "{error:?}"
    );
    let Err(CommitError::Aborted(error)) = transaction.commit().await else {
        bail!("a transaction without one of its records was committed");
    };
    ensure!(error.to_string().contains(&narrow), "{error}");

    let mut transaction = producer.begin().await?;
    transaction.send(Record::new(&topic, "small")).await?;
    let _committed = transaction.commit().await?;
    let read = tokio::task::spawn_blocking(move || readers::java(&cluster, &topic, Isolation::ReadCommitted));
    ensure!(read.await?? == ["small"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_is_too_large_3_9_1() -> Result<()> {
    too_large(Version::V3_9_1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_is_too_large_4_4_0() -> Result<()> {
    too_large(Version::V4_4_0).await
}

/// A producer is closed by value, so that nothing can be sent afterwards. What was taken before has its result; a transaction that was open is
/// aborted.
#[tokio::test(flavor = "multi_thread")]
async fn into_a_producer_that_is_closed() -> Result<()> {
    let (cluster, client, topic) = set_up(Version::V4_4_0).await?;
    let producer = client.producer().build().await?;
    let delivery = producer.send(Record::new(&topic, "plain")).await?;
    producer.close().await?;
    delivery.wait().await.context("close did not flush")?;

    let mut producer = client.transactional_producer(unique("misuse")).build().await?;
    let mut transaction = producer.begin().await?;
    transaction
        .send(Record::new(&topic, "aborted"))
        .await?
        .wait()
        .await?;
    let unsent = transaction.send(Record::new(&topic, "aborted too")).await?;
    drop(transaction);
    producer.close(Duration::from_secs(20)).await?;
    ensure!(
        unsent.wait().await.is_err(),
        "a record of a dropped transaction was delivered"
    );
    let read = tokio::task::spawn_blocking(move || readers::java(&cluster, &topic, Isolation::ReadCommitted));
    ensure!(read.await?? == ["plain"]);
    Ok(())
}
