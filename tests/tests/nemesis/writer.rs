//! A process that writes: one producer per transactional id, each with one transaction after the other. Some are aborted, some dropped, some
//! left open for longer than their timeout, and now and then a producer is dropped in the middle of one.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fastrand::Rng;
use sealwax::config::ProducerConfig;
use sealwax::{
    Client, CommitError, Delivery, Error, ErrorKind, Record, Resolution, Transaction, TransactionalProducer,
};
use sealwax_tests::history::{Journal, Op, Scribe};
use tokio::task::JoinSet;

use crate::told::Told;

const DELIVERY_TIMEOUT: Duration = Duration::from_secs(10);
/// The first transactional ids are patient; every third is not, and will hear of unknown outcomes.
const MAX_BLOCKS: [Duration; 3] = [
    Duration::from_secs(10),
    Duration::from_secs(10),
    Duration::from_secs(3),
];
/// Every record must have its result by then, whatever happened.
const RESULT_LIMIT: Duration = Duration::from_secs(40);
/// Every other transactional id has the one, every other the other.
const TRANSACTION_TIMEOUTS: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(15)];
/// Longer than the shorter of them.
const TOO_LONG: Duration = Duration::from_secs(7);
const AFTER_AN_ERROR: Duration = Duration::from_millis(200);

pub(crate) async fn write(told: &Arc<Told>, ids: &[String], seed: u64) -> Result<()> {
    let journal = told.journal()?;
    let Some(client) = told.connect().await else {
        return Ok(());
    };
    let mut authors = JoinSet::new();
    for (number, id) in (0_u64..).zip(ids) {
        let place = usize::try_from(number)?;
        let author = Author {
            client: client.clone(),
            told: Arc::clone(told),
            journal: journal.clone(),
            id: id.clone(),
            timeout: TRANSACTION_TIMEOUTS[place % 2],
            max_block: MAX_BLOCKS[place % 3],
            instance: 0,
            transaction: 0,
            rng: Rng::with_seed(seed ^ number << 16),
        };
        authors.spawn(author.work());
    }
    while let Some(ended) = authors.join_next().await {
        ended??;
    }
    Ok(())
}

struct Author {
    client: Client,
    told: Arc<Told>,
    journal: Journal,
    id: String,
    timeout: Duration,
    max_block: Duration,
    instance: u32,
    transaction: u64,
    rng: Rng,
}

/// How it goes on after a transaction.
enum Next {
    /// With this producer.
    Same,
    /// With this producer, which may find out how its commit came out.
    Unknown,
    /// With a new one.
    New,
    /// Another producer has taken this one's place.
    Fenced,
}

/// How a transaction is to end.
#[derive(Clone, Copy)]
enum Ending {
    Commit,
    Abort,
    Drop,
    DropProducer,
}

impl Ending {
    /// A transaction of which a record was refused is not to be committed.
    fn draw(rng: &mut Rng, whole: bool) -> Self {
        match (whole, rng.u8(0..120)) {
            (_, 0) => Self::DropProducer,
            (_, 1..4) => Self::Drop,
            (false, _) | (true, 4..16) => Self::Abort,
            (true, _) => Self::Commit,
        }
    }
}

type Sent = Vec<(Op, Delivery)>;

impl Author {
    async fn work(mut self) -> Result<()> {
        while !self.told.is_over() {
            self.instance += 1;
            let scribe = self
                .journal
                .scribe(format!("{}/{}", self.told.name, self.id), self.instance);
            match self.build().await {
                Ok(producer) => {
                    let fenced = self.live(producer, &scribe).await?;
                    if fenced && self.told.is_replaced() {
                        return Ok(());
                    }
                }
                Err(error) => println!("{}: {error}", self.id),
            }
            tokio::time::sleep(AFTER_AN_ERROR).await;
        }
        Ok(())
    }

    async fn build(&self) -> sealwax::Result<TransactionalProducer> {
        let mut config = ProducerConfig::default();
        config.delivery_timeout = DELIVERY_TIMEOUT;
        config.max_block = self.max_block;
        config.transaction_timeout = self.timeout;
        config.linger = Duration::from_millis(1);
        let builder = self.client.transactional_producer(self.id.as_str());
        builder.config(config).build().await
    }

