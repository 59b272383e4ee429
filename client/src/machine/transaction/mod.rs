//! The transactional state of a producer: what may be done when, and what each answer means.
//!
//! In: the application's calls, failures of batches, answers of the coordinators, time. Out: transactional requests, one at a time;
//! whose id and epoch batches get; the verdict about each transaction. A producer without transactional id uses the part of it that
//! gets and bumps a producer id. Java's name is the same.

mod add_offsets;
mod add_partitions;
mod answers;
mod calls;
pub(crate) mod describe_transactions;
mod end_txn;
mod ending;
mod explain;
mod init_producer_id;
mod last_commit;
pub(crate) mod max_timeout;
mod offsets;
mod open;
mod phase;
mod questions;
mod rpc;
mod state;
#[cfg(test)]
mod tests;
mod timing;
mod txn_offset_commit;
pub(crate) mod version;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{ProducerIdAndEpoch, TopicPartition};
use sealwax_protocol::version::{FinalizedFeatures, VersionRange};

use self::last_commit::LastCommit;
pub(crate) use self::last_commit::Resolution;
use self::offsets::SentOffsets;
use self::open::EpochReuse;
use self::phase::{AbortCause, Commit, EndedBefore, Inquiry};
use self::rpc::Rpc;
use self::state::State;
pub(crate) use self::version::TransactionVersion;
use crate::config::EpochBump;
use crate::error::{Error, ErrorKind};
use crate::machine::accumulator::Failure;
use crate::machine::retry::Backoff;
use crate::offsets::{ConsumerGroupMetadata, OffsetAndMetadata};

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
    /// When a V1 transaction gets an epoch of its own.
    pub(crate) epoch_bump: EpochBump,
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
    last_commit: LastCommit,
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
            last_commit: LastCommit::None,
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
        let reuse = match self.settings.epoch_bump {
            EpochBump::WhenNeeded => EpochReuse::Allowed,
            EpochBump::EveryTransaction => EpochReuse::OncePerTransaction,
        };
        match self.step(|state| state.begin(serial, version, reuse)) {
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
        self.step(|state| state.commit(until))?;
        if let Some(open) = self.state.open() {
            self.last_commit = LastCommit::Pending(open.serial());
        }
        Ok(())
    }

    /// Makes offsets of a consumer group part of the transaction. The number names them in [`TransactionManager::offsets_accepted`].
    ///
    /// # Errors
    /// If the transaction is not open.
    pub(crate) fn send_offsets(
        &mut self,
        now: Instant,
        offsets: BTreeMap<TopicPartition, OffsetAndMetadata>,
        group: ConsumerGroupMetadata,
    ) -> Result<u64, Error> {
        self.may_append()?;
        let until = now + self.commit_patience();
        let Some(open) = self.state.open_mut() else {
            return Err(Error::new(ErrorKind::InvalidState, "no transaction is open"));
        };
        Ok(open.offsets_mut().push(SentOffsets {
            group,
            offsets,
            until,
        }))
    }

    /// Asks the coordinator what became of the last commit, if that is unknown.
    pub(crate) fn resolve(&mut self, now: Instant) {
        if let State::OutcomeUnknown(_, Inquiry::NotAsked) = &self.state {
            let until = now + self.commit_patience();
            self.change(|state| state.inquire(Inquiry::Asked(until)));
        }
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
            | State::OutcomeUnknown(..)
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

    /// Puts an end to whatever is open and not about to end, also to a transaction whose outcome nobody wants to know.
    pub(crate) fn wind_up(&mut self) {
        self.abandon_all();
        if let State::OutcomeUnknown(..) = &self.state {
            self.change(|state| state.settle(AbortCause::Settling, EndedBefore::Maybe));
        }
    }

    /// A batch was opened for this partition.
    pub(crate) fn use_partition(&mut self, partition: TopicPartition) {
        if let Some(open) = self.state.open_mut() {
            open.use_partition(partition);
        }
    }

    /// A Produce request was handed out, or another that the coordinator learns of by itself.
    pub(crate) const fn write_attempted(&mut self, now: Instant) {
        if let Some(open) = self.state.open_mut() {
            open.write_attempted();
            open.start_clock(now);
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
                let error = self.with_age(now, &failure.error);
                self.abortable(now, &error);
            }
            (None, Some(lost)) => self.change(|state| state.bump_epoch(lost)),
            (None, None) => {}
        }
    }

    /// A record of the open transaction could not be taken. The same error as one of the transaction.
    pub(crate) fn not_taken(&mut self, now: Instant, error: &Error) -> Error {
        match &self.state {
            State::InTransaction(_) => {
                self.abortable(now, error);
                error.of_transaction()
            }
            State::Uninitialized(_)
            | State::Initializing(_)
            | State::Ready(_)
            | State::CommittingTransaction(..)
            | State::AbortingTransaction(..)
            | State::AbortableError(..)
            | State::OutcomeUnknown(..)
            | State::FatalError(_) => error.clone(),
        }
    }

    /// The producer cannot go on.
    pub(crate) fn fail(&mut self, error: &Error) {
        let error = &error.of_producer();
        let verdict = match &self.state {
            State::CommittingTransaction(..) if self.rpc.carries_commit() => {
                Verdict::Unknown(explain::beyond_asking(error))
            }
            State::CommittingTransaction(
                _,
                Commit::Asked {
                    earlier: end_txn::EarlierAttempts::Indefinite,
                    ..
                },
            ) => Verdict::Unknown(explain::beyond_asking(error)),
            State::Uninitialized(_)
            | State::Initializing(_)
            | State::Ready(_)
            | State::InTransaction(_)
            | State::CommittingTransaction(..)
            | State::AbortingTransaction(..)
            | State::AbortableError(..)
            | State::OutcomeUnknown(..)
            | State::FatalError(_) => match error.kind() {
                ErrorKind::Fenced => Verdict::Fenced(error.clone()),
                _ => Verdict::Fatal(error.clone()),
            },
        };
        self.decide(verdict);
        self.change(|state| state.fatal(error.clone()));
    }

    /// Lets a newer producer go first, if there is one. A V1 producer cannot go on anyway; and of a transaction that has outlived its
    /// timeout it is known who has ended it.
    fn give_way(&mut self, now: Instant) {
        if self.overdue(now).is_none()
            && let Some(open) = self.state.open_mut()
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
            self.last_commit.decide(serial, &verdict);
            // A verdict is final: what a later answer adds to it is only order.
            if self.verdict.as_ref().is_none_or(|(of, _)| *of != serial) {
                self.verdict = Some((serial, verdict));
            }
        }
    }

    /// Something was learnt about the commit of the transaction that is open still.
    fn learn(&mut self, resolution: Resolution) {
        if let Some(open) = self.state.open() {
            self.last_commit.learn(open.serial(), resolution);
        }
    }

    /// The answer to an abort tells what became of the commit before it; but not if a late AddPartitionsToTxn may have opened the epoch
    /// again after the end (V1): then it may be about no more than that.
    fn learn_by_abort(&mut self, resolution: Resolution) {
        let reopened = self
            .state
            .open()
            .is_some_and(open::OpenTransaction::adding_may_arrive);
        if !reopened {
            self.learn(resolution);
        }
    }

    fn abortable(&mut self, now: Instant, error: &Error) {
        let until = now + self.commit_patience();
        let error = error.of_transaction();
        self.change(|state| state.abortable(error, until));
    }

    /// The error, and that the transaction has outlived its timeout, if so.
    fn with_age(&self, now: Instant, error: &Error) -> Error {
        match self.overdue(now) {
            Some(overdue) => error.in_context(|text| format!("{text}; {overdue}")),
            None => error.clone(),
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
