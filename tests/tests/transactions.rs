//! The client's transactions on real brokers, TV1 (3.3.2, 3.9.1) and TV2 (4.4.0), read back by Java.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sealwax::admin::TransactionState;
use sealwax::{Client, CommitError, ErrorKind, IsolationLevel, Record, StartOffset, TopicPartition};
use sealwax_tests::scratch::unique;
use sealwax_tests::{clusters, readers};
use xtask::kafka::{Cluster, Isolation, Version, create_topic};

/// A cluster, a client connected to it, and a topic of the test's own.
async fn set_up(version: Version, partitions: i32) -> Result<(Arc<Cluster>, Client, String)> {
    let cluster = tokio::task::spawn_blocking(move || clusters::shared(version)).await??;
    let topic = unique("transactions");
    create_topic(&cluster.bootstrap(), &topic, partitions, &[])?;
    let client = Client::builder(cluster.bootstrap().split(',')).connect().await?;
    Ok((cluster, client, topic))
}

async fn java(cluster: &Arc<Cluster>, topic: &str, isolation: Isolation) -> Result<Vec<String>> {
    let (cluster, topic) = (Arc::clone(cluster), topic.to_owned());
    tokio::task::spawn_blocking(move || readers::java(&cluster, &topic, isolation)).await?
}

/// Commits, aborts and drops transactions in turn; Java sees exactly the committed ones, and all of them uncommitted.
async fn commit_abort_and_drop(version: Version) -> Result<()> {
    let (cluster, client, topic) = set_up(version, 3).await?;
    let mut producer = client.transactional_producer(unique("txn")).build().await?;
    let mut committed = BTreeSet::new();
    for round in 0..30 {
        let mut txn = producer.begin().await?;
        for index in 0..5 {
            let value = format!("{round}-{index}");
            let delivery = txn.send(Record::new(&topic, &value).partition(index % 3)).await?;
            if round % 3 == 0 {
                committed.insert(value);
            } else if index == 0 {
                // An abort takes back what was not sent yet: at least one record is to be in the log first.
                delivery.wait().await?;
            }
        }
        match round % 3 {
            0 => {
                let _committed = txn.commit().await?;
            }
            1 => txn.abort().await?,
            _ => drop(txn),
        }
    }
    producer.close(Duration::from_secs(10)).await?;
    let seen = java(&cluster, &topic, Isolation::ReadCommitted).await?;
    ensure!(
        seen.len() == committed.len(),
        "{} records instead of {}",
        seen.len(),
        committed.len()
    );
    ensure!(seen.into_iter().collect::<BTreeSet<_>>() == committed);
    let all = java(&cluster, &topic, Isolation::ReadUncommitted).await?;
    ensure!(
        all.len() > committed.len(),
        "no aborted record reached the log, so the aborts were not tested"
    );
    Ok(())
}

/// Back-to-back transactions of one record: none may fail, none may be lost.
async fn back_to_back(version: Version) -> Result<()> {
    let (cluster, client, topic) = set_up(version, 1).await?;
    let mut producer = client.transactional_producer(unique("txn")).build().await?;
    for number in 1..=200u64 {
        let mut txn = producer.begin().await?;
        txn.send(Record::new(&topic, &number.to_string())).await?;
        let _committed = txn.commit().await?;
    }
    let seen = java(&cluster, &topic, Isolation::ReadCommitted).await?;
    ensure!(
        sealwax_tests::numbers::difference(&seen, 200).is_none(),
        "{seen:?}"
    );
    Ok(())
}

