//! A hanging transaction, made on purpose: a Produce request that arrives behind the end of its transaction, at a broker that does not
//! verify (3.3 cannot; later ones are told not to). It holds up read_committed readers until it is aborted.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sealwax::admin::{Admin, OffsetSpec};
use sealwax::{Client, IsolationLevel, Record, TopicPartition};
use sealwax_tests::scratch::unique;
use serde_json::Value;
use xtask::kafka::{Cluster, Tool, Version, run_java_tool};

use super::raw::late_write;
use super::{java, set_up, txns};

async fn boot(version: Version) -> Result<Arc<Cluster>> {
    tokio::task::spawn_blocking(move || {
        let builder = Cluster::builder(version);
        let builder = match version {
            Version::V3_3_2 => builder,
            _ => builder.config("transaction.partition.verification.enable", "false"),
        };
        Ok(Arc::new(builder.start()?))
    })
    .await?
}

async fn commit(client: &Client, id: &str, topic: &str, value: &str) -> Result<()> {
    let mut producer = client.transactional_producer(id).build().await?;
    let mut txn = producer.begin().await?;
    txn.send(Record::new(topic, value)).await?;
    let _committed = txn.commit().await?;
    Ok(())
}

/// Markers are written after a commit was confirmed: waits until the log reaches so far.
async fn until_end(admin: &Admin, partition: &TopicPartition, end: i64) -> Result<()> {
    let asked = [(partition.clone(), OffsetSpec::Latest)];
    let reached = async {
        while admin
            .list_offsets(&asked, IsolationLevel::ReadUncommitted)
            .await?[partition]
            < end
        {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(Duration::from_secs(30), reached)
        .await
        .with_context(|| format!("{partition} does not reach offset {end}"))?
}

/// Commits "one", writes "hanging" behind its marker under the same id and epoch, then commits "two" with another producer.
async fn make_hang(cluster: &Cluster, client: &Client, topic: &str, id: &str) -> Result<i64> {
    let partition = TopicPartition::new(topic, 0);
    let admin = client.admin();
    commit(client, id, topic, "one").await?;
    until_end(&admin, &partition, 2).await?;
    let producers = admin.describe_producers(std::slice::from_ref(&partition)).await;
    let producer = producers.into_iter().next().context("no result")??;
    let producer = producer.into_iter().next().context("no producer is remembered")?;
    ensure!(producer.current_txn_start_offset.is_none(), "{producer:?}");
    let (address, id, of_topic) = (cluster.bootstrap(), id.to_owned(), topic.to_owned());
    let producer_id = producer.producer_id.0;
    let long_ago = producer.last_timestamp_ms.context("no time")? - 3_600_000;
    tokio::task::spawn_blocking(move || late_write(&address, &id, &of_topic, &producer, "hanging", long_ago))
        .await??;
    commit(client, &unique("other"), topic, "two").await?;
    until_end(&admin, &partition, 5).await?;
    Ok(producer_id)
}

/// What Java's tool finds: a second opinion.
async fn found_by_java(cluster: &Arc<Cluster>, topic: &str) -> Result<String> {
    let (cluster, topic) = (Arc::clone(cluster), topic.to_owned());
    tokio::task::spawn_blocking(move || {
        let class = cluster.version().main_class(Tool::Transactions);
        let bootstrap = cluster.bootstrap();
        let arguments = [
            "--bootstrap-server",
            &bootstrap,
            "find-hanging",
            "--topic",
            &topic,
            "--max-transaction-timeout",
            "15",
        ];
        run_java_tool(cluster.jvm(), class, &arguments)
    })
    .await?
}

async fn found_by_us(cluster: &Cluster, more: &[&str]) -> Result<(Option<i32>, Value)> {
    let said = txns(cluster, &[&["hanging", "--json"], more].concat()).await?;
    Ok((said.exit, said.json()?))
}

async fn is_found(cluster: &Arc<Cluster>, topic: &str, id: &str, producer_id: i64) -> Result<()> {
    for scope in [&[][..], &["--topic", topic], &["--broker-id", "1"]] {
        let (exit, found) = found_by_us(cluster, scope).await?;
        ensure!(
            exit == Some(1) && found["older_than_ms"] == 900_000,
            "{exit:?} {found}"
        );
        let all = found["hanging"].as_array().context("no list")?;
        let [hanging] = &all[..] else {
            anyhow::bail!("{found}");
        };
        ensure!(
            hanging["topic"] == topic
                && hanging["producer_id"] == producer_id
                && hanging["start_offset"] == 2
                && hanging["last_stable_offset"] == 2
                && hanging["blocks"] == true
                && hanging["held_up"] == 3
                && hanging["transactional_id"] == id,
            "{found}"
        );
    }
    let (exit, found) = found_by_us(cluster, &["--topic", topic, "--older-than", "2h"]).await?;
    ensure!(exit == Some(0) && found["open"] == 1, "{exit:?} {found}");
    let second_opinion = found_by_java(cluster, topic).await?;
    ensure!(
        second_opinion.contains(&producer_id.to_string()),
        "{second_opinion}"
    );
    Ok(())
}

async fn a_hanging_transaction_is_found_and_ended(version: Version) -> Result<()> {
    let cluster = boot(version).await?;
    let (client, topic) = set_up(&cluster).await?;
    let id = unique("hangs");
    let producer_id = make_hang(&cluster, &client, &topic, &id).await?;
    ensure!(
        java(&cluster, &topic).await? == ["one"],
        "the late write does not hold readers up"
    );
    is_found(&cluster, &topic, &id, producer_id).await?;

    let abort = [
        "abort",
        "--topic",
        &topic,
        "--partition",
        "0",
        "--start-offset",
        "2",
    ];
    let dry = txns(&cluster, &[&abort[..], &["--dry-run"]].concat()).await?;
    ensure!(
        dry.exit == Some(0) && dry.stdout.starts_with("would abort"),
        "{}{}",
        dry.stdout,
        dry.stderr
    );
    let (exit, _) = found_by_us(&cluster, &["--topic", &topic]).await?;
    ensure!(exit == Some(1), "the dry run has done something");
    let done = txns(&cluster, &[&abort[..], &["--yes"]].concat()).await?;
    ensure!(
        done.exit == Some(0) && done.stdout.contains("is aborted"),
        "{}{}",
        done.stdout,
        done.stderr
    );

    let (exit, found) = found_by_us(&cluster, &["--topic", &topic, "--older-than", "0s"]).await?;
    ensure!(exit == Some(0) && found["open"] == 0, "{exit:?} {found}");
    ensure!(java(&cluster, &topic).await? == ["one", "two"]);
    let again = txns(&cluster, &[&abort[..], &["--yes"]].concat()).await?;
    ensure!(
        again.exit == Some(1) && again.stderr.contains("nothing is open there"),
        "{}",
        again.stderr
    );
    commit(&client, &id, &topic, "three").await?;
    ensure!(java(&cluster, &topic).await? == ["one", "two", "three"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hanging_transaction_is_found_and_ended_3_3_2() -> Result<()> {
    a_hanging_transaction_is_found_and_ended(Version::V3_3_2).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hanging_transaction_is_found_and_ended_3_9_1() -> Result<()> {
    a_hanging_transaction_is_found_and_ended(Version::V3_9_1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hanging_transaction_is_found_and_ended_4_4_0() -> Result<()> {
    a_hanging_transaction_is_found_and_ended(Version::V4_4_0).await
}
