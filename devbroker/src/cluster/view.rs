//! Looking in, for checkers: logs, transactions, offsets. Changes nothing.

use bytes::Bytes;
use sealwax_protocol::ids::{LeaderEpoch, NodeId, TopicPartition};

use super::Cluster;
use crate::coordinator::TransactionMetadata;
use crate::log::PartitionLog;

/// A group's offset of one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupOffset {
    /// The committed one, if any.
    pub committed: Option<i64>,
    /// Whether an open transaction has another one.
    pub is_pending: bool,
}

impl Cluster {
    /// The log of a partition.
    #[must_use]
    pub fn log(&self, partition: &TopicPartition) -> Option<&PartitionLog> {
        self.state.topics.partition(partition).map(|found| &found.log)
    }

    /// The values that a read_committed reader gets of a partition, found the slow way (see [`PartitionLog::committed_values`]).
    #[must_use]
    pub fn committed_records(&self, partition: &TopicPartition) -> Vec<Bytes> {
        self.log(partition)
            .map(PartitionLog::committed_values)
            .unwrap_or_default()
    }

    /// The end of a partition's log.
    #[must_use]
    pub fn high_watermark(&self, partition: &TopicPartition) -> Option<i64> {
        self.log(partition).map(PartitionLog::high_watermark)
    }

    /// The end of what belongs to no open transaction.
    #[must_use]
    pub fn last_stable_offset(&self, partition: &TopicPartition) -> Option<i64> {
        self.log(partition).map(PartitionLog::last_stable_offset)
    }

    /// What the coordinator knows of a transactional id.
    #[must_use]
    pub fn transaction(&self, transactional_id: &str) -> Option<&TransactionMetadata> {
        self.state.transactions.metadata(transactional_id)
    }

    /// A group's committed offset; [`Cluster::group_offset_state`] also tells of open transactions.
    #[must_use]
    pub fn group_offset(&self, group: &str, partition: &TopicPartition) -> Option<i64> {
        self.group_offset_state(group, partition).committed
    }

    /// A group's committed offset, and whether an open transaction has another one.
    #[must_use]
    pub fn group_offset_state(&self, group: &str, partition: &TopicPartition) -> GroupOffset {
        let group = self.state.groups.groups.get(group);
        GroupOffset {
            committed: group
                .and_then(|group| group.committed(partition))
                .map(|offset| offset.offset),
            is_pending: group.is_some_and(|group| group.is_pending(partition)),
        }
    }

    /// The leader of a partition, and its epoch.
    #[must_use]
    pub fn leader(&self, partition: &TopicPartition) -> Option<(NodeId, LeaderEpoch)> {
        let leadership = self.state.topics.partition(partition)?.leadership;
        Some((leadership.leader?, LeaderEpoch(leadership.epoch)))
    }

    /// The coordinator of a transactional id.
    #[must_use]
    pub fn transaction_coordinator(&self, transactional_id: &str) -> Option<NodeId> {
        self.state.transactions.home(transactional_id)?.leadership.leader
    }

    /// The coordinator of a group.
    #[must_use]
    pub fn group_coordinator(&self, group: &str) -> Option<NodeId> {
        let partition = self.state.groups.partition_of(group);
        self.state.groups.leadership(&partition)?.leader
    }

    /// Whether a node lives.
    #[must_use]
    pub fn is_up(&self, node: NodeId) -> bool {
        self.state.nodes.is_up(node)
    }
}
