//! What a case is tried on: one producer, ten transactions over two partitions, and what the client said about each of them.

use std::future::Future;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use sealwax::config::ProducerConfig;
use sealwax::{Client, CommitError, Error, ErrorKind, Record, Transaction, TransactionalProducer};
use sealwax_tests::proxy::Proxy;
use sealwax_tests::scratch::unique;

use crate::case::Case;
use crate::script::Script;

/// Transactions of a run.
pub(crate) const TRANSACTIONS: u64 = 10;
/// Records of a transaction in each of the two partitions.
pub(crate) const RECORDS: u64 = 3;
const REQUEST_TIMEOUT: Duration = Duration::from_millis(1500);
const MAX_BLOCK: Duration = Duration::from_secs(4);
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(4);
/// No call may take longer than all its limits together.
const BOUND: Duration = Duration::from_secs(20);
/// Times that a call which said that it may be called again is called again.
const TRIES: usize = 8;

/// What the client said of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Committed,
    Aborted,
    Unknown,
}

/// A run's result.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) case: Case,
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) account: String,
}

/// The value of a record.
pub(crate) fn value(case: Case, transaction: u64, partition: i32, number: u64) -> String {
    format!("{case}|{transaction}|{partition}|{number}")
}

/// Runs a case against the brokers at `bootstrap`.
///
/// # Errors
/// If a call takes longer than it may, or the producer is lost, or an outcome is unknown for no reason.
pub(crate) async fn run(case: Case, bootstrap: &str, topic: &str) -> Result<Run> {
    let script = Script::new(case, bootstrap.to_owned());
    let proxy = Proxy::start(bootstrap, script.clone())?;
    let outcomes = transactions(case, &script, &proxy.bootstrap(), topic)
        .await
        .with_context(|| format!("{case} ({})", script.account()))?;
    Ok(Run {
        case,
        outcomes,
        account: script.account(),
    })
}

async fn transactions(case: Case, script: &Script, bootstrap: &str, topic: &str) -> Result<Vec<Outcome>> {
    let client = repeated(script, "connect", || {
        Client::builder([bootstrap])
            .request_timeout(REQUEST_TIMEOUT)
            .connect()
    })
    .await?;
    let mut config = ProducerConfig::default();
    config.max_block = MAX_BLOCK;
    config.delivery_timeout = DELIVERY_TIMEOUT;
    let id = unique("faults");
    let mut producer = repeated(script, "build", || {
        client
            .transactional_producer(id.as_str())
            .config(config.clone())
            .build()
    })
    .await?;
    let mut outcomes = Vec::new();
    for transaction in 0..TRANSACTIONS {
        script.enter(transaction);
        let outcome = one(case, script, &mut producer, topic, transaction).await;
        outcomes.push(outcome.with_context(|| format!("transaction {transaction} after {outcomes:?}"))?);
        script.calm();
    }
    bounded("close", producer.close(BOUND)).await??;
    Ok(outcomes)
}

async fn one(
    case: Case,
    script: &Script,
    producer: &mut TransactionalProducer,
    topic: &str,
    number: u64,
) -> Result<Outcome> {
    let mut tries = 0;
    // The borrow checker cannot see that a failed begin borrows nothing, so that the one that succeeds is asked for twice.
    loop {
        let begun = bounded("begin", producer.begin()).await?.map(drop);
        match begun {
            Ok(()) => break,
            Err(error) if error.kind() == ErrorKind::Timeout && tries < TRIES => tries += 1,
            Err(error) => return Err(error.into()),
        }
        script.calm();
    }
    let mut transaction = bounded("begin", producer.begin()).await??;
    if let Err(error) = send_all(case, &mut transaction, topic, number).await? {
        ensure!(error.kind() != ErrorKind::Fenced, "a send was refused: {error}");
        script.calm();
        return abort(transaction).await;
    }
    if number % 3 == 2 {
        return abort(transaction).await;
    }
    match bounded("commit", transaction.commit()).await? {
        Ok(_committed) => Ok(Outcome::Committed),
        Err(CommitError::Aborted(_)) => Ok(Outcome::Aborted),
        Err(CommitError::Unknown(error)) => {
            ensure!(
                script.saw_commit(),
                "unknown although no EndTxn was sent: {error}"
            );
            Ok(Outcome::Unknown)
        }
        Err(other) => bail!("the producer is lost: {other}"),
    }
}

/// The second partition's records follow when the first one's are in the log, in most transactions.
async fn send_all(
    case: Case,
    transaction: &mut Transaction<'_>,
    topic: &str,
    number: u64,
) -> Result<Result<(), Error>> {
    for partition in 0..2 {
        let mut last = None;
        for record in 0..RECORDS {
            let value = value(case, number, partition, record);
            let record = Record::new(topic, &value).partition(partition);
            match bounded("send", transaction.send(record)).await? {
                Ok(delivery) => last = Some(delivery),
                Err(error) => return Ok(Err(error)),
            }
        }
        if let Some(delivery) = last.filter(|_| number % 4 != 3)
            && let Err(error) = bounded("delivery", delivery.wait()).await?
        {
            return Ok(Err(error));
        }
    }
    Ok(Ok(()))
}

async fn abort(transaction: Transaction<'_>) -> Result<Outcome> {
    match bounded("abort", transaction.abort()).await? {
        Ok(()) => Ok(Outcome::Aborted),
        Err(error) if error.kind() == ErrorKind::Timeout => Ok(Outcome::Aborted),
        Err(error) => Err(error.into()),
    }
}

async fn repeated<T, F: Future<Output = Result<T, Error>>>(
    script: &Script,
    what: &str,
    mut call: impl FnMut() -> F,
) -> Result<T> {
    let mut last = None;
    for _ in 0..TRIES {
        match bounded(what, call()).await? {
            Ok(value) => return Ok(value),
            Err(error) => last = Some(error),
        }
        script.calm();
    }
    Err(last.context("never tried")?.into())
}

async fn bounded<T>(what: &str, call: impl Future<Output = T>) -> Result<T> {
    tokio::time::timeout(BOUND, call)
        .await
        .with_context(|| format!("{what} did not return within {BOUND:?}"))
}
