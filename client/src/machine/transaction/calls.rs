//! The transactional requests, one at a time. In: the state, the proof that batches are resolved, answers to be passed on. Out: the
//! next request, pauses, directives about the coordinator.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{ProducerEpoch, ProducerId, ProducerIdAndEpoch, TopicPartition};
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;

use super::answers::abort_reason;
use super::end_txn::{self, Intent};
use super::state::{Commit, NextProducer, State};
use super::{RetryKind, TransactionManager, TransactionVersion, Verdict, add_partitions, init_producer_id};
use crate::error::{Error, ErrorKind};
use crate::machine::accumulator::AllResolved;
use crate::machine::retry::Backoff;
use crate::machine::{CoordinatorKind, Destination, Directive, Lane, Outbound, RequestFailure, RequestId};

/// How often it is asked again at once when another operation on the same transactional id is about to end: a round trip is pause enough
/// for the markers of the transaction before, and the timer's first step of a millisecond would be most of a small transaction's time.
const AT_ONCE: u32 = 4;

/// The pause after that, while another operation on the same transactional id ends (KAFKA-5477). Mostly these are the markers of the
/// transaction before, which take a few milliseconds: each longer pause would be part of every small transaction's latency.
const CONCURRENT: Backoff = Backoff {
    initial: Duration::from_millis(1),
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
        let (call, body) = self.next_call(now, proof)?;
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

    fn next_call(&self, now: Instant, proof: Option<AllResolved>) -> Option<(Call, RequestBody)> {
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
            (State::AbortingTransaction(open, _), _) if open.gives_way_until().is_some_and(|at| at > now) => {
                None
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

    fn pause(&mut self, now: Instant, kind: RetryKind, failures: u32, directives: &mut VecDeque<Directive>) {
        let delay = match kind {
            RetryKind::Concurrent if failures <= AT_ONCE => Duration::ZERO,
            RetryKind::Concurrent => CONCURRENT.delay(failures - AT_ONCE, &mut self.rng),
            RetryKind::Backoff | RetryKind::LookUp => self.settings.backoff.delay(failures, &mut self.rng),
        };
        if let (RetryKind::LookUp, Some(id)) = (kind, self.transactional_id()) {
            directives.push_back(Directive::ForgetCoordinator(
                CoordinatorKind::Transaction,
                Arc::clone(id),
            ));
        }
        self.rpc = Rpc::Idle {
            failures,
            until: Some(now + delay),
        };
    }

    fn destination(&self) -> Destination {
        match self.transactional_id() {
            Some(id) => Destination::Coordinator(CoordinatorKind::Transaction, Arc::clone(id)),
            None => Destination::Any,
        }
    }
}
