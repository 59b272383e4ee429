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

struct Inner {
    kind: ErrorKind,
    message: String,
    code: Option<ErrorCode>,
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
        Self {
            inner: Arc::new(Inner {
                kind,
                message: message.into(),
                code: None,
            }),
        }
    }

    pub(crate) fn broker(kind: ErrorKind, code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            inner: Arc::new(Inner {
                kind,
                message: message.into(),
                code: Some(code),
            }),
        }
    }

    /// The same error with more said about it.
    pub(crate) fn in_context(&self, say: impl FnOnce(&str) -> String) -> Self {
        Self {
            inner: Arc::new(Inner {
                kind: self.inner.kind,
                message: say(&self.inner.message),
                code: self.inner.code,
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
            | ErrorKind::TransactionAborted
            | ErrorKind::OutcomeUnknown
            | ErrorKind::InvalidState
            | ErrorKind::OffsetOutOfRange
            | ErrorKind::Corrupt
            | ErrorKind::Closed => false,
        }
    }

    /// Whether the open transaction must be aborted before the producer can go on.
    #[must_use]
    pub fn requires_abort(&self) -> bool {
        self.inner.kind == ErrorKind::TransactionAbortable
    }

    /// Whether the object that reported this can only be closed.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        matches!(self.inner.kind, ErrorKind::Fenced | ErrorKind::Closed)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.inner.kind)
            .field("message", &self.inner.message)
            .field("code", &self.inner.code)
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
