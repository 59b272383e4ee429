//! Settings that contradict each other or the broker: the error names both numbers.

use std::time::Duration;

use anyhow::{Context, Result};
use sealwax::config::ProducerConfig;
use sealwax::{Client, Error, ErrorKind};
use sealwax_tests::scratch::unique;
use xtask::kafka::Version;

use crate::{check, set_up};

async fn refused(client: &Client, change: impl FnOnce(&mut ProducerConfig)) -> Result<Error> {
    let mut config = ProducerConfig::default();
    change(&mut config);
    let producer = client.transactional_producer(unique("misuse")).config(config);
    producer.build().await.err().context("it was built")
}

async fn transaction_timeout(version: Version) -> Result<()> {
    let (_cluster, client, _topic) = set_up(version).await?;
    let error = refused(&client, |config| {
        config.transaction_timeout = Duration::from_secs(3_600)
    })
    .await?;
    let parts = [
        "transaction.timeout.ms = 3600000",
        "transaction.max.timeout.ms",
        "900000",
    ];
    check(&error, ErrorKind::Config, &parts)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_timeout_above_the_brokers_3_9_1() -> Result<()> {
    transaction_timeout(Version::V3_9_1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_timeout_above_the_brokers_4_4_0() -> Result<()> {
    transaction_timeout(Version::V4_4_0).await
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_contradict_each_other() -> Result<()> {
    let (_cluster, client, _topic) = set_up(Version::V4_4_0).await?;
    let error = refused(&client, |config| {
        config.linger = Duration::from_secs(5);
        config.delivery_timeout = Duration::from_secs(3);
    })
    .await?;
    check(
        &error,
        ErrorKind::Config,
        &["delivery.timeout.ms", "3000", "linger.ms", "5000"],
    )?;

    let error = refused(&client, |config| config.max_in_flight = 6).await?;
    let parts = [
        "max.in.flight.requests.per.connection = 6",
        "enable.idempotence = true",
        "1 to 5",
    ];
    check(&error, ErrorKind::Config, &parts)
}
