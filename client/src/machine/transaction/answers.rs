//! What an answer of the coordinator, or its absence, does to the state and the verdict. In: the answer, what was asked. Out: the next
//! state; how to ask again, if that is what it means.

use std::time::Instant;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::ProducerIdAndEpoch;

use super::calls::Call;
use super::end_txn::{self, Intent};
use super::state::{AbortCause, Commit, EndedBefore, NextProducer, State};
use super::{RetryKind, TransactionManager, TransactionVersion, Verdict, add_partitions, init_producer_id};
use crate::error::{Error, ErrorKind};
use crate::machine::RequestFailure;

impl TransactionManager {
    pub(super) fn init_answered(&mut self, code: ErrorCode, told: ProducerIdAndEpoch) -> Option<RetryKind> {
        use init_producer_id::Outcome;
        match init_producer_id::classify(code) {
            Outcome::Initialized => self.change(|state| state.initialized(told)),
            Outcome::Retry(kind) => return Some(kind),
            Outcome::Fenced => self.fail(&self.fenced(code)),
            Outcome::Refused => {
                let error = match code {
                    ErrorCode::TRANSACTION_ABORTABLE => self.refusal(ErrorKind::Broker, code),
                    _ => self.refusal(ErrorKind::Authorization, code),
                };
                self.change(|state| state.refused(error));
            }
            Outcome::TimeoutTooLong => {
                let timeout = self
                    .settings
                    .transactional
                    .as_ref()
                    .map_or(0, |(_, t)| t.as_millis());
                let message = format!(
                    "transaction.timeout.ms = {timeout} is not allowed; the broker's maximum is transaction.max.timeout.ms"
                );
                self.fail(&Error::broker(ErrorKind::Config, code, message));
            }
            Outcome::Fatal => self.fail(&self.refusal(ErrorKind::Broker, code)),
        }
        None
    }

    pub(super) fn add_answered(&mut self, now: Instant, answer: add_partitions::Answer) -> Option<RetryKind> {
        use add_partitions::Outcome;
        if let Some(open) = self.state.open_mut() {
            open.partitions_added(answer.added);
        }
        let (outcome, code, partition) = answer.worst?;
        if leaves_doubt(code)
            && let Some(open) = self.state.open_mut()
        {
            open.adding_in_doubt();
        }
        let abortable = |kind| {
            let message =
                format!("{partition} could not be added to the transaction, which can only be aborted");
            Error::broker(kind, code, message)
        };
        match outcome {
            Outcome::Added => None,
            Outcome::Retry(kind) => Some(kind),
            Outcome::NotAttempted | Outcome::Abortable => {
                self.abortable(now, abortable(ErrorKind::TransactionAbortable));
                None
            }
            Outcome::AbortableWithBump => {
                if let Some(open) = self.state.open_mut() {
                    open.forbid_reuse();
                }
                self.abortable(now, abortable(ErrorKind::TransactionAbortable));
                None
            }
            Outcome::Fenced => {
                self.fail(&self.fenced(code));
                None
            }
            Outcome::Fatal => {
                self.fail(&self.refusal(fatal_kind(code), code));
                None
            }
        }
    }

