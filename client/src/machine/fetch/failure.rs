//! What an error code means to a reader, and the words for the errors that reach the application.
//!
//! In: codes of Fetch and ListOffsets answers, damage found in records. Out: a reaction, or an [`Error`] that names the partition.

use sealwax_protocol::error::DecodeError;
use sealwax_protocol::error_code::{ErrorClass, ErrorCode};
use sealwax_protocol::ids::TopicPartition;

use crate::error::{Error, ErrorKind};

/// What to do about an error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reaction {
    /// It is none.
    Accept,
    /// Get the metadata anew and ask again, after a pause.
    Retry,
    /// The position is not in the log.
    OutOfRange,
    /// The broker found its own copy damaged.
    Corrupt,
    /// Tell the application.
    Fail(ErrorKind),
}

/// Only "out of range" ever moves a position: any other code says nothing about it.
pub(super) fn classify(code: ErrorCode) -> Reaction {
    match code {
        ErrorCode::OFFSET_OUT_OF_RANGE => Reaction::OutOfRange,
        ErrorCode::CORRUPT_MESSAGE => Reaction::Corrupt,
        ErrorCode::TOPIC_AUTHORIZATION_FAILED | ErrorCode::CLUSTER_AUTHORIZATION_FAILED => {
            Reaction::Fail(ErrorKind::Authorization)
        }
        ErrorCode::UNSUPPORTED_VERSION => Reaction::Fail(ErrorKind::UnsupportedVersion),
        // Brokers answer it while they start, stop or lose a disk.
        ErrorCode::UNKNOWN_SERVER_ERROR => Reaction::Retry,
        code => match code.class() {
            ErrorClass::None => Reaction::Accept,
            ErrorClass::Retriable | ErrorClass::RefreshRetriable => Reaction::Retry,
            ErrorClass::Abortable
            | ErrorClass::ApplicationRecoverable
            | ErrorClass::InvalidConfiguration
            | ErrorClass::Fatal => Reaction::Fail(ErrorKind::Broker),
        },
    }
}

/// The broker refuses to serve a partition.
pub(super) fn refused(kind: ErrorKind, code: ErrorCode, partition: &TopicPartition) -> Error {
    Error::broker(kind, code, format!("partition {partition} cannot be read"))
}

/// The log does not have the position; it reaches from `start` to `end`.
pub(super) fn out_of_range(partition: &TopicPartition, offset: i64, start: i64, end: i64) -> Error {
    let text = format!(
        "offset {offset} of partition {partition} is not in the log, which reaches from {start} to {end} \
         (records may have been deleted, or the offset was never written); seek to go on"
    );
    Error::broker(ErrorKind::OffsetOutOfRange, ErrorCode::OFFSET_OUT_OF_RANGE, text)
}

/// The batch at a position was unreadable twice.
pub(super) fn damaged(partition: &TopicPartition, offset: i64, reason: &Damage) -> Error {
    let text = format!(
        "partition {partition} cannot be read at offset {offset}, nor was it when it was fetched again: {reason}; \
         seek behind the damage to go on"
    );
    Error::new(ErrorKind::Corrupt, text)
}

/// Something that this client cannot read, however often it is fetched.
pub(super) fn unreadable(partition: &TopicPartition, offset: i64, reason: &DecodeError) -> Error {
    let text = format!("partition {partition} cannot be read at offset {offset}: {reason}");
    Error::new(ErrorKind::NotBuilt, text)
}

/// A record inside of an intact batch breaks the format: the producer wrote it so.
pub(crate) fn malformed_record(partition: &TopicPartition, offset: i64, reason: &DecodeError) -> Error {
    let text =
        format!("a record of partition {partition} at or behind offset {offset} is malformed: {reason}");
    Error::new(ErrorKind::Corrupt, text)
}

/// What was wrong with fetched bytes.
#[derive(Debug, thiserror::Error)]
pub(super) enum Damage {
    /// The broker found it.
    #[error("the broker answered {0}")]
    Broker(ErrorCode),
    /// The decoder found it.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// Nothing in the answer is at or behind the position.
    #[error("the broker sent only records below that offset")]
    OnlyOlder,
    /// The answer as a whole was unreadable.
    #[error("{0}")]
    Answer(Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_code_has_the_reaction_that_the_consumer_needs() {
        let retried = [3, 5, 6, 9, 56, 74, 75, 78, 100, 103, -1];
        for code in ErrorCode::ALL.iter().copied() {
            let reaction = classify(code);
            match code.0 {
                0 => assert_eq!(reaction, Reaction::Accept),
                1 => assert_eq!(reaction, Reaction::OutOfRange),
                2 => assert_eq!(reaction, Reaction::Corrupt),
                29 | 31 => assert_eq!(reaction, Reaction::Fail(ErrorKind::Authorization)),
                number if retried.contains(&number) => assert_eq!(reaction, Reaction::Retry, "{code}"),
                _ => assert!(matches!(reaction, Reaction::Retry | Reaction::Fail(_)), "{code}"),
            }
        }
        assert_eq!(classify(ErrorCode(999)), Reaction::Fail(ErrorKind::Broker));
    }
}
