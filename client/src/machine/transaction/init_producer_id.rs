//! InitProducerId: the request, and what its answer means. Its fate never matters: the broker answers a repeat of (id, epoch) with
//! what the first one gave.

use std::sync::Arc;
use std::time::Duration;

use sealwax_protocol::StrBytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::ProducerIdAndEpoch;
use sealwax_protocol::messages::{InitProducerIdRequest, TransactionalId};
use sealwax_protocol::request::RequestBody;

use super::RetryKind;

/// What an answer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Here are id and epoch.
    Initialized,
    /// Ask again.
    Retry(RetryKind),
    /// Someone else has initialised the transactional id since.
    Fenced,
    /// Not now; it may be asked for again once the cause is gone.
    Refused,
    /// The setting `transaction.timeout.ms` is above what the broker allows.
    TimeoutTooLong,
    /// Never.
    Fatal,
}

/// The request. `claim` is [`ProducerIdAndEpoch::NONE`] at first, later what this producer holds: then it fails if someone else has
/// taken over.
pub(crate) fn request(
    transactional_id: Option<&Arc<str>>,
    timeout: Duration,
    claim: ProducerIdAndEpoch,
) -> RequestBody {
    InitProducerIdRequest::default()
        .with_transactional_id(
            transactional_id.map(|id| TransactionalId(StrBytes::from_string(id.to_string()))),
        )
        .with_transaction_timeout_ms(i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX))
        .with_producer_id(claim.id.0.into())
        .with_producer_epoch(claim.epoch.0)
        .into()
}

/// The meaning of an answer's code.
pub(crate) const fn classify(code: ErrorCode) -> Outcome {
    match code {
        ErrorCode::NONE => Outcome::Initialized,
        ErrorCode::COORDINATOR_NOT_AVAILABLE | ErrorCode::NOT_COORDINATOR => {
            Outcome::Retry(RetryKind::LookUp)
        }
        ErrorCode::COORDINATOR_LOAD_IN_PROGRESS | ErrorCode::REQUEST_TIMED_OUT => {
            Outcome::Retry(RetryKind::Backoff)
        }
        ErrorCode::CONCURRENT_TRANSACTIONS => Outcome::Retry(RetryKind::Concurrent),
        ErrorCode::INVALID_PRODUCER_EPOCH | ErrorCode::PRODUCER_FENCED => Outcome::Fenced,
        ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        | ErrorCode::CLUSTER_AUTHORIZATION_FAILED
        | ErrorCode::TRANSACTION_ABORTABLE => Outcome::Refused,
        ErrorCode::INVALID_TRANSACTION_TIMEOUT => Outcome::TimeoutTooLong,
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
                0 => Outcome::Initialized,
                15 | 16 => Outcome::Retry(RetryKind::LookUp),
                7 | 14 => Outcome::Retry(RetryKind::Backoff),
                51 => Outcome::Retry(RetryKind::Concurrent),
                47 | 90 => Outcome::Fenced,
                31 | 53 | 120 => Outcome::Refused,
                50 => Outcome::TimeoutTooLong,
                _ => Outcome::Fatal,
            };
            assert_eq!(classify(code), expected, "{code}");
        }
        assert_eq!(classify(ErrorCode(999)), Outcome::Fatal);
    }

    #[test]
    fn a_claim_is_sent_as_it_is_held() {
        let id: Arc<str> = "t".into();
        let RequestBody::InitProducerId(first) =
            request(Some(&id), Duration::from_secs(60), ProducerIdAndEpoch::NONE)
        else {
            panic!("another request");
        };
        assert_eq!((first.producer_id.0, first.producer_epoch), (-1, -1));
        assert_eq!(first.transaction_timeout_ms, 60_000);
        let claim = ProducerIdAndEpoch {
            id: sealwax_protocol::ids::ProducerId(7),
            epoch: sealwax_protocol::ids::ProducerEpoch(3),
        };
        let RequestBody::InitProducerId(again) = request(None, Duration::MAX, claim) else {
            panic!("another request");
        };
        assert_eq!((again.producer_id.0, again.producer_epoch), (7, 3));
        assert_eq!(again.transactional_id, None);
        assert_eq!(again.transaction_timeout_ms, i32::MAX);
    }
}
