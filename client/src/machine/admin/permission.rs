//! A refusal for lack of a permission: which operation on which resource, and the command that grants it. Pure text.

use std::fmt;

use sealwax_protocol::error_code::ErrorCode;

use crate::error::{Error, ErrorKind};

/// What a permission is needed on.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Resource<'a> {
    /// A topic.
    Topic(&'a str),
    /// A transactional id.
    TransactionalId(&'a str),
    /// The cluster.
    Cluster,
}

/// A permission that a call needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Permission<'a> {
    /// The operation, in Kafka's spelling.
    pub(crate) operation: &'static str,
    /// On what.
    pub(crate) resource: Resource<'a>,
}

impl Permission<'_> {
    /// The refusal as an error. The client does not know by which name the broker knows it, so the command leaves that open.
    pub(crate) fn denied(self, code: ErrorCode, what: &str) -> Error {
        Error::broker(ErrorKind::Authorization, code, self.lacking(what))
    }

    /// A refusal, with what is lacking said beside it.
    pub(crate) fn explain(self, error: &Error) -> Error {
        error.in_context(|what| self.lacking(what))
    }

    fn lacking(self, what: &str) -> String {
        format!(
            "{what}: the principal of this client lacks {self}; grant it with kafka-acls.sh --bootstrap-server HOST:PORT --add \
             --allow-principal User:NAME --operation {} {}",
            self.operation,
            self.resource.flag()
        )
    }
}

impl fmt::Display for Permission<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "operation {} on ", self.operation)?;
        match self.resource {
            Resource::Topic(name) => write!(f, "Topic {name:?}"),
            Resource::TransactionalId(id) => write!(f, "TransactionalId {id:?}"),
            Resource::Cluster => f.write_str("Cluster \"kafka-cluster\""),
        }
    }
}

impl Resource<'_> {
    fn flag(self) -> String {
        match self {
            Self::Topic(name) => format!("--topic {}", quoted(name)),
            Self::TransactionalId(id) => format!("--transactional-id {}", quoted(id)),
            Self::Cluster => "--cluster".to_owned(),
        }
    }
}

/// As a shell takes it for one word.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:/".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operation_resource_and_command_are_named() {
        let permission = Permission {
            operation: "Describe",
            resource: Resource::TransactionalId("it's 1"),
        };
        let error = permission.denied(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "it failed");
        assert_eq!(error.kind(), ErrorKind::Authorization);
        let text = error.to_string();
        for part in [
            "it failed: ",
            "operation Describe on TransactionalId \"it's 1\"",
            "kafka-acls.sh",
            r"--operation Describe --transactional-id 'it'\''s 1'",
            "TRANSACTIONAL_ID_AUTHORIZATION_FAILED (53)",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        assert_eq!(Resource::Topic("a.b-c_1").flag(), "--topic a.b-c_1");
        assert_eq!(Resource::Cluster.flag(), "--cluster");
    }
}
