//! The values of `--isolation-level`, spelled as Kafka does.

use clap::ValueEnum;
use sealwax::IsolationLevel;

/// Which records a verb reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(super) enum Isolation {
    /// Only records of committed transactions, and records without a transaction
    ReadCommitted,
    /// All records, also those of open and aborted transactions
    ReadUncommitted,
}

impl Isolation {
    /// The client's value.
    pub(super) fn level(self) -> IsolationLevel {
        match self {
            Self::ReadCommitted => IsolationLevel::ReadCommitted,
            Self::ReadUncommitted => IsolationLevel::ReadUncommitted,
        }
    }

    /// Kafka's name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ReadCommitted => "read_committed",
            Self::ReadUncommitted => "read_uncommitted",
        }
    }
}
