//! What a case is tried on: some transactions over several partitions, every second one aborted, most with offsets of a group; and
//! the history of what the client was asked and said.

use std::fmt;
use std::future::Future;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use sealwax::config::ProducerConfig;
use sealwax::{
    Client, CommitError, Delivery, Error, ErrorKind, Record, Resolution, Transaction, TransactionalProducer,
};
use sealwax_tests::history::{Event, Journal, Op, Scribe};
use sealwax_tests::proxy::Proxy;
use sealwax_tests::scratch::unique;

use crate::case::Case;
use crate::offsets::send_offsets;
use crate::script::Script;

/// Partitions of the topic.
pub(crate) const PARTITIONS: i32 = 3;
/// Records of a transaction in each of them.
const RECORDS: u64 = 2;
const REQUEST_TIMEOUT: Duration = Duration::from_secs(1);
const MAX_BLOCK: Duration = Duration::from_secs(3);
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(3);
/// No call may take longer than all its limits together, on a machine that is busy with a dozen of them.
pub(crate) const BOUND: Duration = Duration::from_secs(20);
/// Times that a call which said that it may be called again is called again.
const TRIES: usize = 8;

/// What the client said of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    Committed,
    Aborted,
    Unknown,
    /// Fenced, or beyond use.
    Lost,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Committed => "C",
            Self::Aborted => "A",
            Self::Unknown => "U",
            Self::Lost => "L",
        })
    }
}

/// A run's result.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) case: Case,
    pub(crate) group: String,
    /// One per transaction; a lost one is tried again with a new producer, as the next.
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) account: String,
    /// From the fault to the next commit.
    pub(crate) recovery: Option<Duration>,
    pub(crate) events: Vec<Event>,
    /// Why the run did not end as it should have, whatever readers say.
    pub(crate) failure: Option<String>,
}

/// One run's surroundings.
struct Place<'a> {
    case: Case,
    script: &'a Script,
    bootstrap: String,
    topic: &'a str,
    group: &'a str,
    id: String,
    journal: &'a Journal,
}

/// Runs a case against the brokers at `bootstrap`.
///
/// # Errors
/// If the proxy cannot be started. What the client does wrong is part of the result.
pub(crate) async fn run(case: Case, bootstrap: &str, topic: &str) -> Result<Run> {
    let group = unique("faults-group");
    let script = Script::new(case, group.clone(), bootstrap.to_owned());
    let proxy = Proxy::start(bootstrap, script.clone())?;
    let journal = Journal::new();
    let place = Place {
        case,
        script: &script,
        bootstrap: proxy.bootstrap(),
        topic,
        group: &group,
        id: unique("faults-id"),
        journal: &journal,
    };
    let mut outcomes = Vec::new();
    let mut recovery = None;
    let ended = place.transactions(&mut outcomes, &mut recovery).await;
    Ok(Run {
        case,
        group,
        outcomes,
        account: script.account(),
        recovery,
        events: journal.events()?,
        failure: ended.err().map(|error| format!("{error:#}")),
    })
}

/// The value of a record.
pub(crate) fn value(case: Case, transaction: u64, partition: i32, number: u64) -> String {
    format!("{case}|{transaction}|{partition}|{number}")
}

/// The run that a value belongs to.
pub(crate) fn run_of(value: &str) -> &str {
    value.split_once('|').map_or(value, |(run, _)| run)
}

