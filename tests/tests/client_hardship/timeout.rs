//! A transaction that is open for longer than transaction.timeout.ms: the coordinator aborts it. Under TV2 the producer goes on, under TV1
//! it is fenced and told both possible reasons.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use sealwax::{CommitError, ErrorKind, Record, Transaction, TransactionalProducer};
use sealwax_tests::scratch::unique;
use sealwax_tests::wait;
use xtask::kafka::{Cluster, Isolation, Version, end_offset};

use crate::{reading, set_up};

const TRANSACTION_TIMEOUT: Duration = Duration::from_secs(1);

/// How the overdue transaction is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Commit,
    SendAndCommit,
    Abort,
    Drop,
}

const ENDS: [End; 4] = [End::Commit, End::SendAndCommit, End::Abort, End::Drop];

/// Waits until the coordinator has aborted what is open.
async fn overdue(cluster: &Arc<Cluster>, topic: &str) -> Result<()> {
    let (bootstrap, topic) = (cluster.bootstrap(), topic.to_owned());
    tokio::task::spawn_blocking(move || {
        let end = |isolation| end_offset(&bootstrap, &topic, 0, isolation);
        wait::until("the coordinator's abort", Duration::from_secs(30), || {
            let is_over = end(Isolation::ReadCommitted)? == end(Isolation::ReadUncommitted)?;
            Ok(is_over.then_some(()))
        })
    })
    .await?
}

/// The error of ending it, if there is one.
async fn end(mut transaction: Transaction<'_>, topic: &str, how: End) -> Result<Option<CommitError>> {
    if how == End::SendAndCommit {
        let delivery = transaction.send(Record::new(topic, "too late")).await?;
        ensure!(
            delivery.wait().await.is_err(),
            "a write was taken after the abort"
        );
    }
    match how {
        End::Commit | End::SendAndCommit => match transaction.commit().await {
            Ok(_committed) => anyhow::bail!("an aborted transaction was committed"),
            Err(error) => Ok(Some(error)),
        },
        End::Abort => Ok(transaction.abort().await.err().map(CommitError::Fenced)),
        End::Drop => Ok(None),
    }
}

async fn begin_and_time_out(
    cluster: &Arc<Cluster>,
    producer: &mut TransactionalProducer,
    topic: &str,
    how: End,
) -> Result<Option<CommitError>> {
    let mut transaction = producer.begin().await?;
    transaction
        .send(Record::new(topic, "overdue"))
        .await?
        .wait()
        .await?;
    overdue(cluster, topic).await?;
    end(transaction, topic, how).await
}

#[tokio::test(flavor = "multi_thread")]
async fn is_recovered_from_under_tv2() -> Result<()> {
    let (cluster, client, topic) = set_up(Version::V4_4_0, 1).await?;
    let mut producer = client
        .transactional_producer(unique("timeout"))
        .transaction_timeout(TRANSACTION_TIMEOUT)
        .build()
        .await?;
    for how in ENDS {
        let error = begin_and_time_out(&cluster, &mut producer, &topic, how).await?;
        match how {
            End::Commit | End::SendAndCommit => {
                ensure!(
                    matches!(error, Some(CommitError::Aborted(_))),
                    "{how:?}: {error:?}"
                );
            }
            End::Abort | End::Drop => ensure!(error.is_none(), "{how:?}: {error:?}"),
        }
        let mut transaction = producer.begin().await?;
        transaction.send(Record::new(&topic, &format!("{how:?}"))).await?;
        let _committed = transaction.commit().await?;
    }
    let seen = reading::committed(&client, &topic, 1).await?;
    ensure!(seen == ENDS.map(|how| format!("{how:?}")), "{seen:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn fences_under_tv1_and_says_why() -> Result<()> {
    let (cluster, client, topic) = set_up(Version::V3_9_1, 1).await?;
    for how in ENDS {
        let mut producer = client
            .transactional_producer(unique("timeout"))
            .transaction_timeout(TRANSACTION_TIMEOUT)
            .build()
            .await?;
        let error = begin_and_time_out(&cluster, &mut producer, &topic, how).await?;
        if how != End::Drop {
            let Some(CommitError::Fenced(error)) = error else {
                anyhow::bail!("{how:?}: {error:?}");
            };
            let text = error.to_string();
            ensure!(
                error.kind() == ErrorKind::Fenced
                    && text.contains("taken over")
                    && text.contains("timed out"),
                "{how:?}: {text}"
            );
        }
        let next = producer.begin().await.err().map(|error| error.kind());
        ensure!(next == Some(ErrorKind::Fenced), "{how:?}: {next:?}");
    }
    ensure!(reading::committed(&client, &topic, 1).await?.is_empty());
    Ok(())
}
