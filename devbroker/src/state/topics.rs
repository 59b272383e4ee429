//! Topics: their ids, and per partition its leader and log.

use std::collections::BTreeMap;
use std::sync::Arc;

use sealwax_protocol::Uuid;
use sealwax_protocol::ids::TopicPartition;

use super::leadership::Leadership;
use crate::log::PartitionLog;

/// A partition.
#[derive(Debug)]
pub(crate) struct Partition {
    pub(crate) leadership: Leadership,
    pub(crate) log: PartitionLog,
}

/// A topic.
#[derive(Debug)]
pub(crate) struct Topic {
    pub(crate) id: Uuid,
    pub(crate) partitions: Vec<Partition>,
}

/// All topics, but the internal ones.
#[derive(Debug, Default)]
pub(crate) struct Topics {
    by_name: BTreeMap<Arc<str>, Topic>,
    by_id: BTreeMap<Uuid, Arc<str>>,
    created: u128,
}

impl Topics {
    /// Creates a topic unless it is there. Returns whether it was created.
    pub(crate) fn create(&mut self, name: &str, leaders: Vec<Leadership>) -> bool {
        if self.by_name.contains_key(name) {
            return false;
        }
        self.created += 1;
        // Looks like a random (version 4) id, as Kafka's do.
        let id = Uuid::from_u128((self.created << 80) | (0x4000 << 64) | (0x8000 << 48) | self.created);
        let name: Arc<str> = name.into();
        let partitions = leaders.into_iter().map(|leadership| Partition {
            leadership,
            log: PartitionLog::default(),
        });
        let topic = Topic {
            id,
            partitions: partitions.collect(),
        };
        self.by_name.insert(Arc::clone(&name), topic);
        self.by_id.insert(id, name);
        true
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Topic)> {
        self.by_name.iter()
    }

    pub(crate) fn partitions_mut(&mut self) -> impl Iterator<Item = &mut Partition> {
        self.by_name.values_mut().flat_map(|topic| &mut topic.partitions)
    }

    pub(crate) fn by_name(&self, name: &str) -> Option<&Topic> {
        self.by_name.get(name)
    }

    /// The name of the topic with this id.
    pub(crate) fn name_of(&self, id: Uuid) -> Option<&Arc<str>> {
        self.by_id.get(&id)
    }

    pub(crate) fn partition(&self, partition: &TopicPartition) -> Option<&Partition> {
        let index = usize::try_from(partition.partition).ok()?;
        self.by_name.get(&partition.topic)?.partitions.get(index)
    }

    pub(crate) fn partition_mut(&mut self, partition: &TopicPartition) -> Option<&mut Partition> {
        let index = usize::try_from(partition.partition).ok()?;
        self.by_name.get_mut(&partition.topic)?.partitions.get_mut(index)
    }
}
