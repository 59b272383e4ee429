//! What can be wrong with a history, with what shows it.

use std::fmt;

/// A transaction's name: process, instance, number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Txn {
    /// The process.
    pub process: String,
    /// Its instance.
    pub instance: u32,
    /// The instance's transaction.
    pub number: u64,
}

impl fmt::Display for Txn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.process, self.instance, self.number)
    }
}

/// One thing that Kafka's promises forbid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Anomaly {
    /// The history itself is not one that a workload can have written.
    Malformed {
        /// Index of the event.
        event: usize,
        /// What is wrong with it.
        why: String,
    },
    /// A value was read that nobody sent.
    Invented {
        /// The value.
        value: String,
    },
    /// One offset holds different values, depending on who is asked.
    InconsistentOffset {
        /// The partition.
        key: String,
        /// The offset.
        offset: i64,
        /// What was found there.
        values: Vec<String>,
    },
    /// One value is in more than one place.
    Duplicate {
        /// The value.
        value: String,
        /// Partitions and offsets.
        places: Vec<(String, i64)>,
    },
    /// A value was read that was aborted or certainly not written.
    AbortedRead {
        /// The value.
        value: String,
        /// The reader.
        reader: String,
    },
    /// A value was read before its commit was even asked for.
    EarlyRead {
        /// The value.
        value: String,
        /// The reader.
        reader: String,
    },
    /// A part of a transaction is there and a part is not.
    Torn {
        /// The transaction.
        transaction: Txn,
        /// How many of its values are there.
        seen: usize,
        /// Those that are not.
        missing: Vec<String>,
    },
    /// A committed value was passed over: nobody read it though later ones of its partition were read.
    Lost {
        /// The value.
        value: String,
        /// Its partition and offset.
        place: (String, i64),
    },
    /// A committed value was not there for a reader that read its partition from beginning to end.
    Unseen {
        /// The value.
        value: String,
        /// The reader.
        reader: String,
    },
    /// A commit succeeded although one of the transaction's records or offsets had certainly failed.
    IncompleteCommit {
        /// The transaction.
        transaction: Txn,
        /// What had failed.
        failed: String,
    },
    /// An outcome was told twice, differently.
    Contradiction {
        /// The transaction.
        transaction: Txn,
    },
    /// A group's committed offset is not that of the last committed transaction.
    OffsetMismatch {
        /// The group and the partition.
        group: (String, String),
        /// What was found.
        found: Option<i64>,
        /// What was possible.
        possible: Vec<Option<i64>>,
    },
    /// Two records of one process and partition are in the log in the other order.
    OutOfOrder {
        /// The process.
        process: String,
        /// The partition.
        key: String,
        /// The value that was sent first, and the one that stands before it.
        values: (String, String),
    },
    /// A reader was given a record that is not behind the last one.
    NonMonotonicPoll {
        /// The reader.
        reader: String,
        /// The partition.
        key: String,
        /// The last offset, and the one that followed.
        offsets: (i64, i64),
    },
    /// A reader was not given a committed record between two that it was given.
    SkippedPoll {
        /// The reader.
        reader: String,
        /// The partition.
        key: String,
        /// The value that was passed over, and its offset.
        skipped: (String, i64),
    },
    /// An instance did something new successfully after it was told that it is fenced.
    SuccessAfterFenced {
        /// Process and instance.
        instance: String,
        /// What it did.
        op: String,
    },
    /// Transactions read each other's values, or one its own.
    Cycle {
        /// Each read a value of the next, the last one of the first.
        transactions: Vec<Txn>,
    },
    /// An act took too long, never ended, or nothing succeeded after a heal.
    Stuck {
        /// Who, and what.
        what: String,
        /// For how long, in milliseconds.
        millis: u64,
    },
}

impl Anomaly {
    /// The kind's name.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Malformed { .. } => "malformed",
            Self::Invented { .. } => "invented",
            Self::InconsistentOffset { .. } => "inconsistent offset",
            Self::Duplicate { .. } => "duplicate",
            Self::AbortedRead { .. } => "aborted read",
            Self::EarlyRead { .. } => "early read",
            Self::Torn { .. } => "torn",
            Self::Lost { .. } => "lost",
            Self::Unseen { .. } => "unseen",
            Self::IncompleteCommit { .. } => "incomplete commit",
            Self::Contradiction { .. } => "contradiction",
            Self::OffsetMismatch { .. } => "offset mismatch",
            Self::OutOfOrder { .. } => "out of order",
            Self::NonMonotonicPoll { .. } => "non monotonic poll",
            Self::SkippedPoll { .. } => "skipped poll",
            Self::SuccessAfterFenced { .. } => "success after fenced",
            Self::Cycle { .. } => "cycle",
            Self::Stuck { .. } => "stuck",
        }
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Torn {
                transaction,
                seen,
                missing,
            } => write!(
                f,
                "torn: {seen} values of {transaction} are there, but not {missing:?}"
            ),
            Self::IncompleteCommit { transaction, failed } => {
                write!(
                    f,
                    "incomplete commit: {transaction} is committed though {failed} failed"
                )
            }
            Self::Contradiction { transaction } => {
                write!(f, "contradiction: two outcomes of {transaction} were told")
            }
            Self::Cycle { transactions } => {
                let names: Vec<String> = transactions.iter().map(ToString::to_string).collect();
                write!(f, "cycle: {}", names.join(" reads "))
            }
            other => write!(f, "{other:?}"),
        }
    }
}
