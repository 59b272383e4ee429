//! A producer that goes on while a newer one takes its transactional id over: whatever of it is ever visible was visible when the newer
//! one's `build` had returned, and it cannot keep the newer one out.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use sealwax::{Client, CommitError, Error, ErrorKind, Record, Transaction, TransactionalProducer};
use sealwax_tests::scratch::unique;
use xtask::kafka::Version;

use crate::{reading, set_up};

const ROUNDS: u64 = 6;
/// Records of a transaction, one after the other.
const PARTS: u64 = 4;
/// The newer one has to wait for one abort, whatever the older one does.
const TAKEN_OVER_WITHIN: Duration = Duration::from_secs(15);

/// Keeps the transaction open on the coordinator for some time.
async fn fill(transaction: &mut Transaction<'_>, topic: &str, value: &str) -> Result<(), Error> {
    for part in 0..PARTS {
        let value = format!("{value}-{part}");
        transaction.send(Record::new(topic, &value)).await?.wait().await?;
    }
    Ok(())
}

/// Writes until it is fenced. What it was told to be committed.
async fn work(mut producer: TransactionalProducer, topic: &str, round: u64) -> Result<Vec<String>> {
    let mut committed = Vec::new();
    for number in 0_u64.. {
        let value = format!("{round}-{number}");
        let mut transaction = match producer.begin().await {
            Ok(transaction) => transaction,
            Err(error) if error.kind() == ErrorKind::Fenced => break,
            Err(error) => return Err(error.into()),
        };
        let delivered = fill(&mut transaction, topic, &value).await;
        if delivered.is_err() && number % 2 == 0 {
            match transaction.abort().await {
                Ok(()) => continue,
                Err(error) if error.kind() == ErrorKind::Fenced => break,
                Err(error) => return Err(error.into()),
            }
        }
        match transaction.commit().await {
            Ok(_committed) => committed.extend((0..PARTS).map(|part| format!("{value}-{part}"))),
            Err(CommitError::Aborted(_)) => {}
            Err(CommitError::Fenced(_)) => break,
            Err(other) => bail!("{other}"),
        }
    }
    Ok(committed)
}

async fn take_over(client: &Client, topic: &str, round: u64) -> Result<()> {
    let id = unique("zombie");
    let older = client.transactional_producer(id.as_str()).build().await?;
    let path = topic.to_owned();
    let working = async move { work(older, &path, round).await };
    let taking = async {
        // At another point of the older one's transaction each time.
        tokio::time::sleep(Duration::from_millis(200 + 7 * round)).await;
        let newer = tokio::time::timeout(
            TAKEN_OVER_WITHIN,
            client.transactional_producer(id.as_str()).build(),
        )
        .await
        .context("the older producer keeps the newer one out")??;
        let seen = reading::committed(client, topic, 1).await?;
        anyhow::Ok((newer, seen))
    };
    let (committed, taken) = tokio::join!(working, taking);
    let (committed, (_newer, seen)) = (committed?, taken?);
    let at_last = reading::committed(client, topic, 1).await?;
    let late: Vec<_> = at_last.iter().filter(|value| !seen.contains(value)).collect();
    ensure!(late.is_empty(), "a zombie wrote {late:?}");
    let of_this_round = at_last
        .iter()
        .filter(|value| value.starts_with(&format!("{round}-")));
    ensure!(
        of_this_round.eq(committed.iter()),
        "{committed:?} was committed, but {at_last:?} is there"
    );
    Ok(())
}

async fn zombies(version: Version) -> Result<()> {
    let (_cluster, client, topic) = set_up(version, 1).await?;
    for round in 0..ROUNDS {
        take_over(&client, &topic, round)
            .await
            .with_context(|| format!("round {round}"))?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn write_nothing_more_3_9_1() -> Result<()> {
    zombies(Version::V3_9_1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn write_nothing_more_4_4_0() -> Result<()> {
    zombies(Version::V4_4_0).await
}
