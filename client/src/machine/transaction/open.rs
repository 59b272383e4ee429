//! What is to be known of one transaction while it is open: its protocol, which partitions belong to it, and what is left in doubt.
//! In: sends and answers. Out: whether there is anything to end on the coordinator, and whether the epoch may be used again.

use std::collections::{BTreeSet, HashSet};
use std::time::{Duration, Instant};

use sealwax_protocol::ids::{ProducerIdAndEpoch, TopicPartition};

use super::end_txn::AbortBasis;
use super::offsets::Offsets;
use super::version::TransactionVersion;

/// An open transaction.
#[derive(Debug)]
pub(crate) struct OpenTransaction {
    serial: u64,
    producer: ProducerIdAndEpoch,
    registration: Registration,
    reuse: EpochReuse,
    offsets: Offsets,
    clock: Clock,
    /// Until then nothing is asked of the coordinator, because someone else may be taking over.
    gives_way_until: Option<Instant>,
}

/// How the coordinator learns of the partitions.
#[derive(Debug)]
enum Registration {
    /// From AddPartitionsToTxn.
    V1 {
        pending: BTreeSet<TopicPartition>,
        added: HashSet<TopicPartition>,
        /// An AddPartitionsToTxn may have been carried out without anyone knowing.
        doubt: Doubt,
    },
    /// From the partitions' leaders, once a write was attempted.
    V2(Attempt),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Doubt {
    /// None.
    None,
    /// The coordinator has denied it, but may have it in its log.
    Denied,
    /// It had no answer: it may arrive still.
    Unanswered,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    None,
    Made,
}

/// Whether the next transaction may use the same epoch (V1; under V2 each has its own).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EpochReuse {
    /// It may.
    Allowed,
    /// It may not, by a setting, if the coordinator knows of this transaction.
    OncePerTransaction,
    /// It may not: a request or write of this transaction may still arrive, or sequences were given up.
    Forbidden,
}

/// The coordinator's clock of this transaction, as far as it can be known here: it runs since the first request at the earliest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clock {
    Stopped,
    Running(Instant),
    /// It runs, and a warning was given.
    Warned(Instant),
}

impl OpenTransaction {
    /// A transaction that begins. `serial` tells the producer's transactions apart.
    pub(crate) fn new(
        serial: u64,
        producer: ProducerIdAndEpoch,
        version: TransactionVersion,
        reuse: EpochReuse,
    ) -> Self {
        Self {
            serial,
            producer,
            registration: match version {
                TransactionVersion::V1 => Registration::V1 {
                    pending: BTreeSet::new(),
                    added: HashSet::new(),
                    doubt: Doubt::None,
                },
                TransactionVersion::V2 => Registration::V2(Attempt::None),
            },
            reuse,
            offsets: Offsets::default(),
            clock: Clock::Stopped,
            gives_way_until: None,
        }
    }

    /// A record for this partition was taken.
    pub(crate) fn use_partition(&mut self, partition: TopicPartition) {
        match &mut self.registration {
            Registration::V1 { pending, added, .. } => {
                if !added.contains(&partition) {
                    pending.insert(partition);
                }
            }
            Registration::V2(_) => {}
        }
    }

    /// The coordinator has these partitions.
    pub(crate) fn partitions_added(&mut self, partitions: impl IntoIterator<Item = TopicPartition>) {
        match &mut self.registration {
            Registration::V1 { pending, added, .. } => {
                for partition in partitions {
                    pending.remove(&partition);
                    added.insert(partition);
                }
            }
            Registration::V2(_) => {}
        }
    }

    /// An AddPartitionsToTxn or AddOffsetsToTxn has no answer, or one that leaves open whether it took effect.
    pub(crate) fn adding_in_doubt(&mut self, how: Doubt) {
        match &mut self.registration {
            Registration::V1 { doubt, .. } => *doubt = how.max(*doubt),
            Registration::V2(_) => {}
        }
    }

    /// Whether a request that adds something may arrive late, and so open a transaction after this one's end.
    pub(crate) const fn adding_may_arrive(&self) -> bool {
        match &self.registration {
            Registration::V1 { doubt, .. } => matches!(doubt, Doubt::Unanswered),
            Registration::V2(_) => false,
        }
    }

    /// The consumer groups' offsets.
    pub(crate) const fn offsets(&self) -> &Offsets {
        &self.offsets
    }

    /// The consumer groups' offsets.
    pub(crate) const fn offsets_mut(&mut self) -> &mut Offsets {
        &mut self.offsets
    }

