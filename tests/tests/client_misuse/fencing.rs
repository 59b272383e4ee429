//! Two producers with one transactional id (O10): the older one is fenced whatever it is doing, its error names the id, every later call says
//! that it is over, and the newer one never notices. Then the same the other way round: whoever came last stays.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use anyhow::{Context, Result, bail, ensure};
use kafka_protocol::messages::ApiKey;
use sealwax::{Client, CommitError, Error, ErrorKind, Record, Transaction, TransactionalProducer};
use sealwax_tests::proxy::{Proxy, Request, Rule, Verdict};
use sealwax_tests::readers;
use sealwax_tests::scratch::unique;
use xtask::kafka::{Isolation, Version};

use crate::{check, set_up};

/// How often a fenced producer tries again, and how many transactions the newer one commits meanwhile.
const TRIES: usize = 10;

/// What the older one is doing.
#[derive(Debug, Clone, Copy)]
enum Moment {
    Idle,
    Open,
    /// It goes on writing after it was fenced.
    Writing,
    /// Its EndTxn is on the way and arrives after the newer one has initialised.
    Committing,
}

/// Keeps EndTxn(commit) on the way until it is let go.
#[derive(Debug, Clone, Default)]
struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    fn set(&self, is_shut: bool) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = is_shut;
        self.0.1.notify_all();
    }
}

impl Rule for Gate {
    fn request(&self, request: &Request) -> Verdict {
        if request.api == Some(ApiKey::EndTxn) {
            let shut = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
            let _open = self.0.1.wait_while(shut, |is_shut| *is_shut);
        }
        Verdict::Pass
    }
}

async fn commit_one(
    producer: &mut TransactionalProducer,
    topic: &str,
    value: &str,
) -> Result<(), CommitError> {
    let mut transaction = producer.begin().await.map_err(CommitError::Fatal)?;
    // A failed send shows at the commit.
    let _ = transaction.send(Record::new(topic, value)).await;
    transaction.commit().await.map(|_committed| ())
}

async fn open<'p>(producer: &'p mut TransactionalProducer, topic: &str) -> Result<Transaction<'p>> {
    let mut transaction = producer.begin().await?;
    transaction
        .send(Record::new(topic, "zombie"))
        .await?
        .wait()
        .await?;
    Ok(transaction)
}

/// The newer one comes while the older one is in the middle of something. The error of the older one.
async fn taken_over(
    older: &mut TransactionalProducer,
    newer: impl Future<Output = Result<TransactionalProducer, Error>>,
    moment: Moment,
    gate: &Gate,
    topic: &str,
) -> Result<(TransactionalProducer, Error)> {
    let (newer, ended) = match moment {
        Moment::Idle => (newer.await?, commit_one(older, topic, "zombie").await),
        Moment::Open => {
            let transaction = open(older, topic).await?;
            let newer = newer.await?;
            (newer, transaction.commit().await.map(|_committed| ()))
        }
        Moment::Writing => {
            let mut transaction = open(older, topic).await?;
            let newer = newer.await?;
            if let Ok(delivery) = transaction.send(Record::new(topic, "zombie")).await {
                ensure!(delivery.wait().await.is_err(), "a fenced producer wrote");
            }
            (newer, transaction.commit().await.map(|_committed| ()))
        }
        Moment::Committing => {
            let transaction = open(older, topic).await?;
            gate.set(true);
            let letting_go = async {
                let newer = newer.await;
                gate.set(false);
                newer
            };
            let (ended, newer) = tokio::join!(transaction.commit(), letting_go);
            (newer?, ended.map(|_committed| ()))
        }
    };
    match ended {
        Err(CommitError::Fenced(error) | CommitError::Fatal(error) | CommitError::Aborted(error)) => {
            Ok((newer, error))
        }
        other => bail!("the fenced producer's commit gave {other:?}"),
    }
}

/// Every call of a fenced producer says so, again and again, and disturbs nobody.
async fn is_over(older: &mut TransactionalProducer, id: &str) -> Result<()> {
    for _ in 0..TRIES {
        let error = older.begin().await.err().context("a fenced producer began")?;
        check(&error, ErrorKind::Fenced, &[id, "newer producer"])?;
        ensure!(error.is_fatal() && !error.is_retriable() && !error.requires_abort());
    }
    let asked = older.resolve().await;
    ensure!(
        asked.as_ref().is_err_and(Error::is_fatal) || asked.is_ok(),
        "{asked:?}"
    );
    Ok(())
}

async fn older_is_fenced(version: Version) -> Result<()> {
    let (cluster, direct, topic) = set_up(version).await?;
    let gate = Gate::default();
    let proxy = Proxy::start(&cluster.bootstrap(), gate.clone())?;
    let through_gate = Client::builder([proxy.bootstrap()]).connect().await?;
    let mut expected = Vec::new();
    for moment in [Moment::Idle, Moment::Open, Moment::Writing, Moment::Committing] {
        let id = unique("twin");
        // One, then another, then the first instance again: each time whoever came last stays.
        let mut older = through_gate.transactional_producer(id.as_str()).build().await?;
        for round in 0..2 {
            let client = if round == 0 { &direct } else { &through_gate };
            let newer = client.transactional_producer(id.as_str()).build();
            let moment = match (moment, round) {
                // Only who goes through the gate can be held up.
                (Moment::Committing, 1) => Moment::Open,
                (moment, _) => moment,
            };
            let (mut newer, error) = taken_over(&mut older, newer, moment, &gate, &topic)
                .await
                .with_context(|| format!("{moment:?}, round {round}"))?;
            ensure!(error.to_string().contains(&id), "{moment:?}: {error}");
            for number in 0..TRIES {
                let value = format!("{moment:?}-{id}-{round}-{number}");
                commit_one(&mut newer, &topic, &value).await?;
                expected.push(value);
                if number == 0 {
                    is_over(&mut older, &id)
                        .await
                        .with_context(|| format!("{moment:?}"))?;
                }
            }
            older = newer;
        }
    }
    let read = tokio::task::spawn_blocking(move || readers::java(&cluster, &topic, Isolation::ReadCommitted));
    ensure!(read.await?? == expected, "Java sees something else");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_older_of_two_3_9_1() -> Result<()> {
    older_is_fenced(Version::V3_9_1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_older_of_two_4_4_0() -> Result<()> {
    older_is_fenced(Version::V4_4_0).await
}
