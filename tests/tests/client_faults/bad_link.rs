//! O03: two hundred transactions over a link on which every frame takes 50 to 400 ms and one connection in twenty is cut; the
//! application aborts and repeats. Each value is there once.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use sealwax::{Client, CommitError, ErrorKind, Record, Resolution, TransactionalProducer};
use sealwax_tests::proxy::BadLink;
use sealwax_tests::scratch::unique;
use tokio::task::JoinSet;
use xtask::kafka::Version;

use crate::setting::{Setting, on_both};

const PRODUCERS: usize = 20;
const TRANSACTIONS: usize = 10;
const RECORDS: usize = 10;
const TRIES: usize = 20;
/// Several times what a request and its answer take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// Of a connection to be cut.
const CHANCE: f64 = 0.05;

/// Whether the transaction was committed. Losing the producer is an error.
async fn attempt(producer: &mut TransactionalProducer, topic: &str, name: &str) -> Result<bool> {
    let mut transaction = match producer.begin().await {
        Ok(transaction) => transaction,
        Err(error) if error.kind() == ErrorKind::Timeout => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    for number in 0..RECORDS {
        let value = format!("{name}-{number}");
        if let Err(error) = transaction.send(Record::new(topic, &value)).await {
            ensure!(error.kind() != ErrorKind::Fenced, "{error}");
            // What an abort could not confirm the next begin waits for.
            let _ = transaction.abort().await;
            return Ok(false);
        }
    }
    match transaction.commit().await {
        Ok(_committed) => Ok(true),
        Err(CommitError::Aborted(_)) => Ok(false),
        Err(CommitError::Unknown(_)) => match producer.resolve().await? {
            Resolution::Committed(_proof) => Ok(true),
            Resolution::Aborted(_) => Ok(false),
            Resolution::Unknown(error) => bail!("{name} stays unknown: {error}"),
        },
        Err(error) => Err(error.into()),
    }
}

async fn write(client: Client, topic: String, number: usize) -> Result<()> {
    let mut producer = client
        .transactional_producer(unique("bad-link"))
        .transaction_timeout(Duration::from_secs(30))
        .build()
        .await?;
    for transaction in 0..TRANSACTIONS {
        let name = format!("{number}-{transaction}");
        let mut tries = 0;
        while !attempt(&mut producer, &topic, &name).await? {
            tries += 1;
            ensure!(tries < TRIES, "{name} was tried {TRIES} times");
        }
    }
    Ok(producer.close(Duration::from_secs(20)).await?)
}

async fn bad_link(version: Version) -> Result<()> {
    let seed = fastrand::u64(..1_000_000);
    println!("seed {seed}");
    let delay = Duration::from_millis(50)..Duration::from_millis(400);
    let setting = Setting::within(version, BadLink::new(seed, delay, CHANCE), REQUEST_TIMEOUT).await?;
    let mut running = JoinSet::new();
    for number in 0..PRODUCERS {
        // The link passes one frame at a time, so that each has its own.
        let client = setting.client(REQUEST_TIMEOUT).await?;
        running.spawn(write(client, setting.topic.clone(), number));
    }
    while let Some(ended) = running.join_next().await {
        ended?.with_context(|| format!("seed {seed}"))?;
    }
    let mut seen = setting.committed().await?;
    let mut expected: Vec<String> = (0..PRODUCERS)
        .flat_map(|producer| (0..TRANSACTIONS).map(move |transaction| (producer, transaction)))
        .flat_map(|(producer, transaction)| {
            (0..RECORDS).map(move |number| format!("{producer}-{transaction}-{number}"))
        })
        .collect();
    seen.sort();
    expected.sort();
    ensure!(
        seen == expected,
        "seed {seed}: {} values in place of {}",
        seen.len(),
        expected.len()
    );
    Ok(())
}

on_both!(bad_link, bad_link_on_3_9_1, bad_link_on_4_4_0);
