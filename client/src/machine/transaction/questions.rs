//! What may be done now, and how things came out: questions that change nothing.

use std::sync::Arc;

use sealwax_protocol::ids::TopicPartition;

use super::last_commit::{LastCommit, Resolution};
use super::phase::{AbortCause, Commit, Inquiry};
use super::state::State;
use super::{PRODUCE, Sender, TransactionManager, Verdict};
use crate::error::{Error, ErrorKind};

impl TransactionManager {
    /// Whether these offsets are part of the transaction, or why they never will be; `None` as long as that is open.
    pub(crate) fn offsets_accepted(&self, number: u64) -> Option<Result<(), Error>> {
        match &self.state {
            State::InTransaction(open) | State::CommittingTransaction(open, _) => {
                open.offsets().is_accepted(number).then_some(Ok(()))
            }
            State::AbortableError(_, error) | State::FatalError(error) => Some(Err(error.clone())),
            State::AbortingTransaction(_, abort) => Some(Err(abort.cause.reason())),
            State::Uninitialized(_)
            | State::Initializing(_)
            | State::Ready(_)
            | State::OutcomeUnknown(..) => {
                Some(Err(Error::new(ErrorKind::InvalidState, "no transaction is open")))
            }
        }
    }

    /// How the last commit came out; `None` as long as it, or the question about it, is under way.
    ///
    /// # Errors
    /// If there was none, or the producer is beyond use.
    pub(crate) fn resolution(&self) -> Option<Result<Resolution, Error>> {
        match (&self.last_commit, &self.state) {
            (_, State::FatalError(error)) => Some(Err(error.clone())),
            (LastCommit::None, _) => Some(Err(Error::new(
                ErrorKind::InvalidState,
                "no commit was asked for",
            ))),
            (LastCommit::Pending(_), _)
            | (LastCommit::Decided(_, Resolution::Unknown(_)), State::OutcomeUnknown(_, Inquiry::Asked(_))) => {
                None
            }
            (
                LastCommit::Decided(serial, Resolution::Unknown(_)),
                State::CommittingTransaction(open, _) | State::AbortingTransaction(open, _),
            ) if open.serial() == *serial => None,
            (LastCommit::Decided(_, resolution), _) => Some(Ok(resolution.clone())),
        }
    }

    /// The reason why the open transaction can only be aborted, if that is so.
    pub(crate) const fn failure(&self) -> Option<&Error> {
        match &self.state {
            State::AbortableError(_, error) | State::FatalError(error) => Some(error),
            State::Uninitialized(_)
            | State::Initializing(_)
            | State::Ready(_)
            | State::InTransaction(_)
            | State::CommittingTransaction(..)
            | State::AbortingTransaction(..)
            | State::OutcomeUnknown(..) => None,
        }
    }

    /// The verdict about a transaction, once there is one.
    pub(crate) fn verdict(&self, serial: u64) -> Option<Verdict> {
        let (of, verdict) = self.verdict.as_ref()?;
        (*of == serial).then(|| verdict.clone())
    }

    /// Whether a record may be taken.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn may_append(&self) -> Result<(), Error> {
        match (&self.state, &self.settings.transactional) {
            (State::InTransaction(_), Some(_)) => Ok(()),
            (State::AbortableError(_, error) | State::FatalError(error), _) => Err(error.clone()),
            (State::Uninitialized(_) | State::Initializing(_) | State::Ready(_), None) => Ok(()),
            (
                State::Uninitialized(_)
                | State::Initializing(_)
                | State::Ready(_)
                | State::CommittingTransaction(..)
                | State::AbortingTransaction(..)
                | State::OutcomeUnknown(..),
                Some(_),
            )
            | (
                State::InTransaction(_)
                | State::CommittingTransaction(..)
                | State::AbortingTransaction(..)
                | State::OutcomeUnknown(..),
                None,
            ) => Err(Error::new(ErrorKind::InvalidState, "no transaction is open")),
        }
    }

    /// Whether the first InitProducerId succeeded; `None` as long as that is open.
    pub(crate) fn initialized(&self) -> Option<Result<(), Error>> {
        match &self.state {
            State::Initializing(_) => None,
            State::Uninitialized(error) | State::FatalError(error) => Some(Err(error.clone())),
            State::Ready(_)
            | State::InTransaction(_)
            | State::CommittingTransaction(..)
            | State::AbortingTransaction(..)
            | State::AbortableError(..)
            | State::OutcomeUnknown(..) => Some(Ok(())),
        }
    }

    /// Whose batches may be sent now; `None`: nobody's.
    pub(crate) fn sender(&self) -> Option<Sender> {
        match (&self.state, &self.settings.transactional) {
            (State::Ready(ready), None) => Some(Sender {
                producer: ready.producer,
                transactional_id: None,
                versions: PRODUCE,
            }),
            (
                State::InTransaction(open) | State::CommittingTransaction(open, Commit::Delivering),
                Some((id, _)),
            ) => Some(Sender {
                producer: open.producer(),
                transactional_id: Some(Arc::clone(id)),
                versions: open.version().produce(),
            }),
            (
                State::Uninitialized(_)
                | State::Initializing(_)
                | State::Ready(_)
                | State::InTransaction(_)
                | State::CommittingTransaction(..)
                | State::AbortingTransaction(..)
                | State::AbortableError(..)
                | State::OutcomeUnknown(..)
                | State::FatalError(_),
                _,
            ) => None,
        }
    }

    /// Whether batches for a partition may be sent.
    pub(crate) fn may_write(&self, partition: &TopicPartition) -> bool {
        match self.settings.transactional {
            None => true,
            Some(_) => self.state.open().is_some_and(|open| open.may_write(partition)),
        }
    }

    /// Why batches that are not on the wire are to fail; `None` as long as they are to be delivered.
    pub(crate) fn discards(&self) -> Option<Error> {
        let aborted = |why: &str| {
            let message = format!("the transaction was aborted before this record was written{why}");
            Error::new(ErrorKind::TransactionAborted, message)
        };
        match &self.state {
            State::AbortableError(_, error) => Some(aborted(&format!(": {error}"))),
            State::AbortingTransaction(_, abort) => Some(match &abort.cause {
                AbortCause::CommitFailed(error, _) => aborted(&format!(": {error}")),
                AbortCause::Requested | AbortCause::Settling => aborted(""),
            }),
            State::FatalError(error) => Some(error.clone()),
            State::Uninitialized(_)
            | State::Initializing(_)
            | State::Ready(_)
            | State::InTransaction(_)
            | State::CommittingTransaction(..)
            | State::OutcomeUnknown(..) => None,
        }
    }

    /// Whether no transaction is open or about to end.
    pub(crate) const fn is_idle(&self) -> bool {
        self.state.open().is_none()
    }

    /// The transactional id, if there is one.
    pub(crate) fn transactional_id(&self) -> Option<&Arc<str>> {
        self.settings.transactional.as_ref().map(|(id, _)| id)
    }
}