impl Place<'_> {
    async fn transactions(&self, outcomes: &mut Vec<Outcome>, recovery: &mut Option<Duration>) -> Result<()> {
        let mut instance = 0;
        let mut producer = self.producer().await?;
        for number in 0..self.case.transactions() {
            self.script.enter(number);
            let scribe = self
                .journal
                .scribe(self.case.to_string(), instance)
                .within(number);
            let outcome = self
                .one(&scribe, &mut producer, number)
                .await
                .with_context(|| format!("transaction {number}"))?;
            outcomes.push(outcome);
            self.script.calm();
            if let Some(struck) = self.script.struck()
                && outcome == Outcome::Committed
                && recovery.is_none()
            {
                *recovery = Some(Instant::now() - struck);
            }
            if outcome == Outcome::Lost {
                ensure!(self.case.may_lose_the_producer(), "the producer is lost");
            }
            if outcome == Outcome::Lost || self.case.target.is_asked_at_the_start() {
                instance += 1;
                // A lost one has nothing to finish.
                let closed = bounded("close", producer.close(MAX_BLOCK)).await?;
                ensure!(outcome == Outcome::Lost || closed.is_ok(), "close: {closed:?}");
                producer = self.producer().await?;
            }
        }
        bounded("close", producer.close(BOUND)).await??;
        Ok(())
    }

    /// Finds out what became of an unknown commit. Not knowing is allowed once more, but not for ever.
    async fn resolve(&self, scribe: &Scribe, producer: &mut TransactionalProducer) -> Result<()> {
        for _ in 0..TRIES {
            self.script.calm();
            match bounded("resolve", producer.resolve()).await? {
                Ok(Resolution::Committed(_proof)) => {
                    scribe.ok(Op::Commit);
                    return Ok(());
                }
                Ok(Resolution::Aborted(error)) => {
                    scribe.fail(Op::Commit, error);
                    return Ok(());
                }
                Ok(Resolution::Unknown(_)) => {}
                Err(error) if error.kind() == ErrorKind::Timeout => {}
                Err(error) => bail!("resolve: {error}"),
            }
        }
        bail!("the outcome was not found out")
    }

    async fn producer(&self) -> Result<TransactionalProducer> {
        let client = self
            .repeated("connect", || {
                Client::builder([self.bootstrap.as_str()])
                    .request_timeout(REQUEST_TIMEOUT)
                    .connect()
            })
            .await?;
        let mut config = ProducerConfig::default();
        config.max_block = MAX_BLOCK;
        config.delivery_timeout = DELIVERY_TIMEOUT;
        config.epoch_bump = self.case.epoch_bump();
        self.repeated("build", || {
            client
                .transactional_producer(self.id.as_str())
                .config(config.clone())
                .build()
        })
        .await
    }

    async fn one(
        &self,
        scribe: &Scribe,
        producer: &mut TransactionalProducer,
        number: u64,
    ) -> Result<Outcome> {
        let mut tries = 0;
        scribe.invoke(Op::Begin);
        // The borrow checker cannot see that a failed begin borrows nothing, so that the one that succeeds is asked for twice.
        loop {
            let begun = bounded("begin", producer.begin()).await?.map(drop);
            match begun {
                Ok(()) => break,
                Err(error) if error.kind() == ErrorKind::Timeout && tries < TRIES => tries += 1,
                Err(error) => return lost(scribe, Op::Begin, &error),
            }
            self.script.calm();
        }
        let mut transaction = match bounded("begin", producer.begin()).await? {
            Ok(transaction) => transaction,
            Err(error) => return lost(scribe, Op::Begin, &error),
        };
        scribe.ok(Op::Begin);
        let mut deliveries = Vec::new();
        let filled = self
            .fill(scribe, &mut transaction, number, &mut deliveries)
            .await?;
        let outcome = match filled {
            Err(error) if error.kind() == ErrorKind::Fenced => {
                scribe.ok(Op::Fenced);
                abort(scribe, transaction).await?;
                Outcome::Lost
            }
            Err(_) => {
                self.script.calm();
                abort(scribe, transaction).await?
            }
            Ok(()) if number % 2 == 1 => abort(scribe, transaction).await?,
            Ok(()) => self.commit(scribe, transaction).await?,
        };
        if outcome == Outcome::Unknown {
            self.resolve(scribe, producer).await?;
        }
        for (op, delivery) in deliveries {
            settle(scribe, op, bounded("delivery", delivery.wait()).await?);
        }
        Ok(outcome)
    }

    async fn commit(&self, scribe: &Scribe, transaction: Transaction<'_>) -> Result<Outcome> {
        scribe.invoke(Op::Commit);
        match bounded("commit", transaction.commit()).await? {
            Ok(_committed) => {
                scribe.ok(Op::Commit);
                Ok(Outcome::Committed)
            }
            Err(CommitError::Aborted(error)) => {
                scribe.fail(Op::Commit, error);
                Ok(Outcome::Aborted)
            }
            Err(CommitError::Unknown(error)) => {
                scribe.unknown(Op::Commit, &error);
                ensure!(
                    self.script.saw_commit(),
                    "a needless unknown, no EndTxn was sent: {error}"
                );
                Ok(Outcome::Unknown)
            }
            Err(CommitError::Fenced(error)) => {
                scribe.ok(Op::Fenced);
                scribe.fail(Op::Commit, error);
                Ok(Outcome::Lost)
            }
            Err(CommitError::Fatal(error)) => {
                scribe.fail(Op::Commit, error);
                Ok(Outcome::Lost)
            }
            Err(other) => bail!("an outcome that is new: {other}"),
        }
    }

    /// The next partition's records follow when the last one's are in the log, in most transactions. The error is the client's.
    async fn fill(
        &self,
        scribe: &Scribe,
        transaction: &mut Transaction<'_>,
        number: u64,
        deliveries: &mut Vec<(Op, Delivery)>,
    ) -> Result<Result<(), Error>> {
        for partition in 0..PARTITIONS {
            for record in 0..RECORDS {
                let value = value(self.case, number, partition, record);
                let op = Op::Send {
                    key: format!("{}/{partition}", self.topic),
                    value: value.clone(),
                    offset: None,
                };
                scribe.invoke(op.clone());
                let record = Record::new(self.topic, &value).partition(partition);
                match bounded("send", transaction.send(record)).await? {
                    Ok(delivery) => deliveries.push((op, delivery)),
                    Err(error) => {
                        scribe.fail(op, &error);
                        return Ok(Err(error));
                    }
                }
            }
            if number % 4 != 3
                && let Some((op, delivery)) = deliveries.pop()
            {
                let result = bounded("delivery", delivery.wait()).await?;
                let ended = result.as_ref().map(|_| ()).map_err(Clone::clone);
                settle(scribe, op, result);
                if ended.is_err() {
                    return Ok(ended);
                }
            }
        }
        if number % 3 == 2 {
            return Ok(Ok(()));
        }
        self.send_offsets(scribe, transaction, number).await
    }

    /// The group's offset of the first partition becomes the transaction's number.
    async fn send_offsets(
        &self,
        scribe: &Scribe,
        transaction: &mut Transaction<'_>,
        number: u64,
    ) -> Result<Result<(), Error>> {
        let offset = i64::try_from(number)?;
        let op = Op::SendOffsets {
            group: self.group.to_owned(),
            key: format!("{}/0", self.topic),
            offset,
        };
        scribe.invoke(op.clone());
        let sent = send_offsets(transaction, self.group, (self.topic, 0), offset);
        let sent = bounded("send_offsets", sent).await?;
        match &sent {
            Ok(()) => scribe.ok(op),
            Err(error) => scribe.unknown(op, error),
        }
        Ok(sent)
    }

    async fn repeated<T, F: Future<Output = Result<T, Error>>>(
        &self,
        what: &str,
        mut call: impl FnMut() -> F,
    ) -> Result<T> {
        let mut last = None;
        for _ in 0..TRIES {
            match bounded(what, call()).await? {
                Ok(value) => return Ok(value),
                Err(error) => last = Some(error),
            }
            self.script.calm();
        }
        Err(last.context("never tried")?).context(what.to_owned())
    }
}

