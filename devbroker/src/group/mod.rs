//! A group: its committed offsets, the offsets of open transactions, and who may commit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::TopicPartition;

/// An offset that a group commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offset {
    pub(crate) offset: i64,
    /// −1 for unknown.
    pub(crate) leader_epoch: i32,
    pub(crate) metadata: Option<String>,
}

/// A group.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) generation: i32,
    pub(crate) members: BTreeSet<Arc<str>>,
    committed: BTreeMap<TopicPartition, Offset>,
    /// By producer id.
    pending: BTreeMap<i64, BTreeMap<TopicPartition, Offset>>,
}

impl Group {
    /// Whether this member, of this generation, may commit offsets in a transaction (KIP-447). Whoever names nobody (an empty member id, a
    /// generation of −1) may always; without a generation anybody may while the group has no members.
    pub(crate) fn check_member(&self, member: &str, generation: i32) -> Result<(), ErrorCode> {
        if generation < 0 && (member.is_empty() || self.members.is_empty()) {
            return Ok(());
        }
        if !self.members.contains(member) {
            Err(ErrorCode::UNKNOWN_MEMBER_ID)
        } else if generation != self.generation {
            Err(ErrorCode::ILLEGAL_GENERATION)
        } else {
            Ok(())
        }
    }

    /// Takes offsets into the open transaction of a producer.
    pub(crate) fn add_pending(&mut self, producer_id: i64, partition: TopicPartition, offset: Offset) {
        self.pending
            .entry(producer_id)
            .or_default()
            .insert(partition, offset);
    }

    /// Takes an offset out of the open transaction of a producer.
    pub(crate) fn drop_pending(&mut self, producer_id: i64, partition: &TopicPartition) {
        if let Some(offsets) = self.pending.get_mut(&producer_id) {
            offsets.remove(partition);
        }
    }

    pub(crate) fn end_transaction(&mut self, producer_id: i64, is_commit: bool) {
        let offsets = self.pending.remove(&producer_id).unwrap_or_default();
        if is_commit {
            self.committed.extend(offsets);
        }
    }

    /// The committed offset.
    pub(crate) fn committed(&self, partition: &TopicPartition) -> Option<&Offset> {
        self.committed.get(partition)
    }

    /// All partitions with a committed offset.
    pub(crate) fn partitions(&self) -> impl Iterator<Item = &TopicPartition> {
        self.committed.keys()
    }

    /// Whether an open transaction has an offset for it.
    pub(crate) fn is_pending(&self, partition: &TopicPartition) -> bool {
        self.pending
            .values()
            .any(|offsets| offsets.contains_key(partition))
    }
}
