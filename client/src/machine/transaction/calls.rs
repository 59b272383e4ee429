//! The transactional requests, one at a time. In: the state, the proof that batches are resolved, answers to be passed on. Out: the
//! next request, pauses, directives about the coordinator.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{ProducerEpoch, ProducerId, ProducerIdAndEpoch};
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;

use super::end_txn::{self, Intent};
use super::open::OpenTransaction;
use super::phase::{Commit, Fencing, Inquiry, NextProducer};
use super::rpc::{Call, Rpc};
use super::state::State;
use super::{
    RetryKind, TransactionManager, Verdict, add_offsets, add_partitions, describe_transactions,
    init_producer_id, txn_offset_commit,
};
use crate::error::{Error, ErrorKind};
use crate::machine::accumulator::AllResolved;
use crate::machine::retry::Backoff;
use crate::machine::{Directive, Lane, Outbound, RequestFailure, RequestId};

/// How often it is asked again at once when another operation on the same transactional id is about to end: a round trip is pause enough
/// for the markers of the transaction before, and the timer's first step of a millisecond would be most of a small transaction's time.
const AT_ONCE: u32 = 4;

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
        let (call, body) = self.next_call(now, proof)?;
        let deadline = self.hand_out(now, &call);
        let versions = call.versions(&body);
        let to = call.destination(self.transactional_id());
        self.rpc = Rpc::InFlight { call, failures };
        Some(Outbound {
            id,
            to,
            lane: Lane::Coordinator,
            body,
            versions,
            deadline,
        })
    }

    /// Remembers that a request leaves; until when it may take.
    fn hand_out(&mut self, now: Instant, call: &Call) -> Instant {
        let deadline = now + self.settings.request_timeout;
        match call {
            Call::InitProducerId => deadline,
            Call::AddPartitions(_) | Call::AddOffsets(_) => {
                if let Some(open) = self.state.open_mut() {
                    open.start_clock(now);
                }
                deadline
            }
            Call::TxnOffsetCommit(..) => {
                self.write_attempted(now);
                deadline
            }
            Call::EndTxn(Intent::Commit(_), _) => {
                let patience = self.commit_patience();
                self.change(|state| state.commit_asked(now + patience));
                match &self.state {
                    State::CommittingTransaction(_, Commit::Asked { deadline: last, .. }) => {
                        deadline.min(*last)
                    }
                    State::CommittingTransaction(_, Commit::Delivering)
                    | State::Uninitialized(_)
                    | State::Initializing(_)
                    | State::Ready(_)
                    | State::InTransaction(_)
                    | State::AbortingTransaction(..)
                    | State::AbortableError(..)
                    | State::OutcomeUnknown(..)
                    | State::FatalError(_) => deadline,
                }
            }
            Call::EndTxn(Intent::Abort(_), _) => deadline,
            Call::DescribeTransactions(..) => match &self.state {
                State::OutcomeUnknown(_, Inquiry::Asked(until)) => deadline.min(*until),
                State::OutcomeUnknown(_, Inquiry::NotAsked)
                | State::Uninitialized(_)
                | State::Initializing(_)
                | State::Ready(_)
                | State::InTransaction(_)
                | State::CommittingTransaction(..)
                | State::AbortingTransaction(..)
                | State::AbortableError(..)
                | State::FatalError(_) => deadline,
            },
        }
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
        let asked = call.coordinator(self.transactional_id());
        let retry = match (call, result) {
            (Call::InitProducerId, Ok(ResponseBody::InitProducerId(response))) => {
                let told = told(response.producer_id.0, response.producer_epoch);
                self.init_answered(now, ErrorCode(response.error_code), told)
            }
            (Call::AddPartitions(asked), Ok(ResponseBody::AddPartitionsToTxn(response))) => {
                self.partitions_answered(now, add_partitions::read(&response, &asked))
            }
            (Call::AddOffsets(group), Ok(ResponseBody::AddOffsetsToTxn(response))) => {
                self.group_answered(now, group, ErrorCode(response.error_code))
            }
            (Call::TxnOffsetCommit(sent, version), Ok(ResponseBody::TxnOffsetCommit(response))) => {
                let worst = txn_offset_commit::read(&response, &sent, version);
                self.offsets_answered(now, &sent, worst)
            }
            (Call::EndTxn(intent, version), Ok(ResponseBody::EndTxn(response))) => {
                let told = told(response.producer_id.0, response.producer_epoch);
                self.end_answered(now, ErrorCode(response.error_code), intent, version, told)
            }
            (
                Call::DescribeTransactions(producer, version),
                Ok(ResponseBody::DescribeTransactions(response)),
            ) => {
                let told = describe_transactions::read(&response, self.id());
                self.described(now, told.as_ref(), producer, version)
            }
            (call, Err(failure)) => self.unanswered(now, &call, &failure),
            (call, Ok(other)) => {
                let message = format!("the coordinator answered with {:?}", other.api_key());
                let error = Error::new(ErrorKind::Corrupt, message);
                self.unanswered(now, &call, &RequestFailure::Unanswered(error))
            }
        };
        if let Some(kind) = retry {
            if let (RetryKind::LookUp, Some((kind, key))) = (kind, asked) {
                directives.push_back(Directive::ForgetCoordinator(kind, key));
            }
            self.pause(now, kind, failures + 1);
        }
    }

    /// A transaction that the coordinator knows nothing of needs no EndTxn.
    fn end_what_never_started(&mut self) {
        let verdict = match &self.state {
            State::CommittingTransaction(open, Commit::Delivering)
                if open.basis().is_none() && open.offsets().next().is_none() =>
            {
                Verdict::Committed
            }
            State::AbortingTransaction(open, abort) if abort.basis(open).is_none() => {
                Verdict::Aborted(abort.cause.reason())
            }
            State::CommittingTransaction(..)
            | State::AbortingTransaction(..)
            | State::Uninitialized(_)
            | State::Initializing(_)
            | State::Ready(_)
            | State::InTransaction(_)
            | State::AbortableError(..)
            | State::OutcomeUnknown(..)
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
            ) if open.pending().is_some() || open.offsets().next().is_some() => next_part(id, open),
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
            (State::AbortingTransaction(open, abort), Some((id, _))) if abort.fencing != Fencing::NotSaid => {
                let call = Call::DescribeTransactions(open.producer(), open.version());
                Some((call, describe_transactions::request(id)))
            }
            (State::AbortingTransaction(open, abort), Some((id, _))) => {
                let intent = Intent::Abort(abort.basis(open)?);
                let body = end_txn::request(id, open.producer(), intent, proof?);
                Some((Call::EndTxn(intent, open.version()), body))
            }
            (State::OutcomeUnknown(open, Inquiry::Asked(_)), Some((id, _))) => {
                let call = Call::DescribeTransactions(open.producer(), open.version());
                Some((call, describe_transactions::request(id)))
            }
            (
                State::Uninitialized(_)
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

    fn pause(&mut self, now: Instant, kind: RetryKind, failures: u32) {
        let delay = match kind {
            RetryKind::Concurrent if failures <= AT_ONCE => Duration::ZERO,
            RetryKind::Concurrent => Backoff::CONCURRENT.delay(failures - AT_ONCE, &mut self.rng),
            RetryKind::Backoff | RetryKind::LookUp => self.settings.backoff.delay(failures, &mut self.rng),
        };
        self.rpc = Rpc::Idle {
            failures,
            until: Some(now + delay),
        };
    }
}

/// What has to be part of the transaction before it can end: partitions, then each group and its offsets.
fn next_part(id: &str, open: &OpenTransaction) -> Option<(Call, RequestBody)> {
    let producer = open.producer();
    if let Some(pending) = open.pending() {
        let body = add_partitions::request(id, producer, pending);
        return Some((Call::AddPartitions(pending.clone()), body));
    }
    if let Some(group) = open.group_to_add() {
        let body = add_offsets::request(id, producer, group);
        return Some((Call::AddOffsets(group.to_owned()), body));
    }
    let sent = open.offsets().next()?;
    let body = txn_offset_commit::request(id, producer, sent);
    Some((Call::TxnOffsetCommit(sent.clone(), open.version()), body))
}

const fn told(id: i64, epoch: i16) -> ProducerIdAndEpoch {
    ProducerIdAndEpoch {
        id: ProducerId(id),
        epoch: ProducerEpoch(epoch),
    }
}
