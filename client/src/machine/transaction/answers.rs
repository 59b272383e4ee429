//! What an answer of a coordinator, or its absence, does to the state: all but EndTxn (see `ending`). In: the answer, what was asked.
//! Out: the next state; how to ask again, if that is what it means.

use std::time::Instant;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{ProducerIdAndEpoch, TopicPartition};

use super::end_txn::leaves_doubt;
use super::explain::fatal_kind;
use super::last_commit::Resolution;
use super::offsets::SentOffsets;
use super::open::Doubt;
use super::phase::{Fencing, Inquiry, NextProducer};
use super::rpc::Call;
use super::state::State;
use super::{
    RetryKind, TransactionManager, TransactionVersion, add_offsets, add_partitions, describe_transactions,
    init_producer_id, txn_offset_commit,
};
use crate::error::{Error, ErrorKind};
use crate::machine::RequestFailure;
use crate::machine::acl::{self, Operation, Resource};

impl TransactionManager {
    pub(super) fn init_answered(
        &mut self,
        now: Instant,
        code: ErrorCode,
        told: ProducerIdAndEpoch,
    ) -> Option<RetryKind> {
        use init_producer_id::Outcome;
        match init_producer_id::classify(code) {
            Outcome::Initialized => self.change(|state| state.initialized(told)),
            Outcome::Retry(kind) => return Some(kind),
            Outcome::Fenced => self.fail(&self.fenced(now, code)),
            Outcome::Refused => {
                let kind = match code {
                    ErrorCode::TRANSACTION_ABORTABLE => ErrorKind::Broker,
                    _ => ErrorKind::Authorization,
                };
                let error = self.refusal(kind, code);
                self.change(|state| state.refused(error));
            }
            Outcome::TimeoutTooLong => {
                let message = format!(
                    "transactional id {}: transaction.timeout.ms = {} is above the broker's maximum, its setting \
                     transaction.max.timeout.ms (900000 unless it was changed)",
                    self.id(),
                    self.timeout().as_millis()
                );
                self.fail(&Error::broker(ErrorKind::Config, code, message));
            }
            Outcome::Fatal => self.fail(&self.refusal(ErrorKind::Broker, code)),
        }
        None
    }

    pub(super) fn partitions_answered(
        &mut self,
        now: Instant,
        answer: add_partitions::Answer,
    ) -> Option<RetryKind> {
        use add_partitions::Outcome;
        if let Some(open) = self.state.open_mut() {
            open.partitions_added(answer.added);
        }
        let (outcome, code, partition) = answer.worst?;
        self.note_doubt(code);
        let abortable = |what: &str| {
            let message =
                format!("{partition} could not be added to the transaction, which can only be aborted{what}");
            Error::broker(ErrorKind::TransactionAbortable, code, message)
        };
        match outcome {
            Outcome::Added => {}
            Outcome::Retry(kind) => return Some(kind),
            Outcome::Abortable if code == ErrorCode::TOPIC_AUTHORIZATION_FAILED => {
                let lacks = acl::missing(Operation::Write, Resource::Topic(&partition.topic));
                self.abortable(now, &abortable(&format!(": {lacks}")));
            }
            Outcome::NotAttempted | Outcome::Abortable => self.abortable(now, &abortable("")),
            Outcome::AbortableWithBump => {
                self.forbid_reuse();
                self.abortable(now, &abortable(""));
            }
            Outcome::Fenced => self.fail(&self.fenced(now, code)),
            Outcome::Fatal => self.fail(&self.refusal(fatal_kind(code), code)),
        }
        None
    }

    pub(super) fn group_answered(
        &mut self,
        now: Instant,
        group: String,
        code: ErrorCode,
    ) -> Option<RetryKind> {
        use add_offsets::Outcome;
        self.note_doubt(code);
        let abortable = |kind, what: &str| {
            let message = format!(
                "group {group} could not be added to the transaction, which can only be aborted{what}"
            );
            Error::broker(kind, code, message)
        };
        match add_offsets::classify(code) {
            Outcome::Added => {
                if let Some(open) = self.state.open_mut() {
                    open.offsets_mut().group_added(group);
                }
            }
            Outcome::Retry(kind) => return Some(kind),
            Outcome::Abortable => self.abortable(now, &abortable(ErrorKind::TransactionAbortable, "")),
            Outcome::AbortableWithBump => {
                self.forbid_reuse();
                self.abortable(now, &abortable(ErrorKind::TransactionAbortable, ""));
            }
            Outcome::Unauthorized => {
                let lacks = acl::missing(Operation::Read, Resource::Group(&group));
                self.abortable(now, &abortable(ErrorKind::Authorization, &format!(": {lacks}")));
            }
            Outcome::Fenced => self.fail(&self.fenced(now, code)),
            Outcome::Fatal => self.fail(&self.refusal(fatal_kind(code), code)),
        }
        None
    }

