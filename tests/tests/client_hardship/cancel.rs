//! Calls dropped at their n-th await point, or after some milliseconds: what was not taken is not there, what was is there with its whole
//! transaction or not at all, and the producer goes on.

use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sealwax::{
    Client, CommitError, IsolationLevel, Record, StartOffset, TopicPartition, TransactionalProducer,
};
use sealwax_tests::scratch::unique;
use xtask::kafka::Version;

use crate::{reading, set_up};

const ROUNDS: u64 = 250;
const PARTITIONS: i32 = 2;
/// Nothing may hang, whatever was cancelled before.
const BOUND: Duration = Duration::from_secs(30);

/// How long a call is waited for.
#[derive(Debug, Clone, Copy)]
enum Patience {
    Polls(u32),
    Millis(u64),
    Endless,
}

impl Patience {
    fn any(rng: &mut fastrand::Rng) -> Self {
        match rng.u8(..4) {
            0 | 1 => Self::Polls(rng.u32(0..4)),
            2 => Self::Millis(rng.u64(0..20)),
            _ => Self::Endless,
        }
    }

    /// The call's result, or `None` if it was dropped.
    async fn wait<T>(self, call: impl Future<Output = T>) -> Result<Option<T>> {
        match self {
            Self::Polls(limit) => {
                let mut call = pin!(call);
                let mut polls = 0;
                let polled = std::future::poll_fn(|context| {
                    if polls == limit {
                        return Poll::Ready(None);
                    }
                    polls += 1;
                    call.as_mut().poll(context).map(Some)
                });
                // A call that is never woken again would hang here, which is a failure.
                tokio::time::timeout(BOUND, polled).await.context("a call hangs")
            }
            Self::Millis(limit) => Ok(tokio::time::timeout(Duration::from_millis(limit), call)
                .await
                .ok()),
            Self::Endless => tokio::time::timeout(BOUND, call)
                .await
                .map(Some)
                .context("a call hangs"),
        }
    }
}

/// What must be true of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Committed,
    Aborted,
    WholeOrNothing,
}

/// A transaction: its fate and the records that were taken.
type Round = (Fate, Vec<String>);

async fn round(
    producer: &mut TransactionalProducer,
    topics: &[String],
    number: u64,
    rng: &mut fastrand::Rng,
) -> Result<Option<Round>> {
    let begun = Patience::any(rng).wait(producer.begin()).await?;
    let Some(transaction) = begun else { return Ok(None) };
    let mut transaction = transaction?;
    let mut taken = Vec::new();
    for index in 0..rng.u64(1..12) {
        let topic = &topics[rng.usize(..topics.len())];
        let partition = rng.i32(0..PARTITIONS);
        let value = format!("{topic}|{partition}|{number}|{index}");
        let record = Record::new(topic, &value).partition(partition);
        if let Some(sent) = Patience::any(rng).wait(transaction.send(record)).await? {
            let delivery = sent?;
            taken.push(value);
            if rng.u8(..4) == 0 {
                let _ = Patience::any(rng).wait(delivery.wait()).await?;
            }
        }
    }
    let patience = Patience::any(rng);
    let fate = match (rng.u8(..4), patience) {
        (0, _) => match patience.wait(transaction.abort()).await? {
            Some(aborted) => aborted.map(|()| Fate::Aborted)?,
            None => Fate::Aborted,
        },
        // A commit that was never polled was never begun, so that the transaction is dropped with it.
        (_, Patience::Polls(0)) => {
            drop(transaction.commit());
            Fate::Aborted
        }
        (_, patience) => match patience.wait(transaction.commit()).await? {
            None => Fate::WholeOrNothing,
            Some(Ok(_committed)) => Fate::Committed,
            Some(Err(CommitError::Aborted(_))) => Fate::Aborted,
            Some(Err(error)) => return Err(error.into()),
        },
    };
    Ok(Some((fate, taken)))
}

