//! The one error of the connector API.
//!
//! A connector says what happened in words for the operator, and by the kind whether trying again can help.

use std::error::Error as StdError;
use std::fmt;

/// What the runtime may do after an error of a connector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectErrorKind {
    /// The configuration is wrong; only a change of it helps. The task fails.
    Config,
    /// Data or state that cannot be handled (Java's `DataException`, `ConnectException`). The task fails.
    Permanent,
    /// A passing condition (Java's `RetriableException`): from `poll` it counts as "no data now".
    Retriable,
}

/// An error of a connector: kind, message for the operator, optional cause. Messages must not hold secrets.
#[derive(Debug)]
pub struct ConnectError {
    kind: ConnectErrorKind,
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl ConnectError {
    /// An error that only a change of configuration mends.
    pub fn config(message: impl Into<String>) -> Self {
        Self {
            kind: ConnectErrorKind::Config,
            message: message.into(),
            source: None,
        }
    }

    /// An error that trying again does not mend.
    pub fn permanent(message: impl Into<String>) -> Self {
        Self {
            kind: ConnectErrorKind::Permanent,
            message: message.into(),
            source: None,
        }
    }

    /// An error that may be gone at the next try.
    pub fn retriable(message: impl Into<String>) -> Self {
        Self {
            kind: ConnectErrorKind::Retriable,
            message: message.into(),
            source: None,
        }
    }

    /// The same error with its cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What the runtime may do about it.
    pub fn kind(&self) -> ConnectErrorKind {
        self.kind
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl StdError for ConnectError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.source {
            Some(source) => Some(source.as_ref()),
            None => None,
        }
    }
}
