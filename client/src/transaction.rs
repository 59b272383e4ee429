//! A transaction: borrowed from its producer, so that a second open one does not compile; consumed by commit and abort.

use std::marker::PhantomData;

use thiserror::Error;

use crate::error::{Error, Result};
use crate::producer::{Delivery, TransactionalProducer};
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
    /// a whole, and which of both must be found out by reading (the next [`TransactionalProducer::begin`] is safe: it
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

/// An open transaction. Dropping it queues its abort.
#[derive(Debug)]
#[must_use]
pub struct Transaction<'p> {
    _producer: PhantomData<&'p mut TransactionalProducer>,
}

impl Transaction<'_> {
    /// Puts a record into its batch; waits only for the topic's metadata or for buffer room.
    ///
    /// The `Delivery` may be dropped: if the record is not written, [`Transaction::commit`] fails.
    ///
    /// # Errors
    /// If the record cannot be taken (too large, unknown topic, no room within `max.block.ms`), or the transaction can only be aborted.
    ///
    /// *Cancel safety*: until the future is ready the record was not taken.
    pub async fn send(&mut self, _record: Record<'_>) -> Result<Delivery> {
        todo!()
    }

    /// Sends what is open, waits for every record's result, and commits.
    ///
    /// # Errors
    /// See [`CommitError`]. A timeout is never turned into committed or aborted.
    ///
    /// *Cancel safety*: the commit goes on in the background; the next `begin` waits for its verdict.
    pub async fn commit(self) -> std::result::Result<Committed, CommitError> {
        todo!()
    }

    /// Aborts: nothing of the transaction becomes visible to a read_committed reader.
    ///
    /// # Errors
    /// If the producer is beyond use. The transaction is never committed by it all the same.
    ///
    /// *Cancel safety*: the abort goes on in the background; the next `begin` waits for it.
    pub async fn abort(self) -> Result<()> {
        todo!()
    }
}
