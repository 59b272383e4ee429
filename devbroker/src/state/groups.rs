//! The groups' committed offsets, those of open transactions beside them, and the nodes that coordinate them: the leaders of the partitions of
//! `__consumer_offsets`.

use std::collections::BTreeMap;
use std::sync::Arc;

use sealwax_protocol::ids::TopicPartition;
use sealwax_protocol::record::ControlType;

use super::leadership::Leadership;
use super::transactions::CoordinatorPartition;
use crate::group::Group;
use crate::log::{Marker, PartitionLog};
use crate::names::{OFFSETS_TOPIC, internal_partition};

/// A partition of `__consumer_offsets`.
#[derive(Debug)]
pub(crate) struct OffsetsPartition {
    pub(crate) coordinator: CoordinatorPartition,
    pub(crate) log: PartitionLog,
}

/// All groups.
#[derive(Debug)]
pub(crate) struct Groups {
    pub(crate) partitions: Vec<OffsetsPartition>,
    pub(crate) groups: BTreeMap<Arc<str>, Group>,
}

impl Groups {
    pub(crate) fn new(leaders: Vec<Leadership>) -> Self {
        let partitions = leaders.into_iter().map(|leadership| OffsetsPartition {
            coordinator: CoordinatorPartition::new(leadership),
            log: PartitionLog::default(),
        });
        Self {
            partitions: partitions.collect(),
            groups: BTreeMap::new(),
        }
    }

    /// The partition of `__consumer_offsets` that a group belongs to, as it stands in a transaction.
    pub(crate) fn partition_of(&self, group: &str) -> TopicPartition {
        let count = i32::try_from(self.partitions.len()).unwrap_or(i32::MAX);
        TopicPartition::new(OFFSETS_TOPIC, internal_partition(group, count))
    }

    /// The partition of `__consumer_offsets` that is meant, if one is.
    pub(crate) fn home(&self, partition: &TopicPartition) -> Option<&OffsetsPartition> {
        self.partitions.get(index_of(partition)?)
    }

    pub(crate) fn home_mut(&mut self, partition: &TopicPartition) -> Option<&mut OffsetsPartition> {
        self.partitions.get_mut(index_of(partition)?)
    }

    pub(crate) fn leadership(&self, partition: &TopicPartition) -> Option<&Leadership> {
        self.home(partition).map(|home| &home.coordinator.leadership)
    }

    /// A marker has reached a partition of `__consumer_offsets`: its producer's offsets count now, or are gone.
    pub(crate) fn end_transaction(&mut self, partition: &TopicPartition, marker: &Marker) {
        let count = i32::try_from(self.partitions.len()).unwrap_or(i32::MAX);
        let is_commit = marker.control == ControlType::Commit;
        for (name, group) in &mut self.groups {
            if internal_partition(name, count) == partition.partition {
                group.end_transaction(marker.producer.id.0, is_commit);
            }
        }
    }
}

fn index_of(partition: &TopicPartition) -> Option<usize> {
    if &*partition.topic == OFFSETS_TOPIC {
        usize::try_from(partition.partition).ok()
    } else {
        None
    }
}
