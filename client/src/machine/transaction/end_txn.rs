//! EndTxn: the request, which takes the proof that every batch has its result, and what its answer means for the transaction's
//! outcome. Nothing is guessed: what an answer does not prove is [`Outcome::Unknown`].

use sealwax_protocol::StrBytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::ProducerIdAndEpoch;
use sealwax_protocol::messages::{EndTxnRequest, TransactionalId};
use sealwax_protocol::request::RequestBody;

use super::RetryKind;
use super::version::TransactionVersion;
use crate::machine::accumulator::AllResolved;

/// What is known of the commits that were sent for this transaction before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EarlierAttempts {
    /// None may have taken effect.
    Answered,
    /// One may have reached the coordinator without an answer.
    Indefinite,
}

/// How sure it is that the coordinator has something to abort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AbortBasis {
    /// A partition was added.
    Registered,
    /// A partition may have been added, or the transaction may have ended already.
    Doubtful,
}

/// What is asked of the coordinator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Intent {
    /// Commit.
    Commit(EarlierAttempts),
    /// Abort.
    Abort(AbortBasis),
}

/// What an answer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It ended as asked.
    Ended,
    /// Ask again.
    Retry(RetryKind),
    /// The commit was refused because the transaction is aborted; an abort will tell the next epoch (V2).
    AbortedAlready,
    /// The commit was refused because the transaction is not open, and no commit of ours can have ended it (V1).
    AbortedByAnother,
    /// There is nothing to abort.
    NothingOpen,
    /// The commit failed; the transaction can be aborted.
    Abortable,
    /// The same, and the epoch is of no more use.
    AbortableWithBump,
    /// Whether the commit took effect is not known.
    Unknown,
    /// Someone else has initialised the transactional id and aborted this transaction with it.
    Fenced,
    /// Someone else has initialised the transactional id, maybe after our commit took effect.
    FencedUnknown,
    /// The producer is beyond use, its commit did not take effect.
    Fatal,
    /// The producer is beyond use, and whether its commit took effect is not known.
    FatalUnknown,
}

/// The request. Only who can show that all batches are resolved can build it.
pub(crate) fn request(
    transactional_id: &str,
    producer: ProducerIdAndEpoch,
    intent: Intent,
    _proof: AllResolved,
) -> RequestBody {
    let committed = match intent {
        Intent::Commit(_) => true,
        Intent::Abort(_) => false,
    };
    EndTxnRequest::default()
        .with_transactional_id(TransactionalId(StrBytes::from_string(
            transactional_id.to_owned(),
        )))
        .with_producer_id(producer.id.0.into())
        .with_producer_epoch(producer.epoch.0)
        .with_committed(committed)
        .into()
}

/// Whether a request that was answered with this code may have taken effect all the same: a coordinator whose write to its log was
/// not acknowledged in time, or which moved meanwhile, says that it is not available, no coordinator, or loading; but the
/// write may stand in the log, and then the next coordinator carries it out.
pub(crate) const fn leaves_doubt(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::REQUEST_TIMED_OUT
            | ErrorCode::COORDINATOR_NOT_AVAILABLE
            | ErrorCode::NOT_COORDINATOR
            | ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
    )
}

/// The meaning of an answer's code.
pub(crate) const fn classify(code: ErrorCode, intent: Intent, version: TransactionVersion) -> Outcome {
    match code {
        ErrorCode::NONE => Outcome::Ended,
        ErrorCode::COORDINATOR_NOT_AVAILABLE | ErrorCode::NOT_COORDINATOR => {
            Outcome::Retry(RetryKind::LookUp)
        }
        ErrorCode::COORDINATOR_LOAD_IN_PROGRESS | ErrorCode::REQUEST_TIMED_OUT => {
            Outcome::Retry(RetryKind::Backoff)
        }
        ErrorCode::CONCURRENT_TRANSACTIONS => Outcome::Retry(RetryKind::Concurrent),
        _ => match intent {
            Intent::Commit(earlier) => classify_commit(code, earlier, version),
            Intent::Abort(basis) => classify_abort(code, basis, version),
        },
    }
}

const fn classify_commit(code: ErrorCode, earlier: EarlierAttempts, version: TransactionVersion) -> Outcome {
    match (code, earlier, version) {
        // A V2 coordinator recognises a repeated commit by its epoch and would have said so.
        (ErrorCode::INVALID_TXN_STATE, _, TransactionVersion::V2) => Outcome::AbortedAlready,
        (ErrorCode::INVALID_TXN_STATE, EarlierAttempts::Answered, TransactionVersion::V1) => {
            Outcome::AbortedByAnother
        }
        (ErrorCode::INVALID_PRODUCER_EPOCH | ErrorCode::PRODUCER_FENCED, EarlierAttempts::Answered, _) => {
            Outcome::Fenced
        }
        (ErrorCode::INVALID_PRODUCER_EPOCH | ErrorCode::PRODUCER_FENCED, EarlierAttempts::Indefinite, _) => {
            Outcome::FencedUnknown
        }
        (ErrorCode::INVALID_PRODUCER_ID_MAPPING, _, _) => Outcome::FatalUnknown,
        (ErrorCode::TRANSACTION_ABORTABLE, EarlierAttempts::Answered, _) => Outcome::Abortable,
        (ErrorCode::UNKNOWN_PRODUCER_ID, EarlierAttempts::Answered, _) => Outcome::AbortableWithBump,
        (
            ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            | ErrorCode::UNSUPPORTED_FOR_MESSAGE_FORMAT
            | ErrorCode::UNSUPPORTED_VERSION,
            EarlierAttempts::Answered,
            _,
        ) => Outcome::Fatal,
        (
            ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            | ErrorCode::UNSUPPORTED_FOR_MESSAGE_FORMAT
            | ErrorCode::UNSUPPORTED_VERSION,
            EarlierAttempts::Indefinite,
            _,
        ) => Outcome::FatalUnknown,
        (_, EarlierAttempts::Answered | EarlierAttempts::Indefinite, _) => Outcome::Unknown,
    }
}

