//! What a coordinator knows of a transactional id (Java's `TransactionMetadata`).

use std::collections::BTreeSet;
use std::time::Duration;

use sealwax_protocol::ids::{ProducerEpoch, ProducerId, ProducerIdAndEpoch, TopicPartition};

/// The wire's "none" of an id or epoch.
pub(super) const NONE: i16 = -1;
/// The last epoch that a client gets: one more is kept for fencing it.
pub(super) const LAST_EPOCH: i16 = i16::MAX - 1;

/// How a transaction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Its records count.
    Commit,
    /// They do not.
    Abort,
}

/// By whose rules a transaction is ended: TV1, or TV2 with its raised epochs (KIP-890).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// TV1: the epoch stays.
    V1,
    /// TV2: every end raises the epoch.
    V2,
}

/// The partitions of a transaction, those of committed offsets included, and when it began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenTransaction {
    /// Where markers will be needed.
    pub partitions: BTreeSet<TopicPartition>,
    /// When the first of them was added.
    pub started: Duration,
}

/// Where the transaction stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// There was none since the producer id was handed out.
    Empty,
    /// It has partitions and no end.
    Ongoing(OpenTransaction),
    /// Its end is decided, and not in all partitions yet.
    Prepare {
        /// The end.
        outcome: Outcome,
        /// By whose rules.
        level: Level,
        /// What is ended.
        open: OpenTransaction,
    },
    /// Its end is in all partitions.
    Complete {
        /// The end.
        outcome: Outcome,
        /// When the transaction began.
        started: Duration,
    },
}

impl Phase {
    /// Kafka's name of the state.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::Ongoing(_) => "Ongoing",
            Self::Prepare { outcome, .. } => match outcome {
                Outcome::Commit => "PrepareCommit",
                Outcome::Abort => "PrepareAbort",
            },
            Self::Complete { outcome, .. } => match outcome {
                Outcome::Commit => "CompleteCommit",
                Outcome::Abort => "CompleteAbort",
            },
        }
    }
}

/// A transactional id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionMetadata {
    pub(super) producer_id: i64,
    /// −1 before the first InitProducerId.
    pub(super) epoch: i16,
    /// The epoch before, if its holder may repeat its last call; −1 if not.
    pub(super) last_epoch: i16,
    pub(super) previous_producer_id: i64,
    /// Takes over when the end is complete, because the epochs of this one are used up (TV2). −1 for none.
    pub(super) next_producer_id: i64,
    pub(super) timeout: Duration,
    pub(super) phase: Phase,
    /// When the last transaction that is complete began.
    pub(super) last_started: Option<Duration>,
}

impl TransactionMetadata {
    /// A transactional id that nobody has used yet.
    pub(crate) const fn new(producer_id: i64, timeout: Duration) -> Self {
        Self {
            producer_id,
            epoch: NONE,
            last_epoch: NONE,
            previous_producer_id: NONE as i64,
            next_producer_id: NONE as i64,
            timeout,
            phase: Phase::Empty,
            last_started: None,
        }
    }

    /// The producer that is allowed to write.
    #[must_use]
    pub const fn producer(&self) -> ProducerIdAndEpoch {
        ProducerIdAndEpoch {
            id: ProducerId(self.producer_id),
            epoch: ProducerEpoch(self.epoch),
        }
    }

    /// Where the transaction stands.
    #[must_use]
    pub const fn phase(&self) -> &Phase {
        &self.phase
    }

    /// `transaction.timeout.ms` of the producer.
    #[must_use]
    pub const fn timeout(&self) -> Duration {
        self.timeout
    }

    /// The partitions of the transaction, until its end is complete.
    #[must_use]
    pub const fn partitions(&self) -> Option<&BTreeSet<TopicPartition>> {
        match &self.phase {
            Phase::Ongoing(open) | Phase::Prepare { open, .. } => Some(&open.partitions),
            Phase::Empty | Phase::Complete { .. } => None,
        }
    }

    /// When the transaction began; also kept when its end is complete.
    #[must_use]
    pub const fn started(&self) -> Option<Duration> {
        match &self.phase {
            Phase::Ongoing(open) | Phase::Prepare { open, .. } => Some(open.started),
            Phase::Complete { started, .. } => Some(*started),
            Phase::Empty => None,
        }
    }

    /// When the last transaction that is complete began, whatever happened since.
    pub(crate) const fn last_started(&self) -> Option<Duration> {
        self.last_started
    }

    pub(super) const fn is_exhausted(&self) -> bool {
        self.epoch >= LAST_EPOCH
    }
}