    pub(super) fn offsets_answered(
        &mut self,
        now: Instant,
        sent: &SentOffsets,
        worst: Option<(txn_offset_commit::Outcome, ErrorCode, TopicPartition)>,
    ) -> Option<RetryKind> {
        use txn_offset_commit::Outcome;
        let Some((outcome, code, partition)) = worst else {
            if let Some(open) = self.state.open_mut() {
                open.offsets_mut().next_accepted();
            }
            return None;
        };
        let group = sent.group.group_id.as_str();
        let abortable = |kind, what: &str| {
            let message = format!(
                "the offset of {partition} in group {group} was refused, the transaction can only be aborted{what}"
            );
            Error::broker(kind, code, message)
        };
        match outcome {
            Outcome::Accepted => {}
            Outcome::Retry(kind) => return self.repeat_offsets(now, sent, kind, &code),
            Outcome::Abortable => self.abortable(now, &abortable(ErrorKind::TransactionAbortable, "")),
            Outcome::EndedByAnother => {
                let error = self.with_age(now, &abortable(ErrorKind::TransactionAbortable, ""));
                self.give_way(now);
                self.abortable(now, &error);
            }
            Outcome::CommitFailed => {
                let why = ": the group has gone on without this member, so that its partitions may belong to another by now; \
                           rejoin, and begin again from the committed offsets";
                self.abortable(now, &abortable(ErrorKind::CommitFailed, why));
            }
            Outcome::TopicUnauthorized => {
                let lacks = acl::missing(Operation::Read, Resource::Topic(&partition.topic));
                self.abortable(now, &abortable(ErrorKind::Authorization, &format!(": {lacks}")));
            }
            Outcome::GroupUnauthorized => {
                let lacks = acl::missing(Operation::Read, Resource::Group(group));
                self.abortable(now, &abortable(ErrorKind::Authorization, &format!(": {lacks}")));
            }
            Outcome::Fenced => self.fail(&self.fenced(now, code)),
            Outcome::Fatal => self.fail(&self.refusal(fatal_kind(code), code)),
        }
        None
    }

    pub(super) fn described(
        &mut self,
        now: Instant,
        told: Option<&describe_transactions::Description>,
        producer: ProducerIdAndEpoch,
        version: TransactionVersion,
    ) -> Option<RetryKind> {
        use describe_transactions::Outcome;
        let until = match &self.state {
            State::OutcomeUnknown(_, Inquiry::Asked(until)) => *until,
            State::AbortingTransaction(_, abort) => match abort.fencing {
                Fencing::Said(code) => return self.fencing_described(now, code, told, producer),
                Fencing::NotSaid => return None,
            },
            State::OutcomeUnknown(_, Inquiry::NotAsked)
            | State::Uninitialized(_)
            | State::Initializing(_)
            | State::Ready(_)
            | State::InTransaction(_)
            | State::CommittingTransaction(..)
            | State::AbortableError(..)
            | State::FatalError(_) => return None,
        };
        let Some(told) = told else {
            self.cannot_tell("the coordinator's answer does not speak of it", None);
            return None;
        };
        let code = Some(told.code).filter(|code| code.is_error());
        match describe_transactions::classify(told, producer, version) {
            Outcome::Committed => self.learnt(Resolution::Committed),
            Outcome::Aborted => {
                let message = format!(
                    "the coordinator of transactional id {} has aborted the transaction",
                    self.id()
                );
                let error = Error::new(ErrorKind::TransactionAborted, message);
                self.learnt(Resolution::Aborted(error));
            }
            Outcome::Open => self.change(|state| state.commit_again(until)),
            Outcome::Retry(kind) if now < until => return Some(kind),
            Outcome::Retry(_) => self.cannot_tell("the coordinator cannot tell at the moment", code),
            Outcome::Unauthorized => {
                let lacks = acl::missing(Operation::Describe, Resource::TransactionalId(self.id()));
                self.cannot_tell(&lacks, code);
            }
            Outcome::Unknown => {
                let why = format!(
                    "the coordinator has gone on, to {} of producer id {} epoch {}; compare what readers see",
                    told.state, told.producer.id.0, told.producer.epoch.0
                );
                self.cannot_tell(&why, code);
            }
        }
        None
    }

