//! A broker that took a write and says that it did not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, ensure};
use kafka_protocol::messages::ApiKey;
use sealwax::config::ProducerConfig;
use sealwax::{CommitError, ErrorKind, Record, TransactionalProducer};
use sealwax_tests::proxy::{Direction, Plan, Strike, Verdict};
use sealwax_tests::scratch::unique;
use xtask::kafka::Version;

use crate::setting::{Setting, on_both};

const OUT_OF_ORDER_SEQUENCE_NUMBER: i16 = 45;
const REQUEST_TIMED_OUT: i16 = 7;
const RECORDS: usize = 5;

/// Five records of which each is a batch and a request of its own.
async fn five_in_flight(
    producer: &mut TransactionalProducer,
    topic: &str,
    attempt: &str,
) -> Result<Option<CommitError>> {
    let mut transaction = producer.begin().await?;
    for number in 0..RECORDS {
        let value = format!("{attempt}-{number}-{}", "x".repeat(200));
        // After a refusal the rest is refused, too; then the commit says so.
        if transaction.send(Record::new(topic, &value)).await.is_err() {
            break;
        }
    }
    Ok(transaction.commit().await.err())
}

/// O04: the second of five writes in flight is answered "out of order". What is committed is complete.
async fn out_of_order(version: Version) -> Result<()> {
    let answer = Verdict::Code(OUT_OF_ORDER_SEQUENCE_NUMBER);
    let strike = Strike::new(ApiKey::Produce, Direction::Answer, answer).occurrences(2..=2);
    let setting = Setting::new(version, Plan(vec![strike])).await?;
    let mut config = ProducerConfig::default();
    config.batch_size = 100;
    config.linger = Duration::ZERO;
    let mut producer = setting
        .client
        .transactional_producer(unique("out-of-order"))
        .config(config)
        .build()
        .await?;
    let error = five_in_flight(&mut producer, &setting.topic, "first").await?;
    ensure!(matches!(error, Some(CommitError::Aborted(_))), "{error:?}");
    let error = five_in_flight(&mut producer, &setting.topic, "second").await?;
    ensure!(error.is_none(), "{error:?}");
    let seen = setting.committed().await?;
    let expected = (0..RECORDS).map(|number| format!("second-{number}-{}", "x".repeat(200)));
    ensure!(seen == expected.collect::<Vec<_>>(), "{seen:?}");
    Ok(())
}

/// O06: a record that the broker took is said to have timed out until its delivery is given up. It is reported as unknown, and what
/// is sent afterwards does not take its place.
async fn timed_out_is_not_unwritten(version: Version) -> Result<()> {
    let switch = Arc::new(AtomicBool::new(true));
    let answer = Verdict::Code(REQUEST_TIMED_OUT);
    let strike = Strike::new(ApiKey::Produce, Direction::Answer, answer).during(&switch);
    let setting = Setting::new(version, Plan(vec![strike])).await?;
    let mut config = ProducerConfig::default();
    config.delivery_timeout = Duration::from_secs(1);
    let producer = setting.client.producer().config(config).build().await?;
    let topic = setting.topic.as_str();
    let doubtful = producer.send(Record::new(topic, "doubtful")).await?;
    let told = doubtful.wait().await.err().map(|error| error.kind());
    ensure!(told == Some(ErrorKind::OutcomeUnknown), "{told:?}");
    switch.store(false, Ordering::SeqCst);
    let mut deliveries = Vec::new();
    let expected: Vec<String> = (0..100).map(|number| number.to_string()).collect();
    for value in &expected {
        deliveries.push(producer.send(Record::new(topic, value)).await?);
    }
    for delivery in deliveries {
        delivery.wait().await?;
    }
    let mut seen = setting.committed().await?;
    let doubtful = seen.iter().filter(|value| *value == "doubtful").count();
    ensure!(doubtful <= 1, "{doubtful} times");
    seen.retain(|value| value != "doubtful");
    ensure!(seen == expected, "{seen:?}");
    Ok(())
}

on_both!(out_of_order, out_of_order_on_3_9_1, out_of_order_on_4_4_0);
on_both!(
    timed_out_is_not_unwritten,
    timed_out_is_not_unwritten_on_3_9_1,
    timed_out_is_not_unwritten_on_4_4_0
);
