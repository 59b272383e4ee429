//! Limits that are shorter than what the brokers need.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, ensure};
use kafka_protocol::messages::ApiKey;
use sealwax::config::ProducerConfig;
use sealwax::{CommitError, Record, Resolution, TransactionalProducer};
use sealwax_tests::proxy::{Direction, Plan, Strike, Verdict};
use sealwax_tests::scratch::unique;
use xtask::kafka::Version;

use crate::setting::{REQUEST_TIMEOUT, Setting, on_both};

async fn attempt(
    producer: &mut TransactionalProducer,
    topic: &str,
    name: &str,
) -> Result<Option<CommitError>> {
    let mut transaction = producer.begin().await?;
    for number in 0..10 {
        let value = format!("{name}-{number}");
        transaction.send(Record::new(topic, &value)).await?;
    }
    Ok(transaction.commit().await.err())
}

fn values(name: &str) -> impl Iterator<Item = String> {
    (0..10).map(move |number| format!("{name}-{number}"))
}

/// O05: the leader is silent for longer than `delivery.timeout.ms`. The commit says so, and the repeat is complete.
async fn delivery_timeout(version: Version) -> Result<()> {
    let silent = Arc::new(AtomicBool::new(true));
    let strike = Strike::new(ApiKey::Produce, Direction::Request, Verdict::Hold).during(&silent);
    let setting = Setting::new(version, Plan(vec![strike])).await?;
    let mut config = ProducerConfig::default();
    config.delivery_timeout = Duration::from_secs(1);
    let mut producer = setting
        .client
        .transactional_producer(unique("delivery-timeout"))
        .config(config)
        .build()
        .await?;
    let error = attempt(&mut producer, &setting.topic, "first").await?;
    let Some(CommitError::Aborted(reason)) = &error else {
        anyhow::bail!("{error:?}");
    };
    ensure!(reason.to_string().contains("delivery.timeout.ms"), "{reason}");
    silent.store(false, Ordering::SeqCst);
    let error = attempt(&mut producer, &setting.topic, "second").await?;
    ensure!(error.is_none(), "{error:?}");
    let seen = setting.committed().await?;
    ensure!(seen == values("second").collect::<Vec<_>>(), "{seen:?}");
    Ok(())
}

/// O20: the coordinator's answers take longer than the commit may. The outcome is unknown, can be found out, and the producer goes on.
async fn commit_that_is_not_answered(version: Version) -> Result<()> {
    let slow = Arc::new(AtomicBool::new(true));
    let delay = Verdict::Delay(Duration::from_secs(3));
    let strike = Strike::new(ApiKey::EndTxn, Direction::Answer, delay).during(&slow);
    let setting = Setting::new(version, Plan(vec![strike])).await?;
    let mut config = ProducerConfig::default();
    config.max_block = REQUEST_TIMEOUT;
    let mut producer = setting
        .client
        .transactional_producer(unique("short-limit"))
        .config(config)
        .build()
        .await?;
    let error = attempt(&mut producer, &setting.topic, "first").await?;
    ensure!(matches!(error, Some(CommitError::Unknown(_))), "{error:?}");
    let resolution = producer.resolve().await?;
    ensure!(matches!(resolution, Resolution::Committed(_)), "{resolution:?}");
    slow.store(false, Ordering::SeqCst);
    let error = attempt(&mut producer, &setting.topic, "second").await?;
    ensure!(error.is_none(), "{error:?}");
    let seen = setting.committed().await?;
    let expected: Vec<String> = values("first").chain(values("second")).collect();
    ensure!(seen == expected, "{seen:?}");
    Ok(())
}

on_both!(
    delivery_timeout,
    delivery_timeout_on_3_9_1,
    delivery_timeout_on_4_4_0
);
on_both!(
    commit_that_is_not_answered,
    commit_that_is_not_answered_on_3_9_1,
    commit_that_is_not_answered_on_4_4_0
);
