//! A transaction that is open and that its coordinator knows: seen from all sides, then ended by fencing its id.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use sealwax::admin::{Admin, TransactionDescription, TransactionFilter, TransactionState};
use sealwax::{Client, CommitError, ErrorCode, ErrorKind, Record, TopicPartition};
use sealwax_tests::clusters;
use sealwax_tests::scratch::unique;
use serde_json::json;
use xtask::kafka::{Cluster, Version};

use super::{java, set_up, txns};

const TIMEOUT: Duration = Duration::from_secs(300);

/// All ids that the filter lets through; every broker must answer.
async fn ids(admin: &Admin, filter: TransactionFilter) -> Result<Vec<String>> {
    let mut ids = Vec::new();
    for listed in admin.list_transactions(&filter).await?.into_values() {
        ids.extend(listed?.into_iter().map(|listing| listing.transactional_id));
    }
    Ok(ids)
}

async fn describe(admin: &Admin, id: &str) -> Result<TransactionDescription> {
    let description = admin
        .describe_transactions(&[id])
        .await
        .pop()
        .context("no result")??;
    Ok(description)
}

/// The filters let the id through, or not, or the broker is too old for them.
async fn is_listed(admin: &Admin, id: &str, version: Version) -> Result<()> {
    let none = TransactionFilter::default;
    let ongoing = TransactionFilter {
        states: vec![TransactionState::Ongoing],
        ..none()
    };
    ensure!(
        ids(admin, ongoing.clone())
            .await?
            .iter()
            .any(|listed| listed == id)
    );
    let ended = TransactionFilter {
        states: vec![TransactionState::CompleteAbort, TransactionState::PrepareCommit],
        ..none()
    };
    ensure!(!ids(admin, ended).await?.iter().any(|listed| listed == id));
    let of_producer = TransactionFilter {
        producer_ids: vec![describe(admin, id).await?.producer_id],
        ..ongoing
    };
    ensure!(ids(admin, of_producer).await? == [id]);
    let old = TransactionFilter {
        older_than: Some(Duration::from_secs(3600)),
        ..none()
    };
    ensure!(!ids(admin, old).await?.iter().any(|listed| listed == id));
    let pattern = TransactionFilter {
        id_pattern: Some(format!("{}.", &id[..id.len() - 1])),
        ..none()
    };
    match ids(admin, pattern).await {
        Ok(listed) => ensure!(version == Version::V4_4_0 && listed == [id], "{listed:?}"),
        Err(error) => {
            let error = error.downcast::<sealwax::Error>()?;
            ensure!(version == Version::V3_9_1, "{error}");
            ensure!(error.kind() == ErrorKind::UnsupportedVersion, "{error}");
            ensure!(
                error.to_string().contains("cannot filter by a pattern"),
                "{error}"
            );
        }
    }
    Ok(())
}

async fn is_described(admin: &Admin, id: &str, partition: &TopicPartition) -> Result<()> {
    let description = describe(admin, id).await?;
    ensure!(description.state == TransactionState::Ongoing, "{description:?}");
    ensure!(description.partitions == [partition.clone()], "{description:?}");
    ensure!(
        description.timeout == TIMEOUT && description.start_time_ms.is_some(),
        "{description:?}"
    );
    let producers = admin
        .describe_producers(std::slice::from_ref(partition))
        .await
        .pop()
        .context("no result")??;
    ensure!(producers.len() == 1, "{producers:?}");
    ensure!(
        producers[0].producer_id == description.producer_id
            && producers[0].producer_epoch == description.producer_epoch
            && producers[0].current_txn_start_offset == Some(0)
            && producers[0].last_sequence == Some(0),
        "{producers:?} {description:?}"
    );
    Ok(())
}

/// By the client's calls: listed, described, fenced; the producer learns it, and nothing of its transaction is visible.
async fn by_the_client(version: Version) -> Result<()> {
    let cluster = tokio::task::spawn_blocking(move || clusters::shared(version)).await??;
    let (client, topic) = set_up(&cluster).await?;
    let admin = client.admin();
    let id = unique("open");
    let mut producer = client
        .transactional_producer(id.as_str())
        .transaction_timeout(TIMEOUT)
        .build()
        .await?;
    let mut txn = producer.begin().await?;
    txn.send(Record::new(&topic, "never seen")).await?.wait().await?;

    is_listed(&admin, &id, version).await?;
    is_described(&admin, &id, &TopicPartition::new(topic.as_str(), 0)).await?;
    let before = describe(&admin, &id).await?;
    let unknown = admin.describe_transactions(&["never-used", &id]).await;
    ensure!(unknown[1].is_ok(), "{unknown:?}");
    let error = unknown[0]
        .as_ref()
        .err()
        .context("an id that was never used is described")?;
    ensure!(
        error.code() == Some(ErrorCode::TRANSACTIONAL_ID_NOT_FOUND),
        "{error}"
    );

    let fenced = admin.fence_producers(&[&id]).await.pop().context("no result")??;
    ensure!(
        fenced.producer_id == before.producer_id && fenced.producer_epoch.0 > before.producer_epoch.0,
        "{fenced:?} after {before:?}"
    );
    let after = describe(&admin, &id).await?;
    ensure!(
        after.partitions.is_empty() && after.start_time_ms.is_none(),
        "{after:?}"
    );
    match txn.commit().await {
        Err(CommitError::Fenced(error)) => ensure!(error.to_string().contains(&id), "{error}"),
        other => bail!("the fenced producer's commit gave {other:?}"),
    }
    ensure!(java(&cluster, &topic).await?.is_empty());
    Ok(())
}

