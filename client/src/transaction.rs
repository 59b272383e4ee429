//! A transaction: borrowed from its producer, so that a second open one does not compile; consumed by commit and abort.

use thiserror::Error;

use crate::error::{Error, ErrorKind, Result};
use crate::machine::transaction::Verdict;
use crate::producer::{Core, Delivery};
use crate::record::Record;

/// Proof that the broker confirmed a commit. Only [`Transaction::commit`] makes it.
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
    /// a whole, and which of both must be found out by reading (the next [`crate::TransactionalProducer::begin`] is safe: it
    /// re-initialises first).
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

/// An open transaction. Dropping it queues its abort.
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
    /// If the record cannot be taken (too large, unknown topic, no room within `max.block.ms`), or the transaction can only be aborted.
    ///
    /// *Cancel safety*: until the future is ready the record was not taken.
    pub async fn send(&mut self, record: Record<'_>) -> Result<Delivery> {
        let delivery = self.core.send(&record).await?;
        self.records += 1;
        Ok(delivery)
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
    /// *Cancel safety*: the commit goes on in the background; the next `begin` waits for its verdict.
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

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        // After commit and abort this does nothing.
        self.core
            .handle
            .with(|machine, now| machine.abandon(now, self.serial));
    }
}
