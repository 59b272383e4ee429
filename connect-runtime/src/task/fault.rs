//! Why a run of a task ended, and whether another run may follow. The table is spec'd by KIP-618's failures; unlike Java,
//! which fails the task each time, passing faults lead to a new run from the committed offsets.

use std::fmt;

use sealwax::{CommitError, Error, ErrorClass, ErrorCode, ErrorKind};

use crate::api::{ConnectError, ConnectErrorKind, SourceRecord};
use crate::error::StoreError;

/// What may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// A new run from the committed offsets, after a pause. The producer can be used again.
    Passing,
    /// As `Passing`, with a new producer.
    ProducerLost,
    /// A topic is missing. Passing if the task wrote to it before (a broker that has just started may not know it yet),
    /// else permanent.
    TopicMissing,
    /// Another producer has the transactional id. Never a new run: that would fence the other one in turn.
    Fenced,
    /// Nothing until somebody changes something.
    Permanent,
}

/// Why a run of a task ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    kind: FaultKind,
    message: String,
}

impl Fault {
    /// A fault that only a person can mend.
    pub fn permanent(message: impl Into<String>) -> Self {
        Self {
            kind: FaultKind::Permanent,
            message: message.into(),
        }
    }

    /// An error of the client while doing something.
    pub fn client(doing: &str, error: &Error) -> Self {
        Self {
            kind: kind_of(error),
            message: format!("cannot {doing}: {error}{}", mend(error)),
        }
    }

    /// A record that the client did not take.
    pub fn sending(record: &SourceRecord, error: &Error) -> Self {
        let (partition, offset) = (&*record.source_partition, &*record.source_offset);
        let topic = &record.topic;
        // Then a batch of earlier records was refused, and this one only came to hear of it.
        let place = if error.kind() == ErrorKind::TransactionAbortable {
            format!(
                "go on sending to topic {topic} (the fault lies before source {partition}, offset {offset})"
            )
        } else {
            format!("send a record to topic {topic} (source {partition}, offset {offset})")
        };
        Self::client(&place, error)
    }

    /// A commit without proof; `records` says where the records of the transaction are in the source.
    pub fn commit(error: &CommitError, records: &str) -> Self {
        let cause = error.error();
        let kind = match (error, kind_of(cause)) {
            (CommitError::Fenced(_), _) => FaultKind::Fenced,
            // The data of this transaction is gone; whether to try again depends on what made it fail.
            (CommitError::Aborted(_), kind) => kind,
            // Known to nobody here; the next run begins by reading which offsets are committed.
            (CommitError::Unknown(_), _) => FaultKind::Passing,
            (_, kind @ (FaultKind::Permanent | FaultKind::Fenced | FaultKind::TopicMissing)) => kind,
            (_, FaultKind::Passing | FaultKind::ProducerLost) => FaultKind::ProducerLost,
        };
        Self {
            kind,
            message: format!(
                "the commit did not succeed: {error}{}; the transaction held {records}",
                mend(cause)
            ),
        }
    }

