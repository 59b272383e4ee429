//! The transactional requests, one at a time, and the way from their answers to the state. In: the state, answers, failures. Out: the
//! next request, directives about the coordinator.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{ProducerEpoch, ProducerId, ProducerIdAndEpoch, TopicPartition};
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;

use super::end_txn::{self, Intent};
use super::state::{AbortCause, Commit, EndedBefore, NextProducer, State};
use super::{RetryKind, TransactionManager, TransactionVersion, Verdict, add_partitions, init_producer_id};
use crate::error::{Error, ErrorKind};
use crate::machine::accumulator::AllResolved;
use crate::machine::retry::Backoff;
use crate::machine::{CoordinatorKind, Destination, Directive, Lane, Outbound, RequestFailure, RequestId};

/// The pause while another operation on the same transactional id ends (KAFKA-5477).
const CONCURRENT: Backoff = Backoff {
    initial: Duration::from_millis(20),
    max: Duration::from_millis(100),
};

/// The one transactional request.
#[derive(Debug)]
pub(crate) enum Rpc {
    /// None is out; after failures none goes before `until`.
    Idle { failures: u32, until: Option<Instant> },
    /// This one is out.
    InFlight { call: Call, failures: u32 },
}

/// What was asked.
#[derive(Debug, Clone)]
pub(crate) enum Call {
    InitProducerId,
    AddPartitions(BTreeSet<TopicPartition>),
    EndTxn(Intent, TransactionVersion),
}

impl Rpc {
    /// Nothing is out.
    pub(crate) const fn idle() -> Self {
        Self::Idle {
            failures: 0,
            until: None,
        }
    }

    /// Until when nothing may go.
    pub(crate) const fn paused_until(&self) -> Option<Instant> {
        match self {
            Self::Idle { until, .. } => *until,
            Self::InFlight { .. } => None,
        }
    }
}

impl TransactionManager {
    /// The next transactional request, if one is due. `proof` tells that every batch has its result.
    pub(crate) fn poll_request(
        &mut self,
        now: Instant,
        id: RequestId,
        proof: Option<AllResolved>,
    ) -> Option<Outbound> {
        let failures = match self.rpc {
            Rpc::InFlight { .. } => return None,
            Rpc::Idle { until: Some(at), .. } if at > now => return None,
            Rpc::Idle { failures, .. } => failures,
        };
        if proof.is_some() {
            self.end_what_never_started();
        }
        let mut deadline = now + self.settings.request_timeout;
        let (call, body) = self.next_call(proof)?;
        if let Call::EndTxn(Intent::Commit(_), _) = call {
            let patience = self.commit_patience();
            self.change(|state| state.commit_asked(now + patience));
            if let State::CommittingTransaction(_, Commit::Asked { deadline: last, .. }) = &self.state {
                deadline = deadline.min(*last);
            }
        }
        let versions = match call {
            Call::EndTxn(_, version) => version.end_txn(),
            Call::InitProducerId | Call::AddPartitions(_) => body.versions(),
        };
        self.rpc = Rpc::InFlight { call, failures };
        Some(Outbound {
            id,
            to: self.destination(),
            lane: Lane::Coordinator,
            body,
            versions,
            deadline,
        })
    }

    /// The answer to the request that is out.
    pub(crate) fn handle_response(
        &mut self,
        now: Instant,
        result: Result<ResponseBody, RequestFailure>,
        directives: &mut VecDeque<Directive>,
    ) {
        let Rpc::InFlight { call, failures } = std::mem::replace(&mut self.rpc, Rpc::idle()) else {
            return;
        };
        let retry = match (call, result) {
            (Call::InitProducerId, Ok(ResponseBody::InitProducerId(response))) => {
                let told = ProducerIdAndEpoch {
                    id: ProducerId(response.producer_id.0),
                    epoch: ProducerEpoch(response.producer_epoch),
                };
                self.init_answered(ErrorCode(response.error_code), told)
            }
            (Call::AddPartitions(asked), Ok(ResponseBody::AddPartitionsToTxn(response))) => {
                self.add_answered(now, add_partitions::read(&response, &asked))
            }
            (Call::EndTxn(intent, version), Ok(ResponseBody::EndTxn(response))) => {
                let told = ProducerIdAndEpoch {
                    id: ProducerId(response.producer_id.0),
                    epoch: ProducerEpoch(response.producer_epoch),
                };
                self.end_answered(now, ErrorCode(response.error_code), intent, version, told)
            }
            (call, Err(failure)) => self.unanswered(now, &call, &failure),
            (call, Ok(other)) => {
                let message = format!("the coordinator answered with {:?}", other.api_key());
                let error = Error::new(ErrorKind::Corrupt, message);
                self.unanswered(now, &call, &RequestFailure::Unanswered(error))
            }
        };
        if let Some(kind) = retry {
            self.pause(now, kind, failures + 1, directives);
        }
    }

