//! DescribeTransactions: what became of a commit whose answer was lost. In: the coordinator's view. Out: what it proves, and nothing more.
//!
//! Under V1 an ended transaction stays at its own epoch, under V2 the end raises the epoch by one. Whoever takes the transactional id
//! over raises it once more, so that what is told of a later epoch says nothing about this transaction.

use sealwax_protocol::StrBytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{ProducerEpoch, ProducerId, ProducerIdAndEpoch};
use sealwax_protocol::messages::{
    DescribeTransactionsRequest, DescribeTransactionsResponse, TransactionalId,
};
use sealwax_protocol::request::RequestBody;

use super::RetryKind;
use super::version::TransactionVersion;

/// A transaction that ends in this epoch gets a new producer id (V2).
const EXHAUSTED: i16 = i16::MAX - 1;

/// What the coordinator knows of a transactional id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Description {
    /// Whether it could be told.
    pub(crate) code: ErrorCode,
    /// The coordinator's name of the state.
    pub(crate) state: String,
    /// Id and epoch.
    pub(crate) producer: ProducerIdAndEpoch,
}

/// What an answer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Committed.
    Committed,
    /// Aborted.
    Aborted,
    /// Neither: the commit has not arrived.
    Open,
    /// Ask again.
    Retry(RetryKind),
    /// For lack of permission it is not told.
    Unauthorized,
    /// It proves nothing.
    Unknown,
}

/// The request.
pub(crate) fn request(transactional_id: &str) -> RequestBody {
    DescribeTransactionsRequest::default()
        .with_transactional_ids(vec![TransactionalId(StrBytes::from_string(
            transactional_id.to_owned(),
        ))])
        .into()
}

/// What an answer says of the transactional id. `None` if nothing.
pub(crate) fn read(response: &DescribeTransactionsResponse, transactional_id: &str) -> Option<Description> {
    let state = response
        .transaction_states
        .iter()
        .find(|state| state.transactional_id.0.as_str() == transactional_id)?;
    Some(Description {
        code: ErrorCode(state.error_code),
        state: state.transaction_state.to_string(),
        producer: ProducerIdAndEpoch {
            id: ProducerId(state.producer_id.0),
            epoch: ProducerEpoch(state.producer_epoch),
        },
    })
}

/// What a description proves about the transaction of `producer`, of which something was registered.
pub(crate) fn classify(
    told: &Description,
    producer: ProducerIdAndEpoch,
    version: TransactionVersion,
) -> Outcome {
    match told.code {
        ErrorCode::NONE => {}
        ErrorCode::COORDINATOR_NOT_AVAILABLE | ErrorCode::NOT_COORDINATOR => {
            return Outcome::Retry(RetryKind::LookUp);
        }
        ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
        | ErrorCode::REQUEST_TIMED_OUT
        | ErrorCode::CONCURRENT_TRANSACTIONS => return Outcome::Retry(RetryKind::Backoff),
        ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED => return Outcome::Unauthorized,
        _ => return Outcome::Unknown,
    }
    match told.state.as_str() {
        "Ongoing" if told.producer == producer => Outcome::Open,
        "PrepareCommit" | "CompleteCommit" if is_end_of(told.producer, producer, version) => {
            Outcome::Committed
        }
        "PrepareAbort" | "CompleteAbort" if is_end_of(told.producer, producer, version) => Outcome::Aborted,
        _ => Outcome::Unknown,
    }
}

/// What a description says of an abort that was refused as fenced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fenced {
    /// The epoch is ours, the coordinator is writing the markers of the transaction before: the abort will be taken after that.
    NotYet,
    /// Ask again.
    Retry(RetryKind),
    /// By someone else.
    ByAnother,
}

/// Why an abort of `producer` was refused (V2).
pub(crate) fn why_fenced(told: &Description, producer: ProducerIdAndEpoch) -> Fenced {
    match (told.code, told.state.as_str()) {
        (ErrorCode::NONE, "PrepareCommit" | "PrepareAbort") if told.producer == producer => Fenced::NotYet,
        // It has finished in between.
        (ErrorCode::NONE, "CompleteCommit" | "CompleteAbort") if told.producer == producer => Fenced::NotYet,
        (ErrorCode::COORDINATOR_NOT_AVAILABLE | ErrorCode::NOT_COORDINATOR, _) => {
            Fenced::Retry(RetryKind::LookUp)
        }
        (
            ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
            | ErrorCode::REQUEST_TIMED_OUT
            | ErrorCode::CONCURRENT_TRANSACTIONS,
            _,
        ) => Fenced::Retry(RetryKind::Backoff),
        _ => Fenced::ByAnother,
    }
}