    /// What may follow.
    pub fn kind(&self) -> FaultKind {
        self.kind
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<ConnectError> for Fault {
    fn from(error: ConnectError) -> Self {
        let kind = match error.kind() {
            ConnectErrorKind::Retriable => FaultKind::Passing,
            ConnectErrorKind::Config | ConnectErrorKind::Permanent => FaultKind::Permanent,
        };
        Self {
            kind,
            message: error.to_string(),
        }
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        let kind = match &error {
            StoreError::NotCompacted { .. } | StoreError::OffsetsLost { .. } | StoreError::Unwritable(_) => {
                FaultKind::Permanent
            }
            StoreError::NotDescribed { .. } => FaultKind::Passing,
            // The topic was made a moment ago: the broker that was asked does not know it yet.
            StoreError::Client { source, .. } if source.kind() == ErrorKind::UnknownTopic => {
                FaultKind::Passing
            }
            StoreError::Client { source, .. } => kind_of(source),
        };
        Self {
            kind,
            message: error.to_string(),
        }
    }
}

fn kind_of(error: &Error) -> FaultKind {
    match error.code() {
        Some(code) if refuses_what_is_sent(code) => FaultKind::Permanent,
        code => classify(error.kind(), code.map(ErrorCode::class)),
    }
}

/// Whether the broker would say the same of the same records again, however often the transaction is repeated.
fn refuses_what_is_sent(code: ErrorCode) -> bool {
    const OF_RECORDS: [ErrorCode; 5] = [
        ErrorCode::MESSAGE_TOO_LARGE,
        ErrorCode::INVALID_TIMESTAMP,
        ErrorCode::UNSUPPORTED_COMPRESSION_TYPE,
        ErrorCode::INVALID_RECORD,
        ErrorCode::POLICY_VIOLATION,
    ];
    code.class() == ErrorClass::InvalidConfiguration || OF_RECORDS.contains(&code)
}

/// A producer whose epoch is called stale is kept (`ApplicationRecoverable`): going on with its own id and epoch shows
/// whether another instance has taken over, while a new producer would fence that instance in turn.
fn classify(kind: ErrorKind, class: Option<ErrorClass>) -> FaultKind {
    match kind {
        ErrorKind::Fenced => FaultKind::Fenced,
        ErrorKind::UnknownTopic => FaultKind::TopicMissing,
        ErrorKind::Unreachable
        | ErrorKind::Timeout
        | ErrorKind::TransactionAbortable
        | ErrorKind::TransactionAborted
        | ErrorKind::OutcomeUnknown => FaultKind::Passing,
        ErrorKind::InvalidState | ErrorKind::Closed => FaultKind::ProducerLost,
        ErrorKind::Broker => match class {
            Some(
                ErrorClass::Retriable
                | ErrorClass::RefreshRetriable
                | ErrorClass::Abortable
                | ErrorClass::ApplicationRecoverable,
            ) => FaultKind::Passing,
            Some(ErrorClass::None | ErrorClass::InvalidConfiguration | ErrorClass::Fatal) | None => {
                FaultKind::Permanent
            }
        },
        // Config, NotKafka, UnsupportedVersion, NotBuilt, Authorization, RecordTooLarge, OffsetOutOfRange, Corrupt; and
        // what a later client may add, which nobody has thought through here.
        _ => FaultKind::Permanent,
    }
}

/// What a person can do, for the errors where that is known here better than in the client.
fn mend(error: &Error) -> &'static str {
    if error.code() == Some(ErrorCode::INVALID_TOPIC_EXCEPTION) {
        return "; set topic to a valid name";
    }
    if error.code() == Some(ErrorCode::MESSAGE_TOO_LARGE) {
        return "; raise the topic's max.message.bytes, or lower producer.override.batch.size below it if each single record fits";
    }
    match error.kind() {
        ErrorKind::RecordTooLarge => {
            "; raise producer.override.max.request.size and the topic's max.message.bytes, or take the record out"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_fenced_producer_is_final_and_only_a_broken_one_is_replaced() {
        let of = |kind| classify(kind, None);
        assert_eq!(of(ErrorKind::Fenced), FaultKind::Fenced);
        for kind in [
            ErrorKind::Unreachable,
            ErrorKind::Timeout,
            ErrorKind::OutcomeUnknown,
            ErrorKind::TransactionAborted,
        ] {
            assert_eq!(of(kind), FaultKind::Passing, "{kind:?}");
        }
        for kind in [ErrorKind::InvalidState, ErrorKind::Closed] {
            assert_eq!(of(kind), FaultKind::ProducerLost, "{kind:?}");
        }
        for kind in [
            ErrorKind::Config,
            ErrorKind::NotKafka,
            ErrorKind::Authorization,
            ErrorKind::RecordTooLarge,
        ] {
            assert_eq!(of(kind), FaultKind::Permanent, "{kind:?}");
        }
        assert_eq!(of(ErrorKind::UnknownTopic), FaultKind::TopicMissing);
    }

    /// A zombie that answered a stale epoch with a new producer would fence the instance that replaced it.
    #[test]
    fn no_brokers_code_leads_to_a_new_producer() {
        for code in ErrorCode::ALL {
            let fault = classify(ErrorKind::Broker, Some(code.class()));
            assert!(
                matches!(fault, FaultKind::Passing | FaultKind::Permanent),
                "{code}: {fault:?}"
            );
        }
        let stale = classify(ErrorKind::Broker, Some(ErrorCode::INVALID_PRODUCER_EPOCH.class()));
        assert_eq!(stale, FaultKind::Passing);
        let too_large = classify(ErrorKind::Broker, Some(ErrorCode::MESSAGE_TOO_LARGE.class()));
        assert_eq!(too_large, FaultKind::Permanent);
    }

    /// The transaction was aborted, which passes; but the same records would be refused for ever.
    #[test]
    fn records_that_the_broker_refuses_are_not_sent_again_and_again() {
        for code in [
            ErrorCode::MESSAGE_TOO_LARGE,
            ErrorCode::RECORD_LIST_TOO_LARGE,
            ErrorCode::INVALID_RECORD,
            ErrorCode::TOPIC_AUTHORIZATION_FAILED,
        ] {
            assert!(refuses_what_is_sent(code), "{code}");
        }
        for code in [
            ErrorCode::INVALID_TXN_STATE,
            ErrorCode::INVALID_PRODUCER_EPOCH,
            ErrorCode::NOT_ENOUGH_REPLICAS,
            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        ] {
            assert!(!refuses_what_is_sent(code), "{code}");
        }
    }

    #[test]
    fn errors_of_a_connector_keep_their_words() {
        let fault = Fault::from(ConnectError::retriable("busy"));
        assert_eq!(
            (fault.kind(), fault.to_string().as_str()),
            (FaultKind::Passing, "busy")
        );
        assert_eq!(
            Fault::from(ConnectError::config("bad")).kind(),
            FaultKind::Permanent
        );
        let fault = Fault::from(StoreError::NotCompacted {
            topic: "t".into(),
            found: "delete".into(),
        });
        assert_eq!(fault.kind(), FaultKind::Permanent);
        assert!(fault.to_string().contains("cleanup.policy=delete"));
    }
}