    /// The group that the coordinator has to be told of (V1).
    pub(crate) fn group_to_add(&self) -> Option<&str> {
        match &self.registration {
            Registration::V1 { .. } => self.offsets.group_to_add(),
            Registration::V2(_) => None,
        }
    }

    /// A request is handed out that makes the coordinator's clock run.
    pub(crate) const fn start_clock(&mut self, now: Instant) {
        match self.clock {
            Clock::Stopped => self.clock = Clock::Running(now),
            Clock::Running(_) | Clock::Warned(_) => {}
        }
    }

    /// For how long the coordinator may have known of it.
    pub(crate) fn age(&self, now: Instant) -> Option<Duration> {
        match self.clock {
            Clock::Stopped => None,
            Clock::Running(since) | Clock::Warned(since) => Some(now.saturating_duration_since(since)),
        }
    }

    /// When a warning is due that four fifths of `timeout` are over.
    pub(crate) fn warning_due(&self, timeout: Duration) -> Option<Instant> {
        match self.clock {
            Clock::Running(since) => Some(since + timeout * 4 / 5),
            Clock::Stopped | Clock::Warned(_) => None,
        }
    }

    /// The warning was given.
    pub(crate) const fn warned(&mut self) {
        if let Clock::Running(since) = self.clock {
            self.clock = Clock::Warned(since);
        }
    }

    /// When `timeout` is over.
    pub(crate) fn strikes_at(&self, timeout: Duration) -> Option<Instant> {
        match self.clock {
            Clock::Running(since) | Clock::Warned(since) => Some(since + timeout),
            Clock::Stopped => None,
        }
    }

    /// A request that the transaction's coordinator learns of by itself was handed out (Produce, TxnOffsetCommit).
    pub(crate) const fn write_attempted(&mut self) {
        match &mut self.registration {
            Registration::V1 { .. } => {}
            Registration::V2(attempt) => *attempt = Attempt::Made,
        }
    }

    /// The epoch must not be used by another transaction.
    pub(crate) const fn forbid_reuse(&mut self) {
        self.reuse = EpochReuse::Forbidden;
    }

    /// Someone else has ended the transaction.
    pub(crate) const fn give_way(&mut self, until: Instant) {
        self.gives_way_until = Some(until);
    }

    /// Until when nothing may be asked of the coordinator.
    pub(crate) const fn gives_way_until(&self) -> Option<Instant> {
        self.gives_way_until
    }

    /// Which of the producer's transactions.
    pub(crate) const fn serial(&self) -> u64 {
        self.serial
    }

    /// Its producer id and epoch.
    pub(crate) const fn producer(&self) -> ProducerIdAndEpoch {
        self.producer
    }

    /// Its protocol.
    pub(crate) const fn version(&self) -> TransactionVersion {
        match self.registration {
            Registration::V1 { .. } => TransactionVersion::V1,
            Registration::V2(_) => TransactionVersion::V2,
        }
    }

    /// Partitions that the coordinator has to be told of.
    pub(crate) fn pending(&self) -> Option<&BTreeSet<TopicPartition>> {
        match &self.registration {
            Registration::V1 { pending, .. } if !pending.is_empty() => Some(pending),
            Registration::V1 { .. } | Registration::V2(_) => None,
        }
    }

    /// Whether a partition may be written to.
    pub(crate) fn may_write(&self, partition: &TopicPartition) -> bool {
        match &self.registration {
            Registration::V1 { added, .. } => added.contains(partition),
            Registration::V2(_) => true,
        }
    }

    /// Whether the coordinator may know of the transaction, and how sure that is. `None`: there is nothing to end.
    pub(crate) fn basis(&self) -> Option<AbortBasis> {
        match &self.registration {
            Registration::V1 { added, .. } if !added.is_empty() || self.offsets.has_group() => {
                Some(AbortBasis::Registered)
            }
            Registration::V1 { doubt, .. } => match doubt {
                Doubt::None => None,
                Doubt::Denied | Doubt::Unanswered => Some(AbortBasis::Doubtful),
            },
            // The leader may have added the partition even if every write failed.
            Registration::V2(Attempt::Made) => Some(AbortBasis::Registered),
            Registration::V2(Attempt::None) => None,
        }
    }

    /// Whether the next transaction needs another epoch than this one gives (KAFKA-17754, KAFKA-14053).
    pub(crate) fn needs_new_epoch(&self) -> bool {
        match (&self.registration, self.reuse) {
            (Registration::V1 { .. }, EpochReuse::Forbidden) => true,
            (Registration::V1 { .. }, EpochReuse::OncePerTransaction) => self.basis().is_some(),
            (Registration::V1 { .. }, EpochReuse::Allowed) | (Registration::V2(_), _) => false,
        }
    }
}
