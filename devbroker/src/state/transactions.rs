//! The transactional ids, and the nodes that coordinate them: the leaders of the partitions of the transaction log.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{NodeId, TopicPartition};

use super::leadership::Leadership;
use crate::coordinator::{Phase, TransactionMetadata};
use crate::names::internal_partition;

/// A partition of an internal topic: its leader is a coordinator once it has loaded it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CoordinatorPartition {
    pub(crate) leadership: Leadership,
    pub(crate) loaded_at: Duration,
}

impl CoordinatorPartition {
    pub(crate) const fn new(leadership: Leadership) -> Self {
        Self {
            leadership,
            loaded_at: Duration::ZERO,
        }
    }

    /// Whether `node` may coordinate now.
    pub(crate) fn check(&self, now: Duration, node: NodeId) -> Result<(), ErrorCode> {
        if self.leadership.leader != Some(node) {
            Err(ErrorCode::NOT_COORDINATOR)
        } else if now < self.loaded_at {
            Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS)
        } else {
            Ok(())
        }
    }

    /// Whether anybody can be asked now, as a broker finds out that asks another.
    pub(crate) fn check_any(&self, now: Duration) -> Result<(), ErrorCode> {
        match self.leadership.leader {
            None => Err(ErrorCode::COORDINATOR_NOT_AVAILABLE),
            Some(leader) => self.check(now, leader),
        }
    }
}

/// A transactional id at its coordinator.
#[derive(Debug)]
pub(crate) struct Coordinated {
    pub(crate) metadata: TransactionMetadata,
    /// Partitions that still need the marker of the end that is decided.
    pub(crate) unmarked: BTreeSet<TopicPartition>,
}

impl Coordinated {
    /// The partitions of the transaction that have no marker yet.
    pub(crate) fn unended(&self) -> impl Iterator<Item = &TopicPartition> {
        let partitions = match self.metadata.phase() {
            Phase::Prepare { .. } => Some(&self.unmarked),
            Phase::Ongoing(open) => Some(&open.partitions),
            Phase::Empty | Phase::Complete { .. } => None,
        };
        partitions.into_iter().flatten()
    }
}

/// All transactional ids.
#[derive(Debug)]
pub(crate) struct Transactions {
    pub(crate) partitions: Vec<CoordinatorPartition>,
    pub(crate) ids: BTreeMap<Arc<str>, Coordinated>,
}

impl Transactions {
    pub(crate) fn new(leaders: Vec<Leadership>) -> Self {
        Self {
            partitions: leaders.into_iter().map(CoordinatorPartition::new).collect(),
            ids: BTreeMap::new(),
        }
    }

    /// The index of the partition that a transactional id belongs to.
    pub(crate) fn partition_of(&self, transactional_id: &str) -> usize {
        let count = i32::try_from(self.partitions.len()).unwrap_or(i32::MAX);
        internal_partition(transactional_id, count).unsigned_abs() as usize
    }

    /// The partition that a transactional id belongs to.
    pub(crate) fn home(&self, transactional_id: &str) -> Option<&CoordinatorPartition> {
        self.partitions.get(self.partition_of(transactional_id))
    }

    /// Whether `node` coordinates this id now.
    pub(crate) fn check(&self, now: Duration, node: NodeId, transactional_id: &str) -> Result<(), ErrorCode> {
        self.home(transactional_id)
            .ok_or(ErrorCode::COORDINATOR_NOT_AVAILABLE)?
            .check(now, node)
    }

    /// The id's metadata, for a leader that asks the coordinator.
    pub(crate) fn ask(
        &mut self,
        now: Duration,
        transactional_id: &str,
    ) -> Result<&mut TransactionMetadata, ErrorCode> {
        self.home(transactional_id)
            .ok_or(ErrorCode::COORDINATOR_NOT_AVAILABLE)?
            .check_any(now)?;
        self.metadata_mut(transactional_id)
            .ok_or(ErrorCode::INVALID_PRODUCER_ID_MAPPING)
    }

    pub(crate) fn metadata(&self, transactional_id: &str) -> Option<&TransactionMetadata> {
        self.ids.get(transactional_id).map(|found| &found.metadata)
    }

    pub(crate) fn metadata_mut(&mut self, transactional_id: &str) -> Option<&mut TransactionMetadata> {
        self.ids
            .get_mut(transactional_id)
            .map(|found| &mut found.metadata)
    }
}
