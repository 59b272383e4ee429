//! What to say about a missing permission. In: operation and resource. Out: who lacks what, and the command that grants it.
//!
//! This client speaks to listeners without authentication only, where a broker takes everybody for `User:ANONYMOUS`.

use std::fmt;

const PRINCIPAL: &str = "User:ANONYMOUS";

/// What is to be accessed, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resource<'a> {
    /// A transactional id.
    TransactionalId(&'a str),
    /// A consumer group.
    Group(&'a str),
    /// A topic.
    Topic(&'a str),
    /// The cluster as a whole.
    Cluster,
}

/// An operation in the spelling of `kafka-acls`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Reading; also committing offsets.
    Read,
    /// Writing.
    Write,
    /// Looking.
    Describe,
    /// Getting a producer id without a transactional id.
    IdempotentWrite,
}

/// Who lacks which permission, and how to grant it.
pub(crate) fn missing(operation: Operation, resource: Resource<'_>) -> String {
    format!(
        "{PRINCIPAL} lacks the permission {operation:?} on {resource}; grant it with: kafka-acls --bootstrap-server HOST:PORT --add \
         --allow-principal {PRINCIPAL} --operation {operation:?} {}",
        option(resource)
    )
}

fn option(resource: Resource<'_>) -> String {
    match resource {
        Resource::TransactionalId(name) => format!("--transactional-id {}", quoted(name)),
        Resource::Group(name) => format!("--group {}", quoted(name)),
        Resource::Topic(name) => format!("--topic {}", quoted(name)),
        Resource::Cluster => "--cluster".to_owned(),
    }
}

/// A name as one word of a shell.
fn quoted(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if !name.is_empty() && name.bytes().all(is_plain) {
        name.to_owned()
    } else {
        format!("'{}'", name.replace('\'', r"'\''"))
    }
}

impl fmt::Display for Resource<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TransactionalId(name) => write!(f, "transactional id {name:?}"),
            Self::Group(name) => write!(f, "group {name:?}"),
            Self::Topic(name) => write!(f, "topic {name:?}"),
            Self::Cluster => f.write_str("the cluster"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn principal_operation_resource_and_command_are_named() {
        for (operation, resource, parts) in [
            (
                Operation::Write,
                Resource::TransactionalId("orders-1"),
                [
                    "Write on transactional id \"orders-1\"",
                    "--operation Write --transactional-id orders-1",
                ],
            ),
            (
                Operation::Read,
                Resource::Group("it's"),
                ["Read on group \"it's\"", r"--operation Read --group 'it'\''s'"],
            ),
            (
                Operation::Write,
                Resource::Topic("out"),
                ["Write on topic \"out\"", "--operation Write --topic out"],
            ),
            (
                Operation::IdempotentWrite,
                Resource::Cluster,
                [
                    "IdempotentWrite on the cluster",
                    "--operation IdempotentWrite --cluster",
                ],
            ),
        ] {
            let text = missing(operation, resource);
            for part in parts.into_iter().chain(["User:ANONYMOUS lacks"]) {
                assert!(text.contains(part), "{text:?} lacks {part:?}");
            }
        }
    }
}