async fn rounds(client: &Client, topics: &[String], rng: &mut fastrand::Rng) -> Result<Vec<Round>> {
    let id = unique("cancel");
    let mut rounds = Vec::new();
    let mut producer = client.transactional_producer(id.as_str()).build().await?;
    for number in 0..ROUNDS {
        if number % 50 == 49 {
            // A new one knows nothing of topics and coordinators, so that its calls have more await points.
            producer.close(BOUND).await?;
            let patience = Patience::any(rng);
            let cancelled = patience
                .wait(client.transactional_producer(id.as_str()).build())
                .await?;
            drop(cancelled);
            producer = client.transactional_producer(id.as_str()).build().await?;
        }
        let round = round(&mut producer, topics, number, rng).await;
        rounds.extend(round.with_context(|| format!("round {number}"))?);
    }
    producer.close(BOUND).await?;
    Ok(rounds)
}

async fn cancelled(version: Version) -> Result<()> {
    let (cluster, client, topic) = set_up(version, PARTITIONS).await?;
    let other = unique("hardship");
    xtask::kafka::create_topic(&cluster.bootstrap(), &other, PARTITIONS, &[])?;
    let topics = [topic, other];
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let rounds = rounds(&client, &topics, &mut fastrand::Rng::with_seed(seed)).await?;
    let mut places = HashMap::new();
    let mut seen = 0;
    for topic in &topics {
        for value in reading::committed(&client, topic, PARTITIONS).await? {
            ensure!(
                places.insert(value.clone(), seen).is_none(),
                "{value} is there twice"
            );
            seen += 1;
        }
    }
    let mut last: HashMap<String, usize> = HashMap::new();
    for (fate, taken) in &rounds {
        let found = taken.iter().filter(|value| places.contains_key(*value)).count();
        let expected = match fate {
            Fate::Committed => found == taken.len(),
            Fate::Aborted => found == 0,
            Fate::WholeOrNothing => found == 0 || found == taken.len(),
        };
        ensure!(expected, "{fate:?}: {found} of {taken:?} are there");
        for value in taken {
            if let Some(place) = places.remove(value) {
                let partition: Vec<&str> = value.splitn(3, '|').take(2).collect();
                let before = last.insert(partition.join("|"), place);
                ensure!(before < Some(place), "{value} is out of order");
            }
        }
    }
    ensure!(
        places.is_empty(),
        "these were not taken, but are there: {places:?}"
    );
    let committed = rounds.iter().filter(|(fate, _)| *fate == Fate::Committed).count();
    ensure!(
        committed > 10,
        "only {committed} commits were waited for: nothing was tested"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn leaves_nothing_torn_3_9_1() -> Result<()> {
    cancelled(Version::V3_9_1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn leaves_nothing_torn_4_4_0() -> Result<()> {
    cancelled(Version::V4_4_0).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_next_loses_no_record() -> Result<()> {
    const RECORDS: usize = 5_000;
    let (_cluster, client, topic) = set_up(Version::V4_4_0, 1).await?;
    let producer = client.producer().batch_size(256).build().await?;
    for number in 0..RECORDS {
        producer.send(Record::new(&topic, &number.to_string())).await?;
    }
    producer.close().await?;
    let mut consumer = client
        .consumer()
        .isolation_level(IsolationLevel::ReadCommitted)
        .build()?;
    consumer.assign([(TopicPartition::new(topic.as_str(), 0), StartOffset::Earliest)]);
    let mut rng = fastrand::Rng::new();
    let mut values = Vec::new();
    while values.len() < RECORDS {
        let patience = Patience::any(&mut rng);
        if let Some(fetched) = patience.wait(consumer.next()).await? {
            for record in fetched?.records() {
                values.push(String::from_utf8(record?.value.unwrap_or_default().to_vec())?);
            }
        }
    }
    let expected: Vec<String> = (0..RECORDS).map(|number| number.to_string()).collect();
    ensure!(values == expected, "records were lost, doubled or out of order");
    Ok(())
}
