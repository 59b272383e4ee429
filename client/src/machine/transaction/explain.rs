//! What the transaction's errors say: which transactional id, what happened, how to mend it.

use std::time::{Duration, Instant};

use sealwax_protocol::error_code::ErrorCode;

use super::TransactionManager;
use crate::error::{Error, ErrorKind};
use crate::machine::acl::{self, Operation, Resource};

/// How an unknown outcome is found out.
pub(super) const HOW_TO_FIND_OUT: &str =
    "it is committed or aborted as a whole: call resolve() on the producer to find out";

impl TransactionManager {
    /// Someone else has initialised the transactional id since, be it only the coordinator after a timeout (V1).
    pub(super) fn fenced(&self, now: Instant, code: ErrorCode) -> Error {
        let id = self.id();
        let message = match self.overdue(now) {
            Some(overdue) => format!(
                "transactional id {id}: {overdue}, so that the transaction timed out on the broker, or a newer producer has taken over; \
                 this producer must stop, build a new one"
            ),
            None => format!(
                "a newer producer with transactional id {id} has taken over; this one must stop. Where two are meant to work side by \
                 side, each needs a transactional id of its own"
            ),
        };
        Error::broker(ErrorKind::Fenced, code, message)
    }

    /// A commit was refused because its transaction is no longer open.
    pub(super) fn aborted_elsewhere(&self, now: Instant, code: ErrorCode) -> Error {
        let id = self.id();
        let why = self.overdue(now).unwrap_or_else(|| {
            let timeout = self.timeout().as_millis();
            format!("another producer is taking over, or it was open for longer than transaction.timeout.ms = {timeout}")
        });
        let message = format!(
            "the commit was refused because the transaction of transactional id {id} is no longer open; {why}"
        );
        Error::broker(ErrorKind::TransactionAborted, code, message)
    }

    /// A refusal that has no explanation of its own.
    pub(super) fn refusal(&self, kind: ErrorKind, code: ErrorCode) -> Error {
        let message = match (self.transactional_id(), code) {
            (Some(id), ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED) => {
                acl::missing(Operation::Write, Resource::TransactionalId(id))
            }
            (_, ErrorCode::CLUSTER_AUTHORIZATION_FAILED) => {
                acl::missing(Operation::IdempotentWrite, Resource::Cluster)
            }
            (Some(id), ErrorCode::UNKNOWN_PRODUCER_ID | ErrorCode::INVALID_PRODUCER_ID_MAPPING) => format!(
                "the coordinator has forgotten the producer id of transactional id {id} \
                 (transactional.id.expiration.ms, producer.id.expiration.ms); build a new producer"
            ),
            (Some(id), _) => format!("the coordinator of transactional id {id} refused the request"),
            (None, _) => "the broker gave no producer id".to_owned(),
        };
        Error::broker(kind, code, message)
    }

    /// The same with what has to be said where the outcome stays open.
    pub(super) fn unknown(&self, code: ErrorCode) -> Error {
        let refusal = self.refusal(ErrorKind::OutcomeUnknown, code);
        refusal.in_context(|text| {
            format!("{text}, and whether the commit took effect is not known; {HOW_TO_FIND_OUT}")
        })
    }

    /// That the open transaction has outlived its timeout; `None` if it has not.
    pub(super) fn overdue(&self, now: Instant) -> Option<String> {
        let timeout = self.timeout();
        let age = self.state.open()?.age(now)?;
        (age >= timeout).then(|| {
            format!(
                "the transaction was open for {} ms, longer than transaction.timeout.ms = {}",
                age.as_millis(),
                timeout.as_millis()
            )
        })
    }

    /// `transaction.timeout.ms`.
    pub(super) fn timeout(&self) -> Duration {
        let transactional = self.settings.transactional.as_ref();
        transactional.map_or(Duration::ZERO, |(_, timeout)| *timeout)
    }

    /// The transactional id, for messages.
    pub(super) fn id(&self) -> &str {
        self.transactional_id().map_or("", |id| id)
    }
}

/// What is said where the outcome stays open and the producer ends, so that it cannot be asked any more.
pub(super) fn beyond_asking(fatal: &Error) -> Error {
    let message =
        format!("{fatal}; whether the commit took effect before that is not known, compare what readers see");
    let error = match fatal.code() {
        Some(code) => Error::broker(ErrorKind::OutcomeUnknown, code, message),
        None => Error::new(ErrorKind::OutcomeUnknown, message),
    };
    error.of_producer()
}

/// The kind of an error that ends the producer.
pub(super) const fn fatal_kind(code: ErrorCode) -> ErrorKind {
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
