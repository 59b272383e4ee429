//! What an answer to EndTxn, or its absence, does to the state and the verdict. In: the answer, what was asked. Out: the next state and
//! the verdict; how to ask again, if that is what it means.
//!
//! An abort that follows an unknown commit tells by the way what became of it. Our transaction was registered at the epoch e that the
//! abort carries. V1: the coordinator stays at e; it answers OK if the transaction is open or aborted, and INVALID_TXN_STATE if it
//! is committed (PrepareCommit, CompleteCommit); but if an AddPartitionsToTxn had no answer, it may have opened the epoch again after the
//! commit or the abort, and no answer tells anything. V2: either end has moved it to e + 1, where it takes the abort for a repeat: OK in
//! CompleteAbort, INVALID_TXN_STATE in PrepareCommit and CompleteCommit. Whoever took the transactional id over has ended the
//! transaction first and is at e + 2 (V2) or at another epoch than e (V1), which is PRODUCER_FENCED and tells nothing.

use std::time::Instant;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::ProducerIdAndEpoch;

use super::describe_transactions::{Description, Fenced, why_fenced};
use super::end_txn::{self, EarlierAttempts, Intent, leaves_doubt};
use super::explain::{HOW_TO_FIND_OUT, beyond_asking, fatal_kind};
use super::last_commit::Resolution;
use super::phase::{AbortCause, Commit, EndedBefore, Fencing, NextProducer};
use super::state::State;
use super::{RetryKind, TransactionManager, TransactionVersion, Verdict};
use crate::error::{Error, ErrorKind};

impl TransactionManager {
    pub(super) fn end_answered(
        &mut self,
        now: Instant,
        code: ErrorCode,
        intent: Intent,
        version: TransactionVersion,
        told: ProducerIdAndEpoch,
    ) -> Option<RetryKind> {
        use end_txn::Outcome;
        // The transition that is said to be going on may be the one that was asked for.
        if leaves_doubt(code) || code == ErrorCode::CONCURRENT_TRANSACTIONS {
            self.change(State::ending_in_doubt);
        }
        match end_txn::classify(code, intent, version) {
            Outcome::Ended => self.confirmed(version, told),
            Outcome::Retry(kind) => return self.repeat_unless_late(now, kind),
            Outcome::NothingOpen => {
                if code == ErrorCode::INVALID_TXN_STATE {
                    self.learn_by_abort(Resolution::Committed);
                }
                let verdict = self.abort_verdict();
                self.end(verdict, NextProducer::ToBeAsked);
            }
            Outcome::AbortedByAnother => {
                let verdict = Verdict::Aborted(self.aborted_elsewhere(now, code));
                self.end(verdict, NextProducer::ToBeAsked);
            }
            Outcome::AbortedAlready => {
                let error = self.aborted_elsewhere(now, code);
                self.learn(Resolution::Aborted(error.clone()));
                self.give_way(now);
                self.decide(Verdict::Aborted(error));
                self.settle(AbortCause::Settling, EndedBefore::Maybe);
            }
            Outcome::Abortable | Outcome::AbortableWithBump => {
                let error = self.refusal(ErrorKind::TransactionAborted, code);
                let cause = AbortCause::CommitFailed(error, now + self.commit_patience());
                self.settle(cause, EndedBefore::No);
            }
            Outcome::Unknown => {
                self.learn(Resolution::Unknown(self.unknown(code)));
                self.decide(Verdict::Unknown(self.unknown(code)));
                self.change(State::unknown);
            }
            Outcome::Fenced => match (intent, version, code) {
                (
                    Intent::Abort(_),
                    TransactionVersion::V2,
                    ErrorCode::PRODUCER_FENCED | ErrorCode::INVALID_PRODUCER_EPOCH,
                ) => self.change(|state| state.abort_fenced(Fencing::Said(code))),
                (
                    Intent::Abort(_) | Intent::Commit(_),
                    TransactionVersion::V1 | TransactionVersion::V2,
                    _,
                ) => {
                    self.fail(&self.fenced(now, code));
                }
            },
            Outcome::FencedUnknown => {
                let error = self.fenced(now, code);
                self.decide(Verdict::Unknown(beyond_asking(&error)));
                self.fail(&error);
            }
            Outcome::FatalUnknown => {
                let error = self.refusal(fatal_kind(code), code);
                self.decide(Verdict::Unknown(beyond_asking(&error)));
                self.fail(&error);
            }
            Outcome::Fatal => self.fail(&self.refusal(fatal_kind(code), code)),
        }
        None
    }