async fn open(client: &Client, topic: &str, id: &str) -> Result<sealwax::TransactionalProducer> {
    let mut producer = client.transactional_producer(id).build().await?;
    let mut txn = producer.begin().await?;
    txn.send(Record::new(topic, "never seen")).await?.wait().await?;
    // Neither committed nor aborted by its producer: that is what an operator finds.
    std::mem::forget(txn);
    Ok(producer)
}

async fn nothing_is_done_without_consent(cluster: &Cluster, id: &str) -> Result<()> {
    let asked = txns(cluster, &["abort", "--transactional-id", id]).await?;
    ensure!(
        asked.exit == Some(2) && asked.stderr.contains("--yes"),
        "{}",
        asked.stderr
    );
    let dry = txns(cluster, &["abort", "--transactional-id", id, "--dry-run"]).await?;
    ensure!(
        dry.exit == Some(0) && dry.stdout.starts_with("would fence transactional id"),
        "{}{}",
        dry.stdout,
        dry.stderr
    );
    let unknown = txns(cluster, &["abort", "--transactional-id", "never-used", "--yes"]).await?;
    ensure!(
        unknown.exit == Some(1) && unknown.stderr.contains("never-used"),
        "{}",
        unknown.stderr
    );
    let still = txns(cluster, &["describe", id, "--json"]).await?.json()?;
    ensure!(still["transactions"][0]["state"] == "Ongoing", "{still}");
    Ok(())
}

/// By the command line: the same, and an open transaction that its coordinator knows is no hanging one.
async fn by_the_command_line(version: Version) -> Result<()> {
    let cluster = tokio::task::spawn_blocking(move || clusters::shared(version)).await??;
    let (client, topic) = set_up(&cluster).await?;
    let id = unique("cli");
    let _producer = open(&client, &topic, &id).await?;

    let list = txns(&cluster, &["list", "--state", "ongoing"]).await?;
    ensure!(
        list.exit == Some(0) && list.stdout.starts_with("TRANSACTIONAL ID"),
        "{}",
        list.stderr
    );
    ensure!(
        list.stdout.lines().any(|line| line.starts_with(&id)),
        "{}",
        list.stdout
    );
    let described = txns(&cluster, &["describe", &id, "never-used", "--json"]).await?;
    ensure!(described.exit == Some(1), "{}", described.stderr);
    let described = described.json()?;
    ensure!(
        described["transactions"][0]["partitions"] == json!([{"topic": topic, "partition": 0}]),
        "{described}"
    );
    ensure!(
        described["failed"][0]["error"]["code"] == "TRANSACTIONAL_ID_NOT_FOUND",
        "{described}"
    );
    let hanging = txns(
        &cluster,
        &["hanging", "--topic", &topic, "--older-than", "0s", "--json"],
    )
    .await?;
    ensure!(hanging.exit == Some(0), "{}{}", hanging.stdout, hanging.stderr);
    ensure!(
        hanging.json()?["open"] == 1 && hanging.json()?["hanging"] == json!([]),
        "{}",
        hanging.stdout
    );
    let refused = [
        "abort",
        "--topic",
        &topic,
        "--partition",
        "0",
        "--start-offset",
        "0",
        "--yes",
    ];
    let refused = txns(&cluster, &refused).await?;
    ensure!(
        refused.exit == Some(1) && refused.stderr.contains("does not hang"),
        "{}",
        refused.stderr
    );

    nothing_is_done_without_consent(&cluster, &id).await?;
    let fenced = txns(&cluster, &["abort", "--transactional-id", &id, "--yes", "--json"]).await?;
    ensure!(
        fenced.exit == Some(0) && fenced.json()?["done"] == true,
        "{}{}",
        fenced.stdout,
        fenced.stderr
    );
    let partition = format!("{topic}:0");
    let producers = txns(&cluster, &["describe", "--partition", &partition, "--json"])
        .await?
        .json()?;
    let start = &producers["partitions"][0]["producers"][0]["current_txn_start_offset"];
    ensure!(start.is_null(), "{producers}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_transaction_is_seen_and_fenced_3_9_1() -> Result<()> {
    by_the_client(Version::V3_9_1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_transaction_is_seen_and_fenced_4_4_0() -> Result<()> {
    by_the_client(Version::V4_4_0).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_transaction_is_seen_and_fenced_by_command_3_9_1() -> Result<()> {
    by_the_command_line(Version::V3_9_1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_transaction_is_seen_and_fenced_by_command_4_4_0() -> Result<()> {
    by_the_command_line(Version::V4_4_0).await
}
