//! Permission on the group whose offsets belong to a transaction. Under TV1 the transaction's coordinator asks for it, under TV2 the group's.

use std::time::Instant;

use anyhow::{Context, Result};
use sealwax::{ConsumerGroupMetadata, OffsetAndMetadata, Record, TopicPartition};
use sealwax_tests::scratch::unique;
use xtask::kafka::{AclOperation, AclResource, Version};

use crate::{allow, check_kind, leaked, restrict, set_up};

async fn read_on_a_group(version: Version) -> Result<()> {
    let (cluster, client, topic) = set_up(version).await?;
    let group = leaked(&unique("acl-group"));
    let resource = AclResource::Group(group);
    restrict(&cluster, resource, &[AclOperation::Describe]).await?;
    let offsets = || [(TopicPartition::new(topic.as_str(), 0), OffsetAndMetadata::new(7))];
    let member = ConsumerGroupMetadata::new(group);
    let mut producer = client.transactional_producer(unique("acl")).build().await?;
    let mut transaction = producer.begin().await?;
    transaction.send(Record::new(&topic, "refused")).await?;
    let begun = Instant::now();
    let sent = transaction.send_offsets(offsets(), &member).await;
    let error = sent.err().context("offsets were taken without Read")?;
    check_kind(&error, "Read", &format!("--group {group}"), begun)?;
    transaction.abort().await?;

    allow(&cluster, resource, AclOperation::Read).await?;
    let mut transaction = producer.begin().await?;
    transaction.send(Record::new(&topic, "allowed")).await?;
    transaction
        .send_offsets(offsets(), &member)
        .await
        .context("after the grant")?;
    let _committed = transaction.commit().await.context("after the grant")?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn of_offsets_3_9_1() -> Result<()> {
    read_on_a_group(Version::V3_9_1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn of_offsets_4_4_0() -> Result<()> {
    read_on_a_group(Version::V4_4_0).await
}