    /// An abort was refused as fenced with `code`, and the coordinator was asked what it is doing.
    pub(super) fn fencing_described(
        &mut self,
        now: Instant,
        code: ErrorCode,
        told: Option<&Description>,
        producer: ProducerIdAndEpoch,
    ) -> Option<RetryKind> {
        match told.map_or(Fenced::ByAnother, |told| why_fenced(told, producer)) {
            Fenced::NotYet => {
                self.change(|state| state.abort_fenced(Fencing::NotSaid));
                Some(RetryKind::Concurrent)
            }
            Fenced::Retry(kind) => Some(kind),
            Fenced::ByAnother => {
                self.fail(&self.fenced(now, code));
                None
            }
        }
    }

    fn confirmed(&mut self, version: TransactionVersion, told: ProducerIdAndEpoch) {
        let next = match version {
            TransactionVersion::V1 => NextProducer::Same,
            TransactionVersion::V2 if told.id.0 < 0 || told.epoch.0 < 0 => NextProducer::ToBeAsked,
            TransactionVersion::V2 => NextProducer::Told(told),
        };
        match &self.state {
            State::CommittingTransaction(open, _) => {
                let reopens = open.adding_may_arrive();
                self.decide(Verdict::Committed);
                self.learn(Resolution::Committed);
                if reopens {
                    // A late AddPartitionsToTxn would open a transaction in this epoch, and InitProducerId would take that for a
                    // reason to fence the epoch, which is our own. An abort just ahead of it ends what was opened like that; what
                    // arrives between the two is beyond help.
                    self.settle(AbortCause::Settling, EndedBefore::Maybe);
                } else {
                    self.change(|state| state.ended(next));
                }
            }
            State::AbortingTransaction(..)
            | State::Uninitialized(_)
            | State::Initializing(_)
            | State::Ready(_)
            | State::InTransaction(_)
            | State::AbortableError(..)
            | State::OutcomeUnknown(..)
            | State::FatalError(_) => {
                let verdict = self.abort_verdict();
                if let Verdict::Aborted(error) = &verdict {
                    self.learn_by_abort(Resolution::Aborted(error.clone()));
                }
                self.end(verdict, next);
            }
        }
    }

    /// A commit is asked for again until its deadline. If none can have arrived the transaction can only end as aborted.
    pub(super) fn repeat_unless_late(&mut self, now: Instant, kind: RetryKind) -> Option<RetryKind> {
        let State::CommittingTransaction(_, Commit::Asked { earlier, deadline }) = &self.state else {
            return Some(kind);
        };
        if now < *deadline {
            return Some(kind);
        }
        let id = self.id();
        let waited = self.commit_patience().as_millis();
        match earlier {
            EarlierAttempts::Answered => {
                let message = format!(
                    "the coordinator of transactional id {id} did not take the commit within {waited} ms; nothing is committed"
                );
                self.decide(Verdict::Aborted(Error::new(
                    ErrorKind::TransactionAborted,
                    message,
                )));
                self.settle(AbortCause::Settling, EndedBefore::No);
            }
            EarlierAttempts::Indefinite => {
                let message = format!(
                    "the coordinator of transactional id {id} did not confirm the commit within {waited} ms; {HOW_TO_FIND_OUT}"
                );
                let error = Error::new(ErrorKind::OutcomeUnknown, message);
                self.learn(Resolution::Unknown(error.clone()));
                self.decide(Verdict::Unknown(error));
                self.change(State::unknown);
            }
        }
        None
    }

    fn settle(&mut self, cause: AbortCause, ended: EndedBefore) {
        self.change(|state| state.settle(cause, ended));
    }

    pub(super) fn end(&mut self, verdict: Verdict, next: NextProducer) {
        self.decide(verdict);
        self.change(|state| state.ended(next));
    }

    fn abort_verdict(&self) -> Verdict {
        match &self.state {
            State::AbortingTransaction(_, abort) => Verdict::Aborted(abort.cause.reason()),
            State::CommittingTransaction(..)
            | State::Uninitialized(_)
            | State::Initializing(_)
            | State::Ready(_)
            | State::InTransaction(_)
            | State::AbortableError(..)
            | State::OutcomeUnknown(..)
            | State::FatalError(_) => Verdict::Aborted(AbortCause::Requested.reason()),
        }
    }
}
