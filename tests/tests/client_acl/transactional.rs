//! Permissions on the transactional id.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use sealwax::{Client, CommitError, Record};
use sealwax_tests::scratch::unique;
use xtask::kafka::{AclOperation, AclResource, Cluster, Version};

use crate::{allow, check_kind, leaked, restrict, set_up};

/// A transaction with one record, committed.
async fn works(client: &Client, id: &str, topic: &str) -> Result<()> {
    let mut producer = client.transactional_producer(id).build().await?;
    let mut transaction = producer.begin().await?;
    transaction.send(Record::new(topic, "allowed")).await?;
    let _committed = transaction.commit().await?;
    Ok(())
}

/// `build` fails as long as `missing` is, and works after Write was granted, which includes Describe.
async fn build_is_refused(
    (cluster, client, topic): &(Arc<Cluster>, Client, String),
    left: &'static [AclOperation],
    missing: AclOperation,
) -> Result<()> {
    let id = leaked(&unique("acl-id"));
    let resource = AclResource::TransactionalId(id);
    restrict(cluster, resource, left).await?;
    let begun = Instant::now();
    let Err(error) = client.transactional_producer(id).build().await else {
        bail!("it was built without {missing:?}");
    };
    check_kind(
        &error,
        &format!("{missing:?}"),
        &format!("--transactional-id {id}"),
        begun,
    )?;
    allow(cluster, resource, AclOperation::Write).await?;
    works(client, id, topic).await.context("after the grant")
}

async fn on_the_id(version: Version) -> Result<()> {
    let set_up = set_up(version).await?;
    build_is_refused(&set_up, &[AclOperation::Describe], AclOperation::Write).await?;
    // Without Describe not even the coordinator is told. Some other operation must be there, or the id would be open to all.
    build_is_refused(&set_up, &[AclOperation::DescribeConfigs], AclOperation::Describe).await?;
    taken_away(&set_up).await
}

/// Write is taken away between two transactions: the next one fails with the same words, the producer is beyond use, and a new one works after
/// the grant.
async fn taken_away((cluster, client, topic): &(Arc<Cluster>, Client, String)) -> Result<()> {
    let id = leaked(&unique("acl-id"));
    let mut producer = client.transactional_producer(id).build().await?;
    let mut transaction = producer.begin().await?;
    transaction.send(Record::new(topic, "allowed")).await?;
    let _committed = transaction.commit().await?;

    restrict(
        cluster,
        AclResource::TransactionalId(id),
        &[AclOperation::Describe],
    )
    .await?;
    let begun = Instant::now();
    let mut transaction = producer.begin().await?;
    transaction.send(Record::new(topic, "refused")).await?;
    let error = match transaction.commit().await {
        Err(CommitError::Fatal(error) | CommitError::Aborted(error)) => error,
        other => bail!("without Write the commit gave {other:?}"),
    };
    check_kind(&error, "Write", &format!("--transactional-id {id}"), begun)?;
    drop(producer);
    allow(cluster, AclResource::TransactionalId(id), AclOperation::Write).await?;
    works(client, id, topic).await.context("after the grant")
}

#[tokio::test(flavor = "multi_thread")]
async fn on_the_transactional_id_3_9_1() -> Result<()> {
    on_the_id(Version::V3_9_1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn on_the_transactional_id_4_4_0() -> Result<()> {
    on_the_id(Version::V4_4_0).await
}
