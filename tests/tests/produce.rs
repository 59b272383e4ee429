//! The idempotent producer on a real broker: every record once, in order per partition, where Java would have put it.

use std::sync::Arc;

use anyhow::{Result, ensure};
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
    let config = sealwax::config::ProducerConfig::from_properties([("max.block.ms", "1500")])?.0;
    let producer = client.producer().config(config).build().await?;
    let error = producer.send(Record::new("no-such-topic", "v")).await.err();
    let error = error.ok_or_else(|| anyhow::anyhow!("the record was taken"))?;
    ensure!(
        error.kind() == ErrorKind::UnknownTopic && error.to_string().contains("no-such-topic"),
        "{error}"
    );
    Ok(())
}