    /// No answer. What may have arrived is remembered; the rest is as if nothing had been asked.
    pub(super) fn unanswered(
        &mut self,
        now: Instant,
        call: &Call,
        failure: &RequestFailure,
    ) -> Option<RetryKind> {
        if let RequestFailure::Unanswered(_) = failure {
            self.may_arrive(call);
        }
        let error = failure.error();
        match (call, error.kind()) {
            (_, ErrorKind::Closed) => self.fail(error),
            (Call::InitProducerId, ErrorKind::Authorization) => {
                self.change(|state| state.refused(error.clone()));
            }
            (
                Call::InitProducerId | Call::AddPartitions(_) | Call::AddOffsets(_),
                ErrorKind::UnsupportedVersion,
            )
            | (Call::AddPartitions(_) | Call::AddOffsets(_) | Call::EndTxn(..), ErrorKind::Authorization) => {
                self.fail(error)
            }
            // The group's coordinator lacks version 5, say, while the cluster is being upgraded; or it may not be looked up.
            (
                Call::TxnOffsetCommit(..),
                ErrorKind::UnsupportedVersion | ErrorKind::Authorization | ErrorKind::TransactionAbortable,
            )
            | (Call::AddPartitions(_) | Call::AddOffsets(_), ErrorKind::TransactionAbortable) => {
                self.abortable(now, error);
            }
            (Call::InitProducerId | Call::AddPartitions(_) | Call::AddOffsets(_), _) => {
                return Some(RetryKind::LookUp);
            }
            (Call::TxnOffsetCommit(sent, _), _) => {
                return self.repeat_offsets(now, sent, RetryKind::LookUp, error);
            }
            (Call::EndTxn(..), _) => return self.repeat_unless_late(now, RetryKind::LookUp),
            (Call::DescribeTransactions(..), _) => return self.repeat_inquiry(now, error),
        }
        None
    }

    fn may_arrive(&mut self, call: &Call) {
        match call {
            Call::InitProducerId | Call::DescribeTransactions(..) => {}
            Call::AddPartitions(_) | Call::AddOffsets(_) => {
                if let Some(open) = self.state.open_mut() {
                    open.adding_in_doubt(Doubt::Unanswered);
                    open.forbid_reuse();
                }
            }
            Call::TxnOffsetCommit(..) => self.forbid_reuse(),
            Call::EndTxn(..) => self.change(State::ending_in_doubt),
        }
    }

    fn note_doubt(&mut self, code: ErrorCode) {
        if leaves_doubt(code)
            && let Some(open) = self.state.open_mut()
        {
            open.adding_in_doubt(Doubt::Denied);
        }
    }

    fn forbid_reuse(&mut self) {
        if let Some(open) = self.state.open_mut() {
            open.forbid_reuse();
        }
    }

    fn repeat_offsets(
        &mut self,
        now: Instant,
        sent: &SentOffsets,
        kind: RetryKind,
        why: &dyn std::fmt::Display,
    ) -> Option<RetryKind> {
        if now < sent.until {
            return Some(kind);
        }
        let error = self.offsets_overdue(sent, &format!(": {why}"));
        self.abortable(now, &error);
        None
    }

    /// The coordinators did not take offsets in time.
    pub(super) fn offsets_overdue(&self, sent: &SentOffsets, why: &str) -> Error {
        let message = format!(
            "the offsets of group {} could not be made part of the transaction within {} ms{why}; it can only be aborted",
            sent.group.group_id,
            self.commit_patience().as_millis()
        );
        Error::new(ErrorKind::Timeout, message).of_transaction()
    }

    fn repeat_inquiry(&mut self, now: Instant, error: &Error) -> Option<RetryKind> {
        let is_refused = matches!(
            error.kind(),
            ErrorKind::UnsupportedVersion | ErrorKind::Authorization
        );
        let until = match &self.state {
            State::OutcomeUnknown(_, Inquiry::Asked(until)) => until,
            State::AbortingTransaction(_, abort) => {
                return match abort.fencing {
                    Fencing::Said(code) if is_refused => {
                        self.fencing_described(now, code, None, ProducerIdAndEpoch::NONE)
                    }
                    Fencing::Said(_) => Some(RetryKind::LookUp),
                    Fencing::NotSaid => None,
                };
            }
            State::OutcomeUnknown(_, Inquiry::NotAsked)
            | State::Uninitialized(_)
            | State::Initializing(_)
            | State::Ready(_)
            | State::InTransaction(_)
            | State::CommittingTransaction(..)
            | State::AbortableError(..)
            | State::FatalError(_) => return None,
        };
        if !is_refused && now < *until {
            return Some(RetryKind::LookUp);
        }
        self.cannot_tell(&error.to_string(), error.code());
        None
    }

    /// What became of the commit is known, the next transaction needs an epoch of its own.
    fn learnt(&mut self, resolution: Resolution) {
        self.learn(resolution);
        self.change(|state| state.ended(NextProducer::ToBeAsked));
    }

    /// What became of the commit cannot be told now.
    pub(super) fn cannot_tell(&mut self, why: &str, code: Option<ErrorCode>) {
        let message = format!(
            "what became of the last commit of transactional id {} cannot be told: {why}",
            self.id()
        );
        let error = match code {
            Some(code) => Error::broker(ErrorKind::OutcomeUnknown, code, message),
            None => Error::new(ErrorKind::OutcomeUnknown, message),
        };
        self.learn(Resolution::Unknown(error));
        self.change(|state| state.inquire(Inquiry::NotAsked));
    }
}
