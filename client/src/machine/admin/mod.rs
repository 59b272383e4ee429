//! Admin calls: one file each builds the request and reads the answer. Here is what they share: what an answer means, the
//! book of a call over several items, and the way to the brokers that they live at.

pub(crate) mod abort_transaction;
pub(crate) mod create_topics;
pub(crate) mod describe_configs;
pub(crate) mod describe_producers;
pub(crate) mod describe_topics;
pub(crate) mod describe_transactions;
pub(crate) mod fence_producers;
pub(crate) mod items;
pub(crate) mod leaders;
pub(crate) mod list_offsets;
pub(crate) mod list_transactions;
pub(crate) mod permission;
pub(crate) mod routed;
pub(crate) mod transaction_state;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::response::ResponseBody;

use crate::error::{Error, ErrorKind};

/// What an answer means for one item of a call.
#[derive(Debug, Clone)]
pub(crate) enum Verdict<T> {
    /// It is done.
    Done(T),
    /// Asking again after a pause may help.
    Again(Error),
    /// Asking again would not help.
    Failed(Error),
}

/// What an error code means where nothing special is known about it.
pub(crate) fn verdict<T>(code: ErrorCode, what: &str, detail: Option<&str>, done: T) -> Verdict<T> {
    if !code.is_error() {
        return Verdict::Done(done);
    }
    let error = failure(code, what, detail);
    if code.is_retriable() && error.kind() != ErrorKind::UnknownTopic {
        Verdict::Again(error)
    } else {
        Verdict::Failed(error)
    }
}

/// An error code as an error.
pub(crate) fn failure(code: ErrorCode, what: &str, detail: Option<&str>) -> Error {
    let kind = match code {
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION | ErrorCode::UNKNOWN_TOPIC_ID => ErrorKind::UnknownTopic,
        ErrorCode::TOPIC_AUTHORIZATION_FAILED
        | ErrorCode::GROUP_AUTHORIZATION_FAILED
        | ErrorCode::CLUSTER_AUTHORIZATION_FAILED
        | ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED => ErrorKind::Authorization,
        ErrorCode::UNSUPPORTED_VERSION => ErrorKind::UnsupportedVersion,
        _ => ErrorKind::Broker,
    };
    let message = match detail.filter(|detail| !detail.is_empty()) {
        Some(detail) => format!("{what}: {detail}"),
        None => what.to_owned(),
    };
    Error::broker(kind, code, message)
}

/// The answer is that of another API.
pub(crate) fn unexpected(what: &str, body: &ResponseBody) -> Error {
    Error::new(
        ErrorKind::Corrupt,
        format!("{what} was answered with {:?}", body.api_key()),
    )
}

/// The answer does not speak of something that was asked.
pub(crate) fn left_out(what: &str) -> Error {
    Error::new(
        ErrorKind::Corrupt,
        format!("{what}: the broker's answer leaves it out"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_but_none_is_a_failure_that_carries_the_code() {
        for &code in ErrorCode::ALL {
            match verdict(code, "topic \"t\"", Some("why"), ()) {
                Verdict::Done(()) => assert_eq!(code, ErrorCode::NONE),
                Verdict::Again(error) => {
                    assert!(code.is_retriable());
                    assert_eq!(error.code(), Some(code));
                }
                Verdict::Failed(error) => {
                    assert!(
                        !code.is_retriable() || error.kind() == ErrorKind::UnknownTopic,
                        "{code}"
                    );
                    assert!(error.to_string().starts_with("topic \"t\": why"), "{error}");
                }
            }
        }
    }
}
