//! The client's one public error: opaque, cheap to clone, with questions that say what to do about it.

use std::fmt;
use std::sync::Arc;

use sealwax_protocol::error_code::ErrorCode;

/// Result of the client's calls.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong and what can be done about it.
///
/// Cloning costs one reference count, because one failure may be told to many waiting callers.
#[derive(Clone)]
pub struct Error {
    inner: Arc<Inner>,
}

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    code: Option<ErrorCode>,
    reach: Reach,
}

/// What an error has taken with it (KIP-1050).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// The call that failed.
    Call,
    /// The open transaction, which can only be aborted.
    Transaction,
    /// The producer, which can only be closed.
    Producer,
}

/// What kind of thing went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A setting is missing, malformed, out of range, or contradicts another.
    Config,
    /// No broker could be reached, or the connection broke.
    Unreachable,
    /// What answers at the address does not speak Kafka's protocol (an HTTP server, a TLS port, …).
    NotKafka,
    /// A deadline passed. What it means for the data is said in the message.
    Timeout,
    /// The broker is too old, or too new, for what was asked.
    UnsupportedVersion,
    /// This client cannot do that yet.
    NotBuilt,
    /// The topic or partition does not exist (and was not created by asking for it).
    UnknownTopic,
    /// The principal lacks a permission.
    Authorization,
    /// A record is larger than the settings or the broker allow.
    RecordTooLarge,
    /// Another producer with the same transactional id has taken over. This one must stop.
    Fenced,
    /// The transaction cannot be committed any more; it must be aborted. The producer stays usable.
    TransactionAbortable,
    /// The consumer group has gone on without this member, so that its offsets cannot be part of the transaction: the partitions may
    /// belong to another member by now. Kafka's name is the same.
    CommitFailed,
    /// The transaction was aborted, confirmed by the broker or because nothing of it was ever sent.
    TransactionAborted,
    /// Whether a write or a commit took effect cannot be known.
    OutcomeUnknown,
    /// The call is not allowed in the present state.
    InvalidState,
    /// The wanted offset is not in the log (any more).
    OffsetOutOfRange,
    /// Bytes from a broker are damaged or break the protocol.
    Corrupt,
    /// The broker answered with an error that has no kind of its own; see [`Error::code`].
    Broker,
    /// The client, producer or consumer was closed.
    Closed,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self::of(kind, None, message.into())
    }

    pub(crate) fn broker(kind: ErrorKind, code: ErrorCode, message: impl Into<String>) -> Self {
        Self::of(kind, Some(code), message.into())
    }

    fn of(kind: ErrorKind, code: Option<ErrorCode>, message: String) -> Self {
        let reach = match kind {
            ErrorKind::Fenced | ErrorKind::Closed => Reach::Producer,
            ErrorKind::TransactionAbortable | ErrorKind::CommitFailed => Reach::Transaction,
            ErrorKind::Config
            | ErrorKind::Unreachable
            | ErrorKind::NotKafka
            | ErrorKind::Timeout
            | ErrorKind::UnsupportedVersion
            | ErrorKind::NotBuilt
            | ErrorKind::UnknownTopic
            | ErrorKind::Authorization
            | ErrorKind::RecordTooLarge
            | ErrorKind::TransactionAborted
            | ErrorKind::OutcomeUnknown
            | ErrorKind::InvalidState
            | ErrorKind::OffsetOutOfRange
            | ErrorKind::Corrupt
            | ErrorKind::Broker => Reach::Call,
        };
        Self {
            inner: Arc::new(Inner {
                kind,
                message,
                code,
                reach,
            }),
        }
    }

    /// The same error with more said about it.
    pub(crate) fn in_context(&self, say: impl FnOnce(&str) -> String) -> Self {
        Self {
            inner: Arc::new(Inner {
                message: say(&self.inner.message),
                ..Inner::clone(&self.inner)
            }),
        }
    }

    /// The same error as the reason why the open transaction can only be aborted.
    pub(crate) fn of_transaction(&self) -> Self {
        self.reaching(Reach::Transaction)
    }

    /// The same error as the reason why the producer is beyond use.
    pub(crate) fn of_producer(&self) -> Self {
        self.reaching(Reach::Producer)
    }

    fn reaching(&self, reach: Reach) -> Self {
        if self.inner.reach == reach {
            return self.clone();
        }
        Self {
            inner: Arc::new(Inner {
                reach,
                ..Inner::clone(&self.inner)
            }),
        }
    }

    /// What kind of error this is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// The broker's error code, if a broker's answer is behind this error.
    #[must_use]
    pub fn code(&self) -> Option<ErrorCode> {
        self.inner.code
    }

    /// Whether the same call may succeed if it is made again, without anything else being done first.
    #[must_use]
    pub fn is_retriable(&self) -> bool {
        self.inner.reach == Reach::Call && self.is_passing()
    }

    /// Whether the cause may be gone a little later, whatever it has taken with it.
    pub(crate) fn is_passing(&self) -> bool {
        match self.inner.kind {
            ErrorKind::Unreachable | ErrorKind::Timeout => true,
            ErrorKind::Broker => self.inner.code.is_some_and(ErrorCode::is_retriable),
            ErrorKind::Config
            | ErrorKind::NotKafka
            | ErrorKind::UnsupportedVersion
            | ErrorKind::NotBuilt
            | ErrorKind::UnknownTopic
            | ErrorKind::Authorization
            | ErrorKind::RecordTooLarge
            | ErrorKind::Fenced
            | ErrorKind::TransactionAbortable
            | ErrorKind::CommitFailed
            | ErrorKind::TransactionAborted
            | ErrorKind::OutcomeUnknown
            | ErrorKind::InvalidState
            | ErrorKind::OffsetOutOfRange
            | ErrorKind::Corrupt
            | ErrorKind::Closed => false,
        }
    }

    /// Whether the open transaction must be aborted before the producer can go on (KIP-1050: abortable).
    #[must_use]
    pub fn requires_abort(&self) -> bool {
        self.inner.reach == Reach::Transaction
    }

    /// Whether the object that reported this can only be closed (KIP-1050: fatal, or to be recovered from by a new producer).
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        self.inner.reach == Reach::Producer
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.inner.kind)
            .field("message", &self.inner.message)
            .field("code", &self.inner.code)
            .field("reach", &self.inner.reach)
            .finish()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.inner.message)?;
        match self.inner.code {
            Some(code) => write!(f, ": {code}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_one_thing_is_to_be_done_about_an_error() {
        let timeout = Error::new(ErrorKind::Timeout, "late");
        assert!(timeout.is_retriable() && !timeout.requires_abort() && !timeout.is_fatal());
        let abortable = timeout.of_transaction();
        assert!(!abortable.is_retriable() && abortable.requires_abort() && !abortable.is_fatal());
        assert!(abortable.is_passing(), "it is worth another transaction");
        let fatal = abortable.of_producer();
        assert!(!fatal.is_retriable() && !fatal.requires_abort() && fatal.is_fatal());
        let said_more = fatal.in_context(|text| format!("{text} again"));
        assert!(said_more.is_fatal());
        assert_eq!(said_more.kind(), ErrorKind::Timeout);
        assert!(Error::new(ErrorKind::Fenced, "x").is_fatal());
        assert!(Error::new(ErrorKind::CommitFailed, "x").requires_abort());
    }
}
