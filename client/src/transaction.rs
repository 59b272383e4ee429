//! A transaction: borrowed from its producer, so that a second open one does not compile; consumed by commit and abort.

mod one_shot;

use std::collections::BTreeMap;

use sealwax_protocol::ids::TopicPartition;
use thiserror::Error;

use crate::error::{Error, ErrorKind, Result};
use crate::machine::transaction::{self, Verdict};
use crate::offsets::{ConsumerGroupMetadata, OffsetAndMetadata};
use crate::producer::{Core, Delivery};
use crate::record::Record;

pub(crate) use one_shot::run;

/// Proof that the broker confirmed a commit. Only [`Transaction::commit`] and [`crate::TransactionalProducer::resolve`] make it.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Committed {
    _private: (),
}

/// Why a commit did not end in [`Committed`].
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum CommitError {
    /// The transaction was aborted: nothing of it is or will be visible to a read_committed reader. The producer can begin anew.
    #[error("the transaction was aborted: {0}")]
    Aborted(#[source] Error),
    /// Another producer with the same transactional id took over and this transaction was aborted with it.
    #[error("fenced: {0}")]
    Fenced(#[source] Error),
    /// An EndTxn may have reached the broker, but no answer tells what came of it: the transaction is committed or aborted as
    /// a whole. [`crate::TransactionalProducer::resolve`] finds out which; the next [`crate::TransactionalProducer::begin`] is safe
    /// also without that: it ends what is open still, and gets a new epoch where that is needed.
    #[error("whether the transaction was committed is unknown: {0}")]
    Unknown(#[source] Error),
    /// The producer is beyond use; the transaction was not committed by it.
    #[error("the transaction was not committed and the producer cannot be used any more: {0}")]
    Fatal(#[source] Error),
}

impl CommitError {
    /// The error behind it.
    #[must_use]
    pub fn error(&self) -> &Error {
        match self {
            Self::Aborted(error) | Self::Fenced(error) | Self::Unknown(error) | Self::Fatal(error) => error,
        }
    }
}

impl From<CommitError> for Error {
    /// The error behind it, for a caller that treats every outcome but [`Committed`] alike. [`Error::kind`] still tells them apart:
    /// [`crate::ErrorKind::OutcomeUnknown`] stays unknown.
    fn from(error: CommitError) -> Self {
        error.error().clone()
    }
}

/// How the last commit of a producer came out.
#[derive(Debug)]
#[must_use]
pub enum Resolution {
    /// Committed. Here is the proof that the commit itself could not give.
    Committed(Committed),
    /// Aborted: nothing of it is or will be visible to a read_committed reader.
    Aborted(Error),
    /// It still cannot be told, for this reason. It can be asked again.
    Unknown(Error),
}

impl From<transaction::Resolution> for Resolution {
    fn from(resolution: transaction::Resolution) -> Self {
        match resolution {
            transaction::Resolution::Committed => Self::Committed(Committed { _private: () }),
            transaction::Resolution::Aborted(error) => Self::Aborted(error),
            transaction::Resolution::Unknown(error) => Self::Unknown(error),
        }
    }
}

/// An open transaction. Dropping it queues its abort.
///
/// It borrows its producer and is consumed by [`Transaction::commit`] and [`Transaction::abort`]. So the compiler holds off what other
/// clients report at run time:
///
/// ```
/// # use sealwax::{Record, Result, TransactionalProducer};
/// # #[allow(dead_code)]
/// async fn one_after_the_other(producer: &mut TransactionalProducer) -> Result<()> {
///     let mut first = producer.begin().await?;
///     first.send(Record::new("orders", "42 crates")).await?;
///     let _committed = first.commit().await?;
///     let second = producer.begin().await?;
///     second.abort().await
/// }
/// ```
///
/// A second transaction of the same producer while one is open:
///
/// ```compile_fail,E0499
/// # use sealwax::{Result, TransactionalProducer};
/// async fn twice(producer: &mut TransactionalProducer) -> Result<()> {
///     let first = producer.begin().await?;
///     let second = producer.begin().await?;
///     first.abort().await?;
///     second.abort().await
/// }
/// ```
///
/// A record after the commit, or a second commit:
///
/// ```compile_fail,E0382
/// # use sealwax::{Record, Result, TransactionalProducer};
/// async fn too_late(producer: &mut TransactionalProducer) -> Result<()> {
///     let mut transaction = producer.begin().await?;
///     let _committed = transaction.commit().await?;
///     transaction.send(Record::new("orders", "7 barrels")).await?;
///     Ok(())
/// }
/// ```
///
/// The producer itself while a transaction is open:
///
/// ```compile_fail,E0505
/// # use sealwax::{Result, TransactionalProducer};
/// # use std::time::Duration;
/// async fn closed_too_early(mut producer: TransactionalProducer) -> Result<()> {
///     let transaction = producer.begin().await?;
///     producer.close(Duration::from_secs(10)).await?;
///     transaction.abort().await
/// }
/// ```
///
/// A commit whose outcome nobody looks at is a warning (`unused_must_use`), here made an error:
///
/// ```compile_fail
/// #![deny(unused_must_use)]
/// # use sealwax::{Result, TransactionalProducer};
/// # async fn careless(producer: &mut TransactionalProducer) -> Result<()> {
/// let transaction = producer.begin().await?;
/// transaction.commit().await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use]
pub struct Transaction<'p> {
    core: &'p mut Core,
    serial: u64,
    records: u64,
}

impl<'p> Transaction<'p> {
    pub(crate) const fn new(core: &'p mut Core, serial: u64) -> Self {
        Self {
            core,
            serial,
            records: 0,
        }
    }

    /// Puts a record into its batch; waits only for the topic's metadata or for buffer room.
    ///
    /// The `Delivery` may be dropped: if the record is not written, [`Transaction::commit`] fails.
    ///
    /// # Errors
    /// If the record cannot be taken (too large, unknown topic, no room within `max.block.ms`). Whoever overlooks that must not commit the
    /// rest as if it were the whole, so that the transaction can only be aborted then ([`Error::requires_abort`]; Java does the same,
    /// KAFKA-9279).
    ///
    /// *Cancel safety*: until the future is ready the record was not taken; one that was dropped leaves the transaction as it was.
    pub async fn send(&mut self, record: Record<'_>) -> Result<Delivery> {
        match self.core.send(&record).await {
            Ok(delivery) => {
                self.records += 1;
                Ok(delivery)
            }
            Err(error) => {
                let handle = &self.core.handle;
                Err(handle.with(|machine, now| machine.not_taken(now, &error)))
            }
        }
    }

    /// Makes offsets of a consumer group part of the transaction: they are committed if and only if its records are (KIP-447). Resolves
    /// when the group's coordinator has accepted them. An empty set is nothing.
    ///
    /// With [`ConsumerGroupMetadata::new`] they are committed by group id alone, without a live member. Of several offsets for a
    /// partition the last one counts.
    ///
    /// # Errors
    /// If an offset is negative, or the group is not named ([`ErrorKind::Config`]; nothing has happened). Else the transaction can
    /// only be aborted ([`Error::requires_abort`]): the group has gone on without this member ([`ErrorKind::CommitFailed`]), a
    /// permission is missing ([`ErrorKind::Authorization`], names the group), the coordinators did not take them within
    /// `max.block.ms`, or something else had failed before. Or the producer is beyond use ([`Error::is_fatal`]).
    ///
    /// *Cancel safety*: if the future was polled once the offsets belong to the transaction, and [`Transaction::commit`] waits until
    /// they are accepted; an abort drops them.
    pub async fn send_offsets(
        &mut self,
        offsets: impl IntoIterator<Item = (TopicPartition, OffsetAndMetadata)>,
        group: &ConsumerGroupMetadata,
    ) -> Result<()> {
        let offsets = checked(offsets.into_iter().collect(), group)?;
        if offsets.is_empty() {
            return Ok(());
        }
        let group = group.clone();
        let handle = &self.core.handle;
        let number = handle.with(|machine, now| machine.send_offsets(now, offsets, group))?;
        handle
            .wait_for(|machine, _| machine.offsets_accepted(number))
            .await
    }

    /// The reason why this transaction can only be aborted, if that is so.
    fn failure(&self) -> Option<Error> {
        self.core
            .handle
            .with_quietly(|machine, _| machine.failure().cloned())
    }

    /// Whether no record was taken yet.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Sends what is open, waits for every record's result, and commits.
    ///
    /// Records are waited for until `delivery.timeout.ms`, then the coordinator until `max.block.ms` (at least
    /// `request.timeout.ms`) after it was asked first.
    ///
    /// # Errors
    /// See [`CommitError`]. A timeout is never turned into committed or aborted, unless no commit was ever written to a broker.
    ///
    /// *Cancel safety*: if the future was polled once the commit goes on in the background; [`crate::TransactionalProducer::resolve`]
    /// tells how it came out, and the next `begin` waits for that. A future that was never polled aborts the transaction.
    pub async fn commit(self) -> std::result::Result<Committed, CommitError> {
        let asked = self.core.handle.with(|machine, now| machine.commit(now));
        if let Err(error) = asked {
            return Err(match error.kind() {
                ErrorKind::Fenced => CommitError::Fenced(error),
                _ => CommitError::Fatal(error),
            });
        }
        match self.verdict().await {
            Verdict::Committed => Ok(Committed { _private: () }),
            Verdict::Aborted(error) => Err(CommitError::Aborted(error)),
            Verdict::Fenced(error) => Err(CommitError::Fenced(error)),
            Verdict::Unknown(error) => Err(CommitError::Unknown(error)),
            Verdict::Fatal(error) => Err(CommitError::Fatal(error)),
        }
    }

    /// Aborts: nothing of the transaction becomes visible to a read_committed reader.
    ///
    /// # Errors
    /// If the producer is beyond use, or the coordinator did not confirm within `max.block.ms` ([`ErrorKind::Timeout`]; the next
    /// `begin` waits on). The transaction is never committed all the same.
    ///
    /// *Cancel safety*: the abort goes on in the background; the next `begin` waits for it.
    pub async fn abort(self) -> Result<()> {
        self.core.handle.with(|machine, now| machine.abort(now))?;
        let limit = self.core.max_block;
        match tokio::time::timeout(limit, self.verdict()).await {
            Ok(Verdict::Aborted(_)) => Ok(()),
            Ok(Verdict::Fenced(error) | Verdict::Unknown(error) | Verdict::Fatal(error)) => Err(error),
            // Only a commit can be answered with a commit.
            Ok(Verdict::Committed) => Err(Error::new(ErrorKind::InvalidState, "an abort ended as a commit")),
            Err(_) => {
                let message = format!(
                    "the abort was not confirmed within max.block.ms = {}; it is not committed and the abort goes on",
                    limit.as_millis()
                );
                Err(Error::new(ErrorKind::Timeout, message))
            }
        }
    }

    async fn verdict(&self) -> Verdict {
        self.core
            .handle
            .wait_for(|machine, _| machine.verdict(self.serial))
            .await
    }
}

fn checked(
    offsets: BTreeMap<TopicPartition, OffsetAndMetadata>,
    group: &ConsumerGroupMetadata,
) -> Result<BTreeMap<TopicPartition, OffsetAndMetadata>> {
    let refuse = |message: String| Err(Error::new(ErrorKind::Config, message));
    if group.group_id.is_empty() {
        return refuse("offsets cannot be committed for a group without an id".to_owned());
    }
    if group.generation_id > 0 && group.member_id.is_empty() {
        return refuse(format!(
            "group {}: generation {} is that of a member, but the member id is empty",
            group.group_id, group.generation_id
        ));
    }
    match offsets.iter().find(|(_, committed)| committed.offset < 0) {
        Some((partition, committed)) => refuse(format!(
            "the offset {} for {partition} in group {} is negative",
            committed.offset, group.group_id
        )),
        None => Ok(offsets),
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        // After commit and abort this does nothing.
        self.core
            .handle
            .with(|machine, now| machine.abandon(now, self.serial));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_that_no_coordinator_would_take_are_refused() {
        let offset = |offset| [(TopicPartition::new("in", 0), OffsetAndMetadata::new(offset))].into();
        let group = ConsumerGroupMetadata::new("g");
        assert!(checked(offset(0), &group).is_ok());
        let memberless = ConsumerGroupMetadata {
            generation_id: 3,
            ..group.clone()
        };
        for (offsets, group, part) in [
            (offset(-1), &group, "-1 for in-0 in group g"),
            (offset(1), &ConsumerGroupMetadata::new(""), "without an id"),
            (offset(1), &memberless, "generation 3"),
        ] {
            let error = checked(offsets, group).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config);
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
