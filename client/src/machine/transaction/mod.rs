//! The transactional state of a producer: what may be done when, and what each answer means.
//!
//! In: the application's calls, failures of batches, answers of the coordinator, time. Out: transactional requests, one at a time;
//! whose id and epoch batches get; the verdict about each transaction. A producer without transactional id uses the part of it that
//! gets and bumps a producer id. Java's name is the same.

mod add_partitions;
mod answers;
mod calls;
mod end_txn;
mod init_producer_id;
mod open;
mod state;
#[cfg(test)]
mod tests;
mod version;

use std::sync::Arc;
use std::time::{Duration, Instant};

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{ProducerIdAndEpoch, TopicPartition};
use sealwax_protocol::version::{FinalizedFeatures, VersionRange};

use self::calls::Rpc;
use self::state::{AbortCause, Commit, State};
pub(crate) use self::version::TransactionVersion;
use crate::error::{Error, ErrorKind};
use crate::machine::accumulator::Failure;
use crate::machine::retry::Backoff;

/// Versions of Produce for a producer without transactions.
const PRODUCE: VersionRange = VersionRange { min: 9, max: 13 };

/// For how long a V2 producer whose transaction was ended by someone else stands back before it goes on. It may have been a newer
/// producer, which has to ask again after the abort; meanwhile the coordinator would still take the older one's next transaction, which the
/// newer one would have to abort again, without end. Longer than the longest pause of a newer one (100 ms, Java's too).
const GIVE_WAY: Duration = Duration::from_millis(300);

/// How a request is to be asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RetryKind {
    /// After a very short pause: another operation on the same transactional id is about to end.
    Concurrent,
    /// After a pause.
    Backoff,
    /// After the coordinator was looked up anew.
    LookUp,
}

/// What the manager needs to know of the settings.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Transactional id and `transaction.timeout.ms`; `None` for a producer without transactions.
    pub(crate) transactional: Option<(Arc<str>, Duration)>,
    /// `request.timeout.ms`.
    pub(crate) request_timeout: Duration,
    /// `max.block.ms`: for so long (at least `request.timeout.ms`) EndTxn(commit) is repeated before its outcome is given up as unknown.
    pub(crate) max_block: Duration,
    /// The pause before a request is repeated.
    pub(crate) backoff: Backoff,
}

/// How a transaction came out, for who asked to end it.
#[derive(Debug, Clone)]
pub(crate) enum Verdict {
    /// The broker confirmed the commit, or nothing was sent.
    Committed,
    /// It is aborted, or can only end as aborted.
    Aborted(Error),
    /// Another producer took over; the transaction is aborted.
    Fenced(Error),
    /// A commit may have taken effect.
    Unknown(Error),
    /// The producer is beyond use; no commit took effect.
    Fatal(Error),
}

/// Whose batches may be sent, and how.
#[derive(Debug, Clone)]
pub(crate) struct Sender {
    /// Id and epoch for fresh batches.
    pub(crate) producer: ProducerIdAndEpoch,
    /// For the Produce request.
    pub(crate) transactional_id: Option<Arc<str>>,
    /// Versions of Produce that may be spoken.
    pub(crate) versions: VersionRange,
}

/// The transactional state of a producer.
#[derive(Debug)]
pub(crate) struct TransactionManager {
    settings: Settings,
    state: State,
    rpc: Rpc,
    /// The last transaction's verdict, by its serial.
    verdict: Option<(u64, Verdict)>,
    next_serial: u64,
    rng: fastrand::Rng,
}

impl TransactionManager {
    /// A producer that asks for its id.
    pub(crate) fn new(settings: Settings, rng: fastrand::Rng) -> Self {
        Self {
            settings,
            state: State::Initializing(ProducerIdAndEpoch::NONE),
            rpc: Rpc::idle(),
            verdict: None,
            next_serial: 0,
            rng,
        }
    }

    /// The cluster's features are these now.
    pub(crate) fn prepare(&mut self, features: FinalizedFeatures) {
        let version = TransactionVersion::chosen(features);
        self.change(|state| state.prepare(version));
    }

    /// Begins a transaction; `None` as long as the one before is not cleared up. The serial names it in the other calls.
    pub(crate) fn begin(&mut self, features: FinalizedFeatures) -> Option<Result<u64, Error>> {
        let serial = self.next_serial;
        let version = TransactionVersion::chosen(features);
        match self.step(|state| state.begin(serial, version)) {
            Ok(true) => {
                self.next_serial += 1;
                self.verdict = None;
                Some(Ok(serial))
            }
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }

    /// Starts to commit. The verdict comes later.
    ///
    /// # Errors
    /// If the transaction is not open.
    pub(crate) fn commit(&mut self, now: Instant) -> Result<(), Error> {
        let until = now + self.commit_patience();
        self.step(|state| state.commit(until))
    }

    /// Starts to abort. The verdict comes later.
    ///
    /// # Errors
    /// If the transaction is not open.
    pub(crate) fn abort(&mut self) -> Result<(), Error> {
        self.step(State::abort)
    }

    /// The handle of this transaction is gone: aborts it, if it is open and nobody has asked for its end.
    pub(crate) fn abandon(&mut self, serial: u64) {
        let is_open = match &self.state {
            State::InTransaction(open) | State::AbortableError(open, _) => open.serial() == serial,
            State::Uninitialized(_)
            | State::Initializing(_)
            | State::Ready(_)
            | State::CommittingTransaction(..)
            | State::AbortingTransaction(..)
            | State::FatalError(_) => false,
        };
        if is_open {
            self.change(|state| state.abort().0);
        }
    }

    /// Aborts whatever is open and not about to end.
    pub(crate) fn abandon_all(&mut self) {
        if let Some(serial) = self.state.open().map(open::OpenTransaction::serial) {
            self.abandon(serial);
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
                | State::AbortingTransaction(..),
                Some(_),
            )
            | (
                State::InTransaction(_) | State::CommittingTransaction(..) | State::AbortingTransaction(..),
                None,
            ) => Err(Error::new(ErrorKind::InvalidState, "no transaction is open")),
        }
    }