    /// A transaction that the coordinator knows nothing of needs no EndTxn.
    fn end_what_never_started(&mut self) {
        let verdict = match &self.state {
            State::CommittingTransaction(open, Commit::Delivering) if open.basis().is_none() => {
                Verdict::Committed
            }
            State::AbortingTransaction(open, abort) if abort.basis(open).is_none() => {
                Verdict::Aborted(abort_reason(&abort.cause))
            }
            State::CommittingTransaction(..)
            | State::AbortingTransaction(..)
            | State::Uninitialized(_)
            | State::Initializing(_)
            | State::Ready(_)
            | State::InTransaction(_)
            | State::AbortableError(..)
            | State::FatalError(_) => return,
        };
        self.end(verdict, NextProducer::Same);
    }

    fn next_call(&self, proof: Option<AllResolved>) -> Option<(Call, RequestBody)> {
        match (&self.state, &self.settings.transactional) {
            (State::Initializing(claim), transactional) => {
                let (id, timeout) = match transactional {
                    Some((id, timeout)) => (Some(id), *timeout),
                    None => (None, Duration::ZERO),
                };
                let body = init_producer_id::request(id, timeout, *claim);
                Some((Call::InitProducerId, body))
            }
            (
                State::InTransaction(open) | State::CommittingTransaction(open, Commit::Delivering),
                Some((id, _)),
            ) if open.pending().is_some() => {
                let pending = open.pending()?;
                let body = add_partitions::request(id, open.producer(), pending);
                Some((Call::AddPartitions(pending.clone()), body))
            }
            (State::CommittingTransaction(open, commit), Some((id, _))) => {
                let earlier = match commit {
                    Commit::Delivering => end_txn::EarlierAttempts::Answered,
                    Commit::Asked { earlier, .. } => *earlier,
                };
                let intent = Intent::Commit(earlier);
                let body = end_txn::request(id, open.producer(), intent, proof?);
                Some((Call::EndTxn(intent, open.version()), body))
            }
            (State::AbortingTransaction(open, abort), Some((id, _))) => {
                let intent = Intent::Abort(abort.basis(open)?);
                let body = end_txn::request(id, open.producer(), intent, proof?);
                Some((Call::EndTxn(intent, open.version()), body))
            }
            (
                State::Uninitialized(_)
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

    fn init_answered(&mut self, code: ErrorCode, told: ProducerIdAndEpoch) -> Option<RetryKind> {
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

    fn add_answered(&mut self, now: Instant, answer: add_partitions::Answer) -> Option<RetryKind> {
        use add_partitions::Outcome;
        if let Some(open) = self.state.open_mut() {
            open.partitions_added(answer.added);
        }
        let (outcome, code, partition) = answer.worst?;
        if code == ErrorCode::REQUEST_TIMED_OUT
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

    fn end_answered(
        &mut self,
        now: Instant,
        code: ErrorCode,
        intent: Intent,
        version: TransactionVersion,
        told: ProducerIdAndEpoch,
    ) -> Option<RetryKind> {
        use end_txn::Outcome;
        if code == ErrorCode::REQUEST_TIMED_OUT {
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
    fn unanswered(&mut self, now: Instant, call: &Call, failure: &RequestFailure) -> Option<RetryKind> {
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

    fn pause(&mut self, now: Instant, kind: RetryKind, failures: u32, directives: &mut VecDeque<Directive>) {
        let backoff = match kind {
            RetryKind::Concurrent => CONCURRENT,
            RetryKind::Backoff | RetryKind::LookUp => self.settings.backoff,
        };
        if let (RetryKind::LookUp, Some(id)) = (kind, self.transactional_id()) {
            directives.push_back(Directive::ForgetCoordinator(
                CoordinatorKind::Transaction,
                Arc::clone(id),
            ));
        }
        self.rpc = Rpc::Idle {
            failures,
            until: Some(now + backoff.delay(failures, &mut self.rng)),
        };
    }

    fn abortable(&mut self, now: Instant, error: Error) {
        let until = now + self.commit_patience();
        self.change(|state| state.abortable(error, until));
    }

    fn settle(&mut self, verdict: Verdict, ended: EndedBefore) {
        self.decide(verdict);
        self.change(|state| state.settle(AbortCause::Settling, ended));
    }

    fn end(&mut self, verdict: Verdict, next: NextProducer) {
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

    fn destination(&self) -> Destination {
        match self.transactional_id() {
            Some(id) => Destination::Coordinator(CoordinatorKind::Transaction, Arc::clone(id)),
            None => Destination::Any,
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
             it was probably open for longer than transaction.timeout.ms"
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

fn abort_reason(cause: &AbortCause) -> Error {
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