/// Whether `told` is what a transaction of `producer` leaves behind.
fn is_end_of(told: ProducerIdAndEpoch, producer: ProducerIdAndEpoch, version: TransactionVersion) -> bool {
    let epoch = producer.epoch.0;
    match version {
        TransactionVersion::V1 => told == producer,
        TransactionVersion::V2 if told.id == producer.id => epoch.checked_add(1) == Some(told.epoch.0),
        TransactionVersion::V2 => epoch >= EXHAUSTED && told.epoch.0 == 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TransactionVersion::{V1, V2};

    const STATES: [&str; 8] = [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    ];

    fn producer(id: i64, epoch: i16) -> ProducerIdAndEpoch {
        ProducerIdAndEpoch {
            id: ProducerId(id),
            epoch: ProducerEpoch(epoch),
        }
    }

    fn told(state: &str, producer: ProducerIdAndEpoch) -> Description {
        Description {
            code: ErrorCode::NONE,
            state: state.to_owned(),
            producer,
        }
    }

    #[test]
    fn only_the_end_of_this_very_transaction_proves_anything() {
        for version in [V1, V2] {
            for state in STATES {
                for (id, epoch) in [(7, 2), (7, 3), (7, 4), (7, 5), (8, 0), (8, 3), (8, 4)] {
                    let is_end = match version {
                        V1 => (id, epoch) == (7, 3),
                        V2 => (id, epoch) == (7, 4),
                    };
                    let expected = match state {
                        "Ongoing" if (id, epoch) == (7, 3) => Outcome::Open,
                        "PrepareCommit" | "CompleteCommit" if is_end => Outcome::Committed,
                        "PrepareAbort" | "CompleteAbort" if is_end => Outcome::Aborted,
                        _ => Outcome::Unknown,
                    };
                    let outcome = classify(&told(state, producer(id, epoch)), producer(7, 3), version);
                    assert_eq!(outcome, expected, "{state} {id} {epoch} {version:?}");
                }
            }
        }
    }

    #[test]
    fn at_the_end_of_the_epochs_a_new_producer_id_is_what_is_left_behind() {
        let exhausted = producer(7, EXHAUSTED);
        for (state, left, expected) in [
            ("PrepareCommit", producer(7, i16::MAX), Outcome::Committed),
            ("CompleteCommit", producer(8, 0), Outcome::Committed),
            ("CompleteAbort", producer(8, 0), Outcome::Aborted),
            ("CompleteCommit", producer(8, 1), Outcome::Unknown),
        ] {
            assert_eq!(
                classify(&told(state, left), exhausted, V2),
                expected,
                "{state} {left:?}"
            );
        }
        assert_eq!(
            classify(&told("CompleteCommit", producer(8, 0)), exhausted, V1),
            Outcome::Unknown
        );
        let last = producer(7, i16::MAX);
        assert_eq!(
            classify(&told("CompleteCommit", producer(7, i16::MIN)), last, V2),
            Outcome::Unknown
        );
    }

    #[test]
    fn no_code_proves_anything() {
        for &code in ErrorCode::ALL.iter().filter(|code| code.is_error()) {
            let expected = match code.0 {
                15 | 16 => Outcome::Retry(RetryKind::LookUp),
                7 | 14 | 51 => Outcome::Retry(RetryKind::Backoff),
                53 => Outcome::Unauthorized,
                _ => Outcome::Unknown,
            };
            let told = Description {
                code,
                ..told("CompleteCommit", producer(7, 3))
            };
            assert_eq!(classify(&told, producer(7, 3), V1), expected, "{code}");
        }
    }

    #[test]
    fn fenced_is_only_who_no_longer_has_the_coordinators_epoch() {
        for state in STATES {
            for (id, epoch) in [(7, 2), (7, 3), (7, 4), (8, 0), (8, 3)] {
                let is_end = matches!(
                    state,
                    "PrepareCommit" | "PrepareAbort" | "CompleteCommit" | "CompleteAbort"
                );
                let expected = if is_end && (id, epoch) == (7, 3) {
                    Fenced::NotYet
                } else {
                    Fenced::ByAnother
                };
                let told = told(state, producer(id, epoch));
                assert_eq!(
                    why_fenced(&told, producer(7, 3)),
                    expected,
                    "{state} {id} {epoch}"
                );
            }
        }
        for &code in ErrorCode::ALL.iter().filter(|code| code.is_error()) {
            let expected = match code.0 {
                15 | 16 => Fenced::Retry(RetryKind::LookUp),
                7 | 14 | 51 => Fenced::Retry(RetryKind::Backoff),
                _ => Fenced::ByAnother,
            };
            let told = Description {
                code,
                ..told("PrepareCommit", producer(7, 3))
            };
            assert_eq!(why_fenced(&told, producer(7, 3)), expected, "{code}");
        }
    }

    #[test]
    fn an_answer_about_another_id_is_none() {
        let state = sealwax_protocol::messages::describe_transactions_response::TransactionState::default()
            .with_transactional_id(TransactionalId(StrBytes::from_static_str("other")));
        let response = DescribeTransactionsResponse::default().with_transaction_states(vec![state]);
        assert_eq!(read(&response, "t"), None);
        assert!(read(&response, "other").is_some());
    }
}