/// A begin that cannot be tried again.
fn lost(scribe: &Scribe, op: Op, error: &Error) -> Result<Outcome> {
    if error.kind() == ErrorKind::Fenced {
        scribe.ok(Op::Fenced);
    }
    scribe.fail(op, error);
    Ok(Outcome::Lost)
}

/// What became of a record.
fn settle(scribe: &Scribe, op: Op, result: Result<sealwax::RecordMetadata, Error>) {
    match (result, op) {
        (Ok(metadata), Op::Send { key, value, .. }) => scribe.ok(Op::Send {
            key,
            value,
            offset: metadata.offset,
        }),
        (Ok(_), op) => scribe.ok(op),
        (Err(error), op) if matches!(error.kind(), ErrorKind::OutcomeUnknown | ErrorKind::Timeout) => {
            scribe.unknown(op, error);
        }
        (Err(error), op) => scribe.fail(op, error),
    }
}

async fn abort(scribe: &Scribe, transaction: Transaction<'_>) -> Result<Outcome> {
    scribe.invoke(Op::Abort);
    match bounded("abort", transaction.abort()).await? {
        Ok(()) => {
            scribe.ok(Op::Abort);
            Ok(Outcome::Aborted)
        }
        Err(error) if error.kind() == ErrorKind::Timeout => {
            scribe.unknown(Op::Abort, error);
            Ok(Outcome::Aborted)
        }
        Err(error) => {
            scribe.unknown(Op::Abort, &error);
            if error.kind() == ErrorKind::Fenced {
                scribe.ok(Op::Fenced);
            }
            Ok(Outcome::Lost)
        }
    }
}

async fn bounded<T>(what: &str, call: impl Future<Output = T>) -> Result<T> {
    tokio::time::timeout(BOUND, call)
        .await
        .with_context(|| format!("hang: {what} did not return within {BOUND:?}"))
}