    /// A batch was opened for this partition.
    pub(crate) fn use_partition(&mut self, partition: TopicPartition) {
        if let Some(open) = self.state.open_mut() {
            open.use_partition(partition);
        }
    }

    /// A Produce request was handed out.
    pub(crate) const fn write_attempted(&mut self) {
        if let Some(open) = self.state.open_mut() {
            open.write_attempted();
        }
    }

    /// A batch was given up.
    pub(crate) fn batch_failed(&mut self, now: Instant, failure: Failure) {
        match (&self.settings.transactional, failure.stamped) {
            (Some(_), stamped) => {
                if is_ended_by_another(&failure.error) {
                    self.give_way(now);
                }
                if let (Some(open), Some(_)) = (self.state.open_mut(), stamped) {
                    open.forbid_reuse();
                }
                let until = now + self.commit_patience();
                self.change(|state| state.abortable(failure.error, until));
            }
            (None, Some(lost)) => self.change(|state| state.bump_epoch(lost)),
            (None, None) => {}
        }
    }

    /// The producer cannot go on.
    pub(crate) fn fail(&mut self, error: &Error) {
        let verdict = match &self.state {
            State::CommittingTransaction(
                _,
                Commit::Asked {
                    earlier: end_txn::EarlierAttempts::Indefinite,
                    ..
                },
            ) => Verdict::Unknown(error.clone()),
            State::Uninitialized(_)
            | State::Initializing(_)
            | State::Ready(_)
            | State::InTransaction(_)
            | State::CommittingTransaction(..)
            | State::AbortingTransaction(..)
            | State::AbortableError(..)
            | State::FatalError(_)
                if error.kind() == ErrorKind::Fenced =>
            {
                Verdict::Fenced(error.clone())
            }
            State::Uninitialized(_)
            | State::Initializing(_)
            | State::Ready(_)
            | State::InTransaction(_)
            | State::CommittingTransaction(..)
            | State::AbortingTransaction(..)
            | State::AbortableError(..)
            | State::FatalError(_) => Verdict::Fatal(error.clone()),
        };
        self.decide(verdict);
        self.change(|state| state.fatal(error.clone()));
    }

    /// Time has passed.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if let State::AbortingTransaction(_, abort) = &self.state
            && let AbortCause::CommitFailed(error, until) = &abort.cause
            && *until <= now
        {
            let verdict = Verdict::Aborted(error.clone());
            self.decide(verdict);
            self.change(State::verdict_given);
        }
    }

    /// The first instant after `now` at which something is to be done.
    pub(crate) fn next_wake(&self, now: Instant) -> Option<Instant> {
        let (owed, gives_way) = match &self.state {
            State::AbortingTransaction(open, abort) => {
                let owed = match abort.cause {
                    AbortCause::CommitFailed(_, until) => Some(until),
                    AbortCause::Requested | AbortCause::Settling => None,
                };
                (owed, open.gives_way_until())
            }
            State::Uninitialized(_)
            | State::Initializing(_)
            | State::Ready(_)
            | State::InTransaction(_)
            | State::CommittingTransaction(..)
            | State::AbortableError(..)
            | State::FatalError(_) => (None, None),
        };
        [self.rpc.paused_until(), owed, gives_way]
            .into_iter()
            .flatten()
            .filter(|at| *at > now)
            .min()
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
            | State::AbortableError(..) => Some(Ok(())),
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
            | State::CommittingTransaction(..) => None,
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

    /// Lets a newer producer go first, if there is one. A V1 producer cannot go on anyway.
    fn give_way(&mut self, now: Instant) {
        if let Some(open) = self.state.open_mut()
            && open.version() == TransactionVersion::V2
        {
            open.give_way(now + GIVE_WAY);
        }
    }

    fn commit_patience(&self) -> Duration {
        self.settings.max_block.max(self.settings.request_timeout)
    }

    fn decide(&mut self, verdict: Verdict) {
        if let Some(open) = self.state.open() {
            let serial = open.serial();
            // A verdict is final: what a later answer adds to it is only order.
            if self.verdict.as_ref().is_none_or(|(of, _)| *of != serial) {
                self.verdict = Some((serial, verdict));
            }
        }
    }

    fn change(&mut self, next: impl FnOnce(State) -> State) {
        self.step(|state| (next(state), ()));
    }

    fn step<R>(&mut self, next: impl FnOnce(State) -> (State, R)) -> R {
        let vacant = State::Initializing(ProducerIdAndEpoch::NONE);
        let (state, result) = next(std::mem::replace(&mut self.state, vacant));
        self.state = state;
        result
    }
}

/// Whether a write was refused because its transaction is no longer open.
fn is_ended_by_another(error: &Error) -> bool {
    matches!(
        error.code(),
        Some(ErrorCode::INVALID_PRODUCER_EPOCH | ErrorCode::INVALID_TXN_STATE)
    )
}
