//! Permissions on topics, and on the cluster for a producer without transactions.

use std::time::Instant;

use anyhow::{Context, Result, bail};
use sealwax::{Client, CommitError, Error, Producer, Record};
use sealwax_tests::scratch::unique;
use xtask::kafka::{AclOperation, AclResource, Version};

use crate::{allow, check, check_kind, leaked, restrict, set_up};

/// The error of a transaction that writes to a topic. Where `Write` is missing it can only be aborted.
async fn refused(client: &Client, topic: &str) -> Result<Error> {
    let mut producer = client.transactional_producer(unique("acl")).build().await?;
    let mut transaction = producer.begin().await?;
    let sent = transaction.send(Record::new(topic, "refused")).await;
    let commit = transaction.commit().await;
    match (sent, commit) {
        (Err(error), _) => Ok(error),
        (Ok(_), Err(CommitError::Aborted(error))) => {
            // The producer goes on.
            producer.begin().await?.abort().await?;
            Ok(error)
        }
        (Ok(_), other) => bail!("{other:?}"),
    }
}

/// What an earlier send was refused for is not taken for true: the first send after the grant is taken.
async fn allowed(producer: &Producer, topic: &str) -> Result<()> {
    let sent = producer.send(Record::new(topic, "allowed")).await;
    sent.context("after the grant")?
        .wait()
        .await
        .context("after the grant")?;
    Ok(())
}

/// One producer meets the missing permission, and then, in a new transaction, the grant.
async fn goes_on_after_the_grant(
    version: Version,
    left: &'static [AclOperation],
    missing: AclOperation,
) -> Result<()> {
    let (cluster, client, topic) = set_up(version).await?;
    let resource = AclResource::Topic(leaked(&topic));
    restrict(&cluster, resource, left).await?;
    let begun = Instant::now();
    let error = refused(&client, &topic).await?;
    check(
        &error,
        &format!("{missing:?}"),
        &format!("--topic {topic}"),
        begun,
    )?;

    let plain = client.producer().build().await?;
    let begun = Instant::now();
    let error = match plain.send(Record::new(&topic, "refused")).await {
        Err(error) => error,
        Ok(delivery) => delivery.wait().await.err().context("it was written")?,
    };
    check_kind(
        &error,
        &format!("{missing:?}"),
        &format!("--topic {topic}"),
        begun,
    )?;

    allow(&cluster, resource, AclOperation::Write).await?;
    allowed(&plain, &topic).await?;
    let mut producer = client.transactional_producer(unique("acl")).build().await?;
    let mut transaction = producer.begin().await?;
    transaction.send(Record::new(&topic, "allowed")).await?;
    let _committed = transaction.commit().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn write_on_a_topic_3_9_1() -> Result<()> {
    goes_on_after_the_grant(Version::V3_9_1, &[AclOperation::Describe], AclOperation::Write).await
}

#[tokio::test(flavor = "multi_thread")]
async fn write_on_a_topic_4_4_0() -> Result<()> {
    goes_on_after_the_grant(Version::V4_4_0, &[AclOperation::Describe], AclOperation::Write).await
}

#[tokio::test(flavor = "multi_thread")]
async fn describe_on_a_topic_3_9_1() -> Result<()> {
    goes_on_after_the_grant(Version::V3_9_1, &[AclOperation::Create], AclOperation::Describe).await
}

#[tokio::test(flavor = "multi_thread")]
async fn describe_on_a_topic_4_4_0() -> Result<()> {
    goes_on_after_the_grant(Version::V4_4_0, &[AclOperation::Create], AclOperation::Describe).await
}
