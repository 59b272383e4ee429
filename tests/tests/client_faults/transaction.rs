//! One transaction over several partitions, every second one aborted, most with offsets of a group; and the history of what the
//! client was asked and said.

use anyhow::{Result, bail, ensure};
use sealwax::{
    CommitError, Delivery, Error, ErrorKind, Record, Resolution, Transaction, TransactionalProducer,
};
use sealwax_tests::history::{Op, Scribe};

use crate::case::Case;
use crate::offsets::send_offsets;
use crate::workload::{Outcome, PARTITIONS, Place, TRIES, bounded};

/// Records of a transaction in each of the partitions.
const RECORDS: u64 = 2;

/// The value of a record.
fn value(case: Case, transaction: u64, partition: i32, number: u64) -> String {
    format!("{case}|{transaction}|{partition}|{number}")
}

impl Place<'_> {
    /// The transaction of this number, and what the client says of it.
    pub(crate) async fn one(
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
