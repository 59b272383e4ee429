//! Many producers in one client, many partitions, many topics, topics that are not there.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sealwax::config::ProducerConfig;
use sealwax::{Client, CommitError, ErrorKind, Record};
use sealwax_tests::scratch::unique;
use sealwax_tests::wait;
use tokio::task::JoinSet;
use xtask::kafka::{Cluster, Version, create_topic, run_java_tool};

use crate::{reading, set_up};

async fn transactions(client: &Client, topic: &str, producer: u32) -> Result<()> {
    let id = unique("many");
    let mut transactional = client.transactional_producer(id).build().await?;
    for number in 0..10 {
        let mut transaction = transactional.begin().await?;
        for partition in 0..4 {
            let value = format!("{partition}|{producer}|{number}");
            transaction
                .send(Record::new(topic, &value).partition(partition))
                .await?;
        }
        if number % 3 == 1 {
            transaction.abort().await?;
        } else {
            let _committed = transaction.commit().await?;
        }
    }
    Ok(transactional.close(Duration::from_secs(20)).await?)
}

async fn fifty_producers(version: Version) -> Result<()> {
    let (_cluster, client, topic) = set_up(version, 4).await?;
    let mut running = JoinSet::new();
    for producer in 0..50 {
        let (client, topic) = (client.clone(), topic.clone());
        running.spawn(async move { transactions(&client, &topic, producer).await });
    }
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    let seen = reading::committed(&client, &topic, 4).await?;
    let distinct: BTreeSet<_> = seen.iter().collect();
    ensure!(
        seen.len() == 50 * 7 * 4 && distinct.len() == seen.len(),
        "{} records, {} distinct",
        seen.len(),
        distinct.len()
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn producers_in_one_client_3_9_1() -> Result<()> {
    fifty_producers(Version::V3_9_1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn producers_in_one_client_4_4_0() -> Result<()> {
    fifty_producers(Version::V4_4_0).await
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_in_one_transaction() -> Result<()> {
    const PARTITIONS: i32 = 2_000;
    let (_cluster, client, topic) = set_up(Version::V4_4_0, PARTITIONS).await?;
    let mut producer = client.transactional_producer(unique("many")).build().await?;
    let mut transaction = producer.begin().await?;
    for partition in 0..PARTITIONS {
        transaction
            .send(Record::new(&topic, &partition.to_string()).partition(partition))
            .await?;
    }
    let _committed = transaction.commit().await?;
    for partition in [0, 1, 999, 1_999] {
        let partition_only = sealwax::TopicPartition::new(topic.as_str(), partition);
        let mut consumer = client.consumer().build()?;
        consumer.assign([(partition_only, sealwax::StartOffset::Earliest)]);
        let fetched = tokio::time::timeout(Duration::from_secs(30), consumer.next())
            .await
            .context("nothing is there")??;
        ensure!(fetched.record_count_hint() == 1);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn topics_that_are_created_by_the_first_send() -> Result<()> {
    let (_cluster, client, _topic) = set_up(Version::V4_4_0, 1).await?;
    let mut producer = client.transactional_producer(unique("many")).build().await?;
    let topics: Vec<String> = (0..20).map(|_| unique("auto")).collect();
    for topic in &topics {
        let mut transaction = producer.begin().await?;
        transaction.send(Record::new(topic, topic)).await?;
        let _committed = transaction.commit().await?;
    }
    for topic in &topics {
        ensure!(reading::committed(&client, topic, 1).await? == [topic.as_str()]);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_name_that_cannot_be_is_refused_and_the_transaction_with_it() -> Result<()> {
    let (_cluster, client, topic) = set_up(Version::V4_4_0, 1).await?;
    let mut config = ProducerConfig::default();
    config.max_block = Duration::from_secs(5);
    let mut producer = client
        .transactional_producer(unique("many"))
        .config(config)
        .build()
        .await?;
    let mut transaction = producer.begin().await?;
    let refused = transaction.send(Record::new("not a topic!", "x")).await.err();
    ensure!(
        refused.as_ref().map(sealwax::Error::kind) == Some(ErrorKind::UnknownTopic),
        "{refused:?}"
    );
    // Without the record that was refused the rest must not be committed (KAFKA-9279).
    let refused = transaction.send(Record::new(&topic, "x")).await.err();
    ensure!(
        refused.as_ref().is_some_and(sealwax::Error::requires_abort),
        "{refused:?}"
    );
    let refused = transaction.commit().await.err();
    ensure!(matches!(refused, Some(CommitError::Aborted(_))), "{refused:?}");
    let mut transaction = producer.begin().await?;
    transaction.send(Record::new(&topic, "y")).await?;
    let _committed = transaction.commit().await?;
    ensure!(reading::committed(&client, &topic, 1).await? == ["y"]);
    Ok(())
}

/// Deletes the topic and creates it anew, with Java's tool.
async fn recreate(cluster: &Arc<Cluster>, topic: &str) -> Result<()> {
    let (cluster, topic) = (Arc::clone(cluster), topic.to_owned());
    tokio::task::spawn_blocking(move || {
        let bootstrap = cluster.bootstrap();
        let delete = ["--bootstrap-server", &bootstrap, "--delete", "--topic", &topic];
        run_java_tool(cluster.jvm(), "org.apache.kafka.tools.TopicCommand", &delete)?;
        // A producer's look-up may have created it already; either way it is another topic of the same name.
        let create = || Ok(create_topic(&bootstrap, &topic, 1, &[]).ok());
        let _ = wait::until("the topic's return", Duration::from_secs(5), create);
        Ok(())
    })
    .await?
}

/// Whatever is in the new topic is there once and in order, and everything sent after its creation is there.
async fn recreated(version: Version) -> Result<()> {
    let (cluster, client, topic) = set_up(version, 1).await?;
    let producer = client.producer().linger(Duration::ZERO).build().await?;
    let mut recreating = Box::pin(recreate(&cluster, &topic));
    let mut sent = Vec::new();
    let mut returned_at = None;
    for number in 0_usize.. {
        let value = number.to_string();
        sent.push(producer.send(Record::new(&topic, &value)).await?);
        if returned_at.is_none()
            && let Ok(done) = tokio::time::timeout(Duration::from_millis(2), &mut recreating).await
        {
            done?;
            returned_at = Some(number);
        }
        if returned_at.is_some_and(|at| number > at + 2_000) {
            break;
        }
    }
    let mut acknowledged = Vec::new();
    for (number, delivery) in sent.into_iter().enumerate() {
        match delivery.wait().await {
            Ok(_) => acknowledged.push(number),
            Err(error) => println!("{version:?} {number}: {error}"),
        }
    }
    producer.close().await?;
    let seen: Vec<usize> = reading::committed(&client, &topic, 1)
        .await?
        .iter()
        .map(|value| value.parse())
        .collect::<Result<_, _>>()?;
    ensure!(
        seen.is_sorted_by(|one, other| one < other),
        "doubled or out of order"
    );
    let first = seen.first().copied().context("nothing reached the new topic")?;
    let of_the_new_one = acknowledged.iter().filter(|number| **number >= first);
    let lost: Vec<_> = of_the_new_one
        .filter(|number| seen.binary_search(number).is_err())
        .collect();
    ensure!(lost.is_empty(), "acknowledged, but not there: {lost:?}");
    let last = acknowledged.last().copied();
    ensure!(
        last >= returned_at.map(|at| at + 2_000),
        "the producer did not go on: {last:?}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_that_is_deleted_and_created_anew_3_9_1() -> Result<()> {
    recreated(Version::V3_9_1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_that_is_deleted_and_created_anew_4_4_0() -> Result<()> {
    recreated(Version::V4_4_0).await
}