    pub(super) fn end_answered(
        &mut self,
        now: Instant,
        code: ErrorCode,
        intent: Intent,
        version: TransactionVersion,
        told: ProducerIdAndEpoch,
    ) -> Option<RetryKind> {
        use end_txn::Outcome;
        if leaves_doubt(code) {
            self.change(State::ending_in_doubt);
        }
        match end_txn::classify(code, intent, version) {
            Outcome::Ended => self.confirmed(version, told),
            Outcome::Retry(kind) => return self.repeat_unless_late(now, kind),
            Outcome::NothingOpen => {
                let verdict = self.abort_verdict();
                self.end(verdict, NextProducer::ToBeAsked);
            }
            Outcome::AbortedByAnother => {
                let verdict = Verdict::Aborted(self.aborted_elsewhere(code));
                self.end(verdict, NextProducer::ToBeAsked);
            }
            Outcome::AbortedAlready => {
                let verdict = Verdict::Aborted(self.aborted_elsewhere(code));
                self.give_way(now);
                self.settle(verdict, EndedBefore::Maybe);
            }
            Outcome::Abortable | Outcome::AbortableWithBump => {
                let error = self.refusal(ErrorKind::TransactionAborted, code);
                let cause = AbortCause::CommitFailed(error, now + self.commit_patience());
                self.change(|state| state.settle(cause, EndedBefore::No));
            }
            Outcome::Unknown => {
                let verdict = Verdict::Unknown(self.refusal(ErrorKind::OutcomeUnknown, code));
                self.settle(verdict, EndedBefore::Maybe);
            }
            Outcome::Fenced => self.fail(&self.fenced(code)),
            Outcome::FencedUnknown => {
                self.decide(Verdict::Unknown(self.refusal(ErrorKind::OutcomeUnknown, code)));
                self.fail(&self.fenced(code));
            }
            Outcome::FatalUnknown => {
                self.decide(Verdict::Unknown(self.refusal(ErrorKind::OutcomeUnknown, code)));
                self.fail(&self.refusal(fatal_kind(code), code));
            }
            Outcome::Fatal => self.fail(&self.refusal(fatal_kind(code), code)),
        }
        None
    }

    fn confirmed(&mut self, version: TransactionVersion, told: ProducerIdAndEpoch) {
        let next = match version {
            TransactionVersion::V1 => NextProducer::Same,
            TransactionVersion::V2 if told.id.0 < 0 || told.epoch.0 < 0 => NextProducer::ToBeAsked,
            TransactionVersion::V2 => NextProducer::Told(told),
        };
        let verdict = match &self.state {
            State::CommittingTransaction(..) => Verdict::Committed,
            State::AbortingTransaction(..)
            | State::Uninitialized(_)
            | State::Initializing(_)
            | State::Ready(_)
            | State::InTransaction(_)
            | State::AbortableError(..)
            | State::FatalError(_) => self.abort_verdict(),
        };
        self.end(verdict, next);
    }

    /// No answer. What may have arrived is remembered; the rest is as if nothing had been asked.
    pub(super) fn unanswered(
        &mut self,
        now: Instant,
        call: &Call,
        failure: &RequestFailure,
    ) -> Option<RetryKind> {
        if let RequestFailure::Unanswered(_) = failure {
            match call {
                Call::InitProducerId => {}
                Call::AddPartitions(_) => {
                    if let Some(open) = self.state.open_mut() {
                        open.adding_in_doubt();
                        open.forbid_reuse();
                    }
                }
                Call::EndTxn(..) => self.change(State::ending_in_doubt),
            }
        }
        let error = failure.error();
        match (error.kind(), call) {
            (ErrorKind::Authorization, Call::InitProducerId) => {
                self.change(|state| state.refused(error.clone()));
                None
            }
            (ErrorKind::UnsupportedVersion, Call::InitProducerId | Call::AddPartitions(_))
            | (ErrorKind::Authorization | ErrorKind::Closed, _) => {
                self.fail(error);
                None
            }
            (_, Call::InitProducerId | Call::AddPartitions(_)) => Some(RetryKind::LookUp),
            (_, Call::EndTxn(..)) => self.repeat_unless_late(now, RetryKind::LookUp),
        }
    }

    /// A commit is asked for again until its deadline. If none can have arrived the transaction can only end as aborted.
    fn repeat_unless_late(&mut self, now: Instant, kind: RetryKind) -> Option<RetryKind> {
        let State::CommittingTransaction(_, Commit::Asked { earlier, deadline }) = &self.state else {
            return Some(kind);
        };
        if now < *deadline {
            return Some(kind);
        }
        let id = self.transactional_id().map_or("", |id| id);
        let waited = self.commit_patience().as_millis();
        match earlier {
            end_txn::EarlierAttempts::Answered => {
                let message = format!(
                    "the coordinator of transactional id {id} did not take the commit within {waited} ms; nothing is committed"
                );
                let error = Error::new(ErrorKind::TransactionAborted, message);
                self.settle(Verdict::Aborted(error), EndedBefore::No);
            }
            end_txn::EarlierAttempts::Indefinite => {
                let message = format!(
                    "the coordinator of transactional id {id} did not confirm the commit within {waited} ms; the transaction \
                     is committed or aborted as a whole, read with read_committed to find out"
                );
                let error = Error::new(ErrorKind::OutcomeUnknown, message);
                self.settle(Verdict::Unknown(error), EndedBefore::Maybe);
            }
        }
        None
    }