    /// Uses a producer up; whether it was fenced.
    async fn live(&mut self, mut producer: TransactionalProducer, scribe: &Scribe) -> Result<bool> {
        while !self.told.is_over() {
            match self.transaction(&mut producer, scribe).await? {
                Next::Same | Next::Unknown => {}
                Next::New => return Ok(false),
                Next::Fenced => {
                    scribe.ok(Op::Fenced);
                    return Ok(true);
                }
            }
            let pause = self.rng.u64(10..40);
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        // What is left of it is aborted in any case.
        let _ = producer.close(Duration::from_secs(10)).await;
        Ok(false)
    }

    async fn transaction(&mut self, producer: &mut TransactionalProducer, scribe: &Scribe) -> Result<Next> {
        self.transaction += 1;
        let scribe = scribe.within(self.transaction);
        scribe.invoke(Op::Begin);
        let mut transaction = match producer.begin().await {
            Ok(transaction) => transaction,
            Err(error) => {
                scribe.fail(Op::Begin, &error);
                return Ok(after(&error).await);
            }
        };
        scribe.ok(Op::Begin);
        let (sent, whole) = self.fill(&mut transaction, &scribe).await;
        let ending = Ending::draw(&mut self.rng, whole);
        // Half of what is not to be committed is in the log before it is given up.
        let is_first_written = !matches!(ending, Ending::Commit) && self.rng.bool();
        let (early, late) = if is_first_written {
            (sent, Vec::new())
        } else {
            (Vec::new(), sent)
        };
        settle(early, &scribe).await?;
        let next = end(transaction, ending, &scribe).await;
        if !matches!(ending, Ending::DropProducer) {
            settle(late, &scribe).await?;
        }
        match next {
            Next::Unknown if self.rng.bool() => Ok(resolve(producer, &scribe).await),
            next => Ok(next),
        }
    }

    /// Up to four records; whether all were taken.
    async fn fill(&mut self, transaction: &mut Transaction<'_>, scribe: &Scribe) -> (Sent, bool) {
        let mut sent = Vec::new();
        for part in 0..self.rng.u8(1..=4) {
            let value = format!(
                "{}/{}.{}.{}.{part}",
                self.told.name, self.id, self.instance, self.transaction
            );
            let partition = self.rng.i32(0..self.told.partitions);
            let key = format!("{}/{partition}", self.told.topic);
            let op = |offset| Op::Send {
                key,
                value: value.clone(),
                offset,
            };
            let op = op(None);
            scribe.invoke(op.clone());
            let record = Record::new(&self.told.topic, &value).partition(partition);
            match transaction.send(record).await {
                Ok(delivery) => sent.push((op, delivery)),
                Err(error) => {
                    scribe.fail(op, error);
                    return (sent, false);
                }
            }
            if self.rng.u8(0..8) == 0 {
                let pause = self.rng.u64(1..20);
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
        }
        if self.rng.u16(0..400) == 0 {
            tokio::time::sleep(TOO_LONG).await;
        }
        (sent, true)
    }
}

async fn end(transaction: Transaction<'_>, ending: Ending, scribe: &Scribe) -> Next {
    match ending {
        Ending::Commit => commit(transaction, scribe).await,
        Ending::Abort => abort(transaction, scribe).await,
        Ending::Drop => {
            drop(transaction);
            Next::Same
        }
        Ending::DropProducer => {
            drop(transaction);
            scribe.ok(Op::Crash);
            Next::New
        }
    }
}

async fn commit(transaction: Transaction<'_>, scribe: &Scribe) -> Next {
    scribe.invoke(Op::Commit);
    match transaction.commit().await {
        Ok(_committed) => {
            scribe.ok(Op::Commit);
            Next::Same
        }
        Err(CommitError::Unknown(error)) => {
            scribe.unknown(Op::Commit, error);
            Next::Unknown
        }
        Err(CommitError::Aborted(error)) => {
            scribe.fail(Op::Commit, error);
            Next::Same
        }
        Err(CommitError::Fenced(error)) => {
            scribe.fail(Op::Commit, error);
            Next::Fenced
        }
        Err(error) => {
            scribe.fail(Op::Commit, error);
            Next::New
        }
    }
}

async fn resolve(producer: &mut TransactionalProducer, scribe: &Scribe) -> Next {
    match producer.resolve().await {
        Ok(Resolution::Committed(_)) => scribe.ok(Op::Commit),
        Ok(Resolution::Aborted(error)) => scribe.fail(Op::Commit, error),
        Ok(Resolution::Unknown(error)) => scribe.unknown(Op::Commit, error),
        Err(error) => {
            println!("{}: not resolved: {error}", producer.transactional_id());
            return after(&error).await;
        }
    }
    Next::Same
}

async fn abort(transaction: Transaction<'_>, scribe: &Scribe) -> Next {
    scribe.invoke(Op::Abort);
    match transaction.abort().await {
        Ok(()) => {
            scribe.ok(Op::Abort);
            Next::Same
        }
        Err(error) => {
            scribe.unknown(Op::Abort, &error);
            after(&error).await
        }
    }
}

async fn after(error: &Error) -> Next {
    if error.kind() == ErrorKind::Fenced {
        return Next::Fenced;
    }
    tokio::time::sleep(AFTER_AN_ERROR).await;
    if error.is_retriable() {
        Next::Same
    } else {
        Next::New
    }
}

/// Writes down every record's result.
async fn settle(sent: Sent, scribe: &Scribe) -> Result<()> {
    for (op, delivery) in sent {
        let Op::Send { key, value, .. } = op else { continue };
        let result = tokio::time::timeout(RESULT_LIMIT, delivery.wait())
            .await
            .with_context(|| format!("{value} has no result after {RESULT_LIMIT:?}"))?;
        let op = |offset| Op::Send {
            key: key.clone(),
            value: value.clone(),
            offset,
        };
        match result {
            Ok(metadata) => {
                ensure!(
                    key == format!(
                        "{}/{}",
                        metadata.topic_partition.topic, metadata.topic_partition.partition
                    ),
                    "{value} was sent to {key} and went to {}",
                    metadata.topic_partition
                );
                scribe.ok(op(metadata.offset));
            }
            Err(error) if error.kind() == ErrorKind::OutcomeUnknown => scribe.unknown(op(None), error),
            Err(error) => scribe.fail(op(None), error),
        }
    }
    Ok(())
}