const fn classify_abort(code: ErrorCode, basis: AbortBasis, version: TransactionVersion) -> Outcome {
    match (code, basis) {
        (ErrorCode::INVALID_TXN_STATE, AbortBasis::Doubtful) => Outcome::NothingOpen,
        // No commit of ours was sent, and a V2 coordinator takes a needless abort: someone else has committed in this epoch's place.
        (ErrorCode::INVALID_TXN_STATE, AbortBasis::Registered) => match version {
            TransactionVersion::V1 => Outcome::Fatal,
            TransactionVersion::V2 => Outcome::Fenced,
        },
        (ErrorCode::UNKNOWN_PRODUCER_ID, _) => Outcome::NothingOpen,
        // Repeating an abort does no harm.
        (ErrorCode::UNKNOWN_SERVER_ERROR, _) => Outcome::Retry(RetryKind::Backoff),
        (ErrorCode::INVALID_PRODUCER_EPOCH | ErrorCode::PRODUCER_FENCED, _) => Outcome::Fenced,
        // Also TRANSACTION_ABORTABLE: an abort that asks for an abort would never end (KAFKA-19250).
        (_, AbortBasis::Registered | AbortBasis::Doubtful) => Outcome::Fatal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSIONS: [TransactionVersion; 2] = [TransactionVersion::V1, TransactionVersion::V2];
    const RETRIES: [(i16, RetryKind); 5] = [
        (7, RetryKind::Backoff),
        (14, RetryKind::Backoff),
        (15, RetryKind::LookUp),
        (16, RetryKind::LookUp),
        (51, RetryKind::Concurrent),
    ];

    fn retry(code: ErrorCode) -> Option<Outcome> {
        let (_, kind) = RETRIES.iter().find(|(number, _)| *number == code.0)?;
        Some(Outcome::Retry(*kind))
    }

    fn all_codes() -> impl Iterator<Item = ErrorCode> {
        ErrorCode::ALL.iter().copied().chain([ErrorCode(999)])
    }

    #[test]
    fn a_commit_whose_earlier_attempts_were_all_answered() {
        for version in VERSIONS {
            for code in all_codes() {
                let expected = match (code.0, version) {
                    (0, _) => Outcome::Ended,
                    (48, TransactionVersion::V1) => Outcome::AbortedByAnother,
                    (48, TransactionVersion::V2) => Outcome::AbortedAlready,
                    (47 | 90, _) => Outcome::Fenced,
                    (49, _) => Outcome::FatalUnknown,
                    (120, _) => Outcome::Abortable,
                    (59, _) => Outcome::AbortableWithBump,
                    (35 | 43 | 53, _) => Outcome::Fatal,
                    _ => retry(code).unwrap_or(Outcome::Unknown),
                };
                let intent = Intent::Commit(EarlierAttempts::Answered);
                assert_eq!(classify(code, intent, version), expected, "{code} {version:?}");
            }
        }
    }

    #[test]
    fn after_an_indefinite_commit_nothing_but_an_ok_or_a_v2_refusal_is_definite() {
        for version in VERSIONS {
            for code in all_codes() {
                let expected = match (code.0, version) {
                    (0, _) => Outcome::Ended,
                    (48, TransactionVersion::V2) => Outcome::AbortedAlready,
                    (47 | 90, _) => Outcome::FencedUnknown,
                    (35 | 43 | 49 | 53, _) => Outcome::FatalUnknown,
                    _ => retry(code).unwrap_or(Outcome::Unknown),
                };
                let intent = Intent::Commit(EarlierAttempts::Indefinite);
                assert_eq!(classify(code, intent, version), expected, "{code} {version:?}");
            }
        }
    }

    #[test]
    fn an_abort_never_asks_for_an_abort() {
        for version in VERSIONS {
            for basis in [AbortBasis::Registered, AbortBasis::Doubtful] {
                for code in all_codes() {
                    let expected = match (code.0, basis, version) {
                        (0, ..) => Outcome::Ended,
                        (48, AbortBasis::Doubtful, _) | (59, ..) => Outcome::NothingOpen,
                        (48, AbortBasis::Registered, TransactionVersion::V2) | (47 | 90, ..) => {
                            Outcome::Fenced
                        }
                        (-1, ..) => Outcome::Retry(RetryKind::Backoff),
                        _ => retry(code).unwrap_or(Outcome::Fatal),
                    };
                    assert_eq!(
                        classify(code, Intent::Abort(basis), version),
                        expected,
                        "{code} {basis:?}"
                    );
                }
            }
        }
    }
}