/// Waits until nothing is under way for the id: as long as markers are being written, an EndTxn may be told so before it is told that it is
/// fenced, and then its outcome is unknown.
async fn markers_are_written(client: &Client, id: &str) -> Result<()> {
    let written = async {
        loop {
            let told = client.admin().describe_transactions(&[id]).await;
            match told.into_iter().next() {
                Some(Ok(told)) if told.state == TransactionState::CompleteCommit => return,
                Some(_) | None => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    };
    let limit = Duration::from_secs(30);
    tokio::time::timeout(limit, written).await.context("markers")
}

/// A second producer with the same id fences the first, whose open transaction is aborted; the error names the id.
async fn fencing(version: Version) -> Result<()> {
    let (cluster, client, topic) = set_up(version, 1).await?;
    let id = unique("fenced");
    let mut older = client.transactional_producer(id.as_str()).build().await?;
    let mut txn = older.begin().await?;
    txn.send(Record::new(&topic, "from the older"))
        .await?
        .wait()
        .await?;
    let mut newer = client.transactional_producer(id.as_str()).build().await?;
    let mut newer_txn = newer.begin().await?;
    newer_txn.send(Record::new(&topic, "from the newer")).await?;
    let _committed = newer_txn.commit().await?;
    markers_are_written(&client, &id).await?;
    match txn.commit().await {
        Err(CommitError::Fenced(error)) => {
            ensure!(
                error.kind() == ErrorKind::Fenced && error.to_string().contains(&id),
                "{error}"
            );
        }
        other => anyhow::bail!("the older producer's commit gave {other:?}"),
    }
    let error = older.begin().await.err().map(|error| error.kind());
    ensure!(error == Some(ErrorKind::Fenced), "{error:?}");
    let seen = java(&cluster, &topic, Isolation::ReadCommitted).await?;
    ensure!(seen == ["from the newer"], "{seen:?}");
    Ok(())
}

/// A transaction that sent nothing commits and aborts without a trace.
async fn empty_transactions(version: Version) -> Result<()> {
    let (_cluster, client, topic) = set_up(version, 1).await?;
    let mut producer = client.transactional_producer(unique("txn")).build().await?;
    for _ in 0..3 {
        let _committed = producer.begin().await?.commit().await?;
        producer.begin().await?.abort().await?;
    }
    let mut txn = producer.begin().await?;
    let delivery = txn.send(Record::new(&topic, "the only one")).await?;
    let _committed = txn.commit().await?;
    ensure!(
        delivery.wait().await?.offset == Some(0),
        "an empty transaction left a marker in the log"
    );
    Ok(())
}

/// Our own reader under read_committed: it stops at an open transaction, passes over an aborted one, and counts it.
async fn our_reader(version: Version) -> Result<()> {
    let (_cluster, client, topic) = set_up(version, 1).await?;
    let partition = TopicPartition::new(topic.as_str(), 0);
    let mut committing = client.transactional_producer(unique("txn")).build().await?;
    let mut aborting = client.transactional_producer(unique("txn")).build().await?;
    let mut aborted = aborting.begin().await?;
    aborted.send(Record::new(&topic, "aborted")).await?.wait().await?;
    let mut txn = committing.begin().await?;
    txn.send(Record::new(&topic, "committed")).await?;
    let _committed = txn.commit().await?;

    let admin = client.admin();
    let ask = [(partition.clone(), sealwax::admin::OffsetSpec::Latest)];
    let stable = admin.list_offsets(&ask, IsolationLevel::ReadCommitted).await?;
    ensure!(
        stable.get(&partition) == Some(&0),
        "the open transaction starts at 0, but the stable end is {stable:?}"
    );
    aborted.abort().await?;

    let end = admin.list_offsets(&ask, IsolationLevel::ReadUncommitted).await?[&partition];
    let mut consumer = client
        .consumer()
        .isolation_level(IsolationLevel::ReadCommitted)
        .build()?;
    consumer.assign([(partition.clone(), StartOffset::Earliest)]);
    let (mut values, mut passed_over) = (Vec::new(), 0);
    while consumer
        .position(&partition)
        .is_none_or(|position| position < end)
    {
        let fetched = consumer.next().await?;
        passed_over += fetched.aborted_records();
        for record in fetched.records() {
            values.push(record?.value.map(<[u8]>::to_vec));
        }
    }
    ensure!(values == [Some(b"committed".to_vec())], "{values:?}");
    ensure!(
        passed_over == 1,
        "{passed_over} aborted records were counted instead of 1"
    );
    Ok(())
}

macro_rules! on_each_version {
    ($($scenario:ident: $on_3_3_2:ident $on_3_9_1:ident $on_4_4_0:ident;)*) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $on_3_3_2() -> Result<()> {
                $scenario(Version::V3_3_2).await
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn $on_3_9_1() -> Result<()> {
                $scenario(Version::V3_9_1).await
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn $on_4_4_0() -> Result<()> {
                $scenario(Version::V4_4_0).await
            }
        )*
    };
}

on_each_version! {
    commit_abort_and_drop: commit_abort_and_drop_3_3_2 commit_abort_and_drop_3_9_1 commit_abort_and_drop_4_4_0;
    back_to_back: back_to_back_3_3_2 back_to_back_3_9_1 back_to_back_4_4_0;
    fencing: fencing_3_3_2 fencing_3_9_1 fencing_4_4_0;
    empty_transactions: empty_transactions_3_3_2 empty_transactions_3_9_1 empty_transactions_4_4_0;
    our_reader: our_reader_3_3_2 our_reader_3_9_1 our_reader_4_4_0;
}
