//! AddOffsetsToTxn, versions 3 and 4 (V1 only): a group's offsets become part of the transaction; and what the answer means.

use sealwax_protocol::StrBytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::ProducerIdAndEpoch;
use sealwax_protocol::messages::{AddOffsetsToTxnRequest, GroupId, TransactionalId};
use sealwax_protocol::request::RequestBody;

use super::RetryKind;

/// What an answer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The group is part of the transaction.
    Added,
    /// Ask again.
    Retry(RetryKind),
    /// The transaction can only be aborted.
    Abortable,
    /// The same, and the producer id is of no more use without a new epoch.
    AbortableWithBump,
    /// The same, for lack of permission.
    Unauthorized,
    /// The producer is beyond use.
    Fatal,
    /// Someone else has initialised the transactional id since.
    Fenced,
}

/// The request.
pub(crate) fn request(transactional_id: &str, producer: ProducerIdAndEpoch, group: &str) -> RequestBody {
    AddOffsetsToTxnRequest::default()
        .with_transactional_id(TransactionalId(StrBytes::from_string(
            transactional_id.to_owned(),
        )))
        .with_producer_id(producer.id.0.into())
        .with_producer_epoch(producer.epoch.0)
        .with_group_id(GroupId(StrBytes::from_string(group.to_owned())))
        .into()
}

/// The meaning of an answer's code.
pub(crate) const fn classify(code: ErrorCode) -> Outcome {
    match code {
        ErrorCode::NONE => Outcome::Added,
        ErrorCode::COORDINATOR_NOT_AVAILABLE | ErrorCode::NOT_COORDINATOR => {
            Outcome::Retry(RetryKind::LookUp)
        }
        ErrorCode::COORDINATOR_LOAD_IN_PROGRESS | ErrorCode::REQUEST_TIMED_OUT => {
            Outcome::Retry(RetryKind::Backoff)
        }
        ErrorCode::CONCURRENT_TRANSACTIONS => Outcome::Retry(RetryKind::Concurrent),
        ErrorCode::TRANSACTION_ABORTABLE => Outcome::Abortable,
        ErrorCode::UNKNOWN_PRODUCER_ID => Outcome::AbortableWithBump,
        ErrorCode::GROUP_AUTHORIZATION_FAILED => Outcome::Unauthorized,
        ErrorCode::INVALID_PRODUCER_EPOCH | ErrorCode::PRODUCER_FENCED => Outcome::Fenced,
        _ => Outcome::Fatal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_meaning() {
        for &code in ErrorCode::ALL {
            let expected = match code.0 {
                0 => Outcome::Added,
                15 | 16 => Outcome::Retry(RetryKind::LookUp),
                7 | 14 => Outcome::Retry(RetryKind::Backoff),
                51 => Outcome::Retry(RetryKind::Concurrent),
                120 => Outcome::Abortable,
                59 => Outcome::AbortableWithBump,
                30 => Outcome::Unauthorized,
                47 | 90 => Outcome::Fenced,
                _ => Outcome::Fatal,
            };
            assert_eq!(classify(code), expected, "{code}");
        }
        assert_eq!(classify(ErrorCode(999)), Outcome::Fatal);
    }
}
