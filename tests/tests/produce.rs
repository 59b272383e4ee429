//! The producers on a real broker: every record once, in order per partition, where Java or librdkafka would have put it; plain ones with
//! each kind of acks; batches that are larger than the topic allows.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sealwax::config::{Acks, Partitioning, ProducerConfig};
use sealwax::{Client, ErrorKind, Header, Record};
use sealwax_tests::scratch::unique;
use sealwax_tests::{clusters, numbers, readers};
use xtask::kafka::{ConsoleConsumer, Isolation, Version, create_topic};

async fn many_records(version: Version) -> Result<()> {
    let cluster = tokio::task::spawn_blocking(move || clusters::shared(version)).await??;
    let topic = unique("produce");
    create_topic(&cluster.bootstrap(), &topic, 1, &[])?;
    let client = Client::builder([cluster.bootstrap()]).connect().await?;
    let producer = client.producer().build().await?;
    let mut deliveries = Vec::new();
    for number in 1..=20_000u64 {
        deliveries.push(producer.send(Record::new(&topic, &number.to_string())).await?);
    }
    producer.flush().await?;
    for (index, delivery) in deliveries.into_iter().enumerate() {
        ensure!(delivery.wait().await?.offset == Some(index as i64));
    }
    producer.close().await?;
    let reader = Arc::clone(&cluster);
    let seen = tokio::task::spawn_blocking(move || readers::java(&reader, &topic, Isolation::ReadCommitted))
        .await??;
    if let Some(difference) = numbers::difference(&seen, 20_000) {
        anyhow::bail!(difference);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn many_records_3_3_2() -> Result<()> {
    many_records(Version::V3_3_2).await
}

#[tokio::test(flavor = "multi_thread")]
async fn many_records_3_9_1() -> Result<()> {
    many_records(Version::V3_9_1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn many_records_4_4_0() -> Result<()> {
    many_records(Version::V4_4_0).await
}

/// Keys, nulls, timestamps and repeated headers arrive as they were sent.
#[tokio::test(flavor = "multi_thread")]
async fn everything_of_a_record_arrives() -> Result<()> {
    let cluster = tokio::task::spawn_blocking(|| clusters::shared(Version::V4_4_0)).await??;
    let topic = unique("produce");
    create_topic(&cluster.bootstrap(), &topic, 4, &[])?;
    let client = Client::builder([cluster.bootstrap()]).connect().await?;
    let producer = client.producer().build().await?;
    let headers = [
        Header {
            key: "h",
            value: Some(b"1"),
        },
        Header {
            key: "g",
            value: None,
        },
        Header {
            key: "h",
            value: Some(b"2"),
        },
    ];
    let full = Record::new(&topic, "v")
        .key("foobar")
        .partition(2)
        .timestamp(1_234_567_890_123)
        .headers(&headers);
    let sent = producer.send(full).await?.wait().await?;
    ensure!(
        sent.topic_partition.partition == 2 && sent.offset == Some(0),
        "{sent:?}"
    );
    producer
        .send(Record::tombstone(&topic).key("k").partition(2))
        .await?
        .wait()
        .await?;

    let mut lines = Vec::new();
    let consumer = ConsoleConsumer::new(topic.as_str(), Isolation::ReadCommitted)
        .property("print.key", "true")
        .property("print.timestamp", "true")
        .property("print.headers", "true")
        .property("print.partition", "true");
    let jvm = cluster.jvm().clone();
    let bootstrap = cluster.bootstrap();
    let lines = tokio::task::spawn_blocking(move || {
        consumer
            .run(&jvm, &bootstrap, |line| lines.push(line.to_owned()))
            .map(|_| lines)
    })
    .await??;
    ensure!(
        lines[0] == "CreateTime:1234567890123\tPartition:2\th:1,g:null,h:2\tfoobar\tv",
        "{lines:?}"
    );
    ensure!(lines[1].ends_with("\tk\tnull"), "{lines:?}");
    Ok(())
}

/// A topic that does not exist and is not created by asking is an error that names it.
#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_topic_is_named() -> Result<()> {
    let cluster = tokio::task::spawn_blocking(|| {
        xtask::kafka::Cluster::builder(Version::V4_4_0)
            .config("auto.create.topics.enable", "false")
            .start()
    })
    .await??;
    let client = Client::builder([cluster.bootstrap()]).connect().await?;
    let config = ProducerConfig::from_properties([("max.block.ms", "1500")])?.0;
    let producer = client.producer().config(config).build().await?;
    let error = producer.send(Record::new("no-such-topic", "v")).await.err();
    let error = error.ok_or_else(|| anyhow::anyhow!("the record was taken"))?;
    ensure!(
        error.kind() == ErrorKind::UnknownTopic && error.to_string().contains("no-such-topic"),
        "{error}"
    );
    Ok(())
}

/// A plain producer, whatever it asks for, loses nothing on a healthy broker.
async fn plain_producers(version: Version) -> Result<()> {
    const EACH: u64 = 2_000;
    let cluster = tokio::task::spawn_blocking(move || clusters::shared(version)).await??;
    let topic = unique("plain");
    create_topic(&cluster.bootstrap(), &topic, 1, &[])?;
    let client = Client::builder([cluster.bootstrap()]).connect().await?;
    let mut number = 0;
    for acks in [Acks::None, Acks::Leader, Acks::All] {
        // In order, although it is plain: nothing fails here.
        let builder = client.producer().acks(acks).enable_idempotence(false);
        let producer = builder.build().await?;
        let mut deliveries = Vec::new();
        for _ in 0..EACH {
            number += 1;
            deliveries.push(producer.send(Record::new(&topic, &number.to_string())).await?);
        }
        producer.close().await?;
        for (place, delivery) in (number - EACH..).zip(deliveries) {
            let expected = (acks != Acks::None).then(|| i64::try_from(place)).transpose()?;
            let offset = delivery.wait().await?.offset;
            ensure!(offset == expected, "{acks:?}: {offset:?} instead of {expected:?}");
        }
    }
    let reader = Arc::clone(&cluster);
    let seen = tokio::task::spawn_blocking(move || readers::java(&reader, &topic, Isolation::ReadCommitted))
        .await??;
    match numbers::difference(&seen, number) {
        Some(difference) => Err(anyhow::anyhow!(difference)),
        None => Ok(()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_producers_3_9_1() -> Result<()> {
    plain_producers(Version::V3_9_1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_producers_4_4_0() -> Result<()> {
    plain_producers(Version::V4_4_0).await
}

/// Batches are split until the topic takes them, in and out of transactions, and each record has the offset that it was told.
#[tokio::test(flavor = "multi_thread")]
async fn batches_that_are_too_large_are_split() -> Result<()> {
    let cluster = tokio::task::spawn_blocking(|| clusters::shared(Version::V4_4_0)).await??;
    let topic = unique("split");
    create_topic(&cluster.bootstrap(), &topic, 1, &[("max.message.bytes", "1000")])?;
    let client = Client::builder([cluster.bootstrap()]).connect().await?;
    let builder = client.producer().linger(Duration::from_millis(100));
    let producer = builder.build().await?;
    let mut deliveries = Vec::new();
    for number in 1..=3_000u64 {
        deliveries.push(producer.send(Record::new(&topic, &number.to_string())).await?);
    }
    for (place, delivery) in deliveries.into_iter().enumerate() {
        let offset = delivery.wait().await?.offset;
        ensure!(offset == Some(place as i64), "{offset:?} instead of {place}");
    }
    let error = producer
        .send(Record::new(&topic, &[0; 2_000]))
        .await?
        .wait()
        .await;
    let error = error.err().context("the record was written")?;
    ensure!(
        error.kind() == ErrorKind::RecordTooLarge && error.to_string().contains("max.message.bytes"),
        "{error}"
    );
    producer.close().await?;

    let mut producer = client.transactional_producer(unique("split")).build().await?;
    let mut transaction = producer.begin().await?;
    for number in 3_001..=5_000u64 {
        drop(transaction.send(Record::new(&topic, &number.to_string())).await?);
    }
    let _proof = transaction.commit().await?;
    let reader = Arc::clone(&cluster);
    let seen = tokio::task::spawn_blocking(move || readers::java(&reader, &topic, Isolation::ReadCommitted))
        .await??;
    match numbers::difference(&seen, 5_000) {
        Some(difference) => Err(anyhow::anyhow!(difference)),
        None => Ok(()),
    }
}

/// Keys go where Java's and where librdkafka's default put them.
#[tokio::test(flavor = "multi_thread")]
async fn keys_go_where_java_and_librdkafka_put_them() -> Result<()> {
    let cluster = tokio::task::spawn_blocking(|| clusters::shared(Version::V4_4_0)).await??;
    let topic = unique("keys");
    create_topic(&cluster.bootstrap(), &topic, 10, &[])?;
    let client = Client::builder([cluster.bootstrap()]).connect().await?;
    for (partitioning, expected) in [
        (Partitioning::Murmur2Random, [6, 7, 0]),
        (Partitioning::ConsistentRandom, [9, 8, 2]),
    ] {
        let producer = client
            .producer()
            .partitioning(partitioning.clone())
            .build()
            .await?;
        for (key, expected) in ["foobar", "abc", "21"].iter().zip(expected) {
            let sent = producer.send(Record::new(&topic, "v").key(key)).await?;
            let partition = sent.wait().await?.topic_partition.partition;
            ensure!(
                partition == expected,
                "{partitioning:?} put {key} into {partition}"
            );
        }
    }
    Ok(())
}
