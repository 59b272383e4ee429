//! What a case is tried on: one producer after the other if need be, some transactions, and what came of each of them.

use std::fmt;
use std::future::Future;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sealwax::config::ProducerConfig;
use sealwax::{Client, Error, TransactionalProducer};
use sealwax_tests::history::{Event, Journal};
use sealwax_tests::proxy::Proxy;
use sealwax_tests::scratch::unique;

use crate::case::Case;
use crate::script::Script;

/// Partitions of the topic.
pub(crate) const PARTITIONS: i32 = 3;
const REQUEST_TIMEOUT: Duration = Duration::from_secs(1);
const MAX_BLOCK: Duration = Duration::from_secs(3);
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(3);
/// No call may take longer than all its limits together, on a machine that is busy with a dozen of them.
pub(crate) const BOUND: Duration = Duration::from_secs(20);
/// Times that a call which said that it may be called again is called again.
pub(crate) const TRIES: usize = 8;

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
pub(crate) struct Place<'a> {
    pub(crate) case: Case,
    pub(crate) script: &'a Script,
    bootstrap: String,
    pub(crate) topic: &'a str,
    pub(crate) group: &'a str,
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
            let name = self.case.to_string();
            let scribe = self.journal.scribe(name, instance).within(number);
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
            if outcome == Outcome::Lost || self.case.target.is_asked_at_the_start() {
                instance += 1;
                producer = self.successor(producer, outcome).await?;
            }
        }
        Ok(bounded("close", producer.close(BOUND)).await??)
    }

    /// Another producer with the same transactional id.
    async fn successor(
        &self,
        producer: TransactionalProducer,
        last: Outcome,
    ) -> Result<TransactionalProducer> {
        let closed = bounded("close", producer.close(MAX_BLOCK)).await?;
        match last {
            Outcome::Lost => ensure!(self.case.may_lose_the_producer(), "the producer is lost"),
            Outcome::Committed | Outcome::Aborted | Outcome::Unknown => closed.context("close")?,
        }
        self.producer().await
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

pub(crate) async fn bounded<T>(what: &str, call: impl Future<Output = T>) -> Result<T> {
    tokio::time::timeout(BOUND, call)
        .await
        .with_context(|| format!("hang: {what} did not return within {BOUND:?}"))
}