    fn abortable(&mut self, now: Instant, error: Error) {
        let until = now + self.commit_patience();
        self.change(|state| state.abortable(error, until));
    }

    fn settle(&mut self, verdict: Verdict, ended: EndedBefore) {
        self.decide(verdict);
        self.change(|state| state.settle(AbortCause::Settling, ended));
    }

    pub(super) fn end(&mut self, verdict: Verdict, next: NextProducer) {
        self.decide(verdict);
        self.change(|state| state.ended(next));
    }

    fn abort_verdict(&self) -> Verdict {
        match &self.state {
            State::AbortingTransaction(_, abort) => Verdict::Aborted(abort_reason(&abort.cause)),
            State::CommittingTransaction(..)
            | State::Uninitialized(_)
            | State::Initializing(_)
            | State::Ready(_)
            | State::InTransaction(_)
            | State::AbortableError(..)
            | State::FatalError(_) => Verdict::Aborted(abort_reason(&AbortCause::Requested)),
        }
    }

    fn fenced(&self, code: ErrorCode) -> Error {
        let id = self.transactional_id().map_or("", |id| id);
        let message = format!(
            "another producer with transactional id {id} has taken over, or the transaction timed out on the broker; \
             this producer must stop"
        );
        Error::broker(ErrorKind::Fenced, code, message)
    }

    fn aborted_elsewhere(&self, code: ErrorCode) -> Error {
        let id = self.transactional_id().map_or("", |id| id);
        let message = format!(
            "the commit was refused because the transaction of transactional id {id} is no longer open; \
             it was open for longer than transaction.timeout.ms, or another producer is taking over"
        );
        Error::broker(ErrorKind::TransactionAborted, code, message)
    }

    fn refusal(&self, kind: ErrorKind, code: ErrorCode) -> Error {
        let message = match self.transactional_id() {
            Some(id) => format!("the coordinator of transactional id {id} refused the request"),
            None => "the broker gave no producer id".to_owned(),
        };
        Error::broker(kind, code, message)
    }
}

/// Whether a request that was answered with this code may have taken effect all the same: a coordinator whose write to its log was
/// not acknowledged in time, or which moved meanwhile, says that it is not available, no coordinator, or loading; but the
/// write may stand in the log, and then the next coordinator carries it out.
const fn leaves_doubt(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::REQUEST_TIMED_OUT
            | ErrorCode::COORDINATOR_NOT_AVAILABLE
            | ErrorCode::NOT_COORDINATOR
            | ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
    )
}

/// What an aborted transaction's caller is told.
pub(super) fn abort_reason(cause: &AbortCause) -> Error {
    match cause {
        AbortCause::CommitFailed(error, _) => error.clone(),
        AbortCause::Requested | AbortCause::Settling => {
            Error::new(ErrorKind::TransactionAborted, "the transaction was aborted")
        }
    }
}

const fn fatal_kind(code: ErrorCode) -> ErrorKind {
    match code {
        ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        | ErrorCode::CLUSTER_AUTHORIZATION_FAILED
        | ErrorCode::TOPIC_AUTHORIZATION_FAILED => ErrorKind::Authorization,
        ErrorCode::UNSUPPORTED_VERSION | ErrorCode::UNSUPPORTED_FOR_MESSAGE_FORMAT => {
            ErrorKind::UnsupportedVersion
        }
        _ => ErrorKind::Broker,
    }
}
