//! The topics that this producer writes to, and their partitions' queues. In: names, the cluster's snapshot. Out: where a record goes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{LeaderEpoch, NodeId, TopicId};

use super::partitioner;
use super::queue::PartitionQueue;
use crate::error::{Error, ErrorKind};
use crate::machine::acl::{self, Operation, Resource};
use crate::machine::metadata::{ClusterMetadata, TopicMetadata};
use crate::record::Record;

/// A partition, by its place in this producer's tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PartitionId {
    /// Index of the topic.
    pub(crate) topic: usize,
    /// The partition's index in Kafka's sense.
    pub(crate) partition: usize,
}

/// A partition: who leads it, and its batches.
#[derive(Debug)]
pub(crate) struct Partition<T> {
    /// Its leader, if there is one.
    pub(crate) leader: Option<NodeId>,
    leader_epoch: LeaderEpoch,
    /// Its batches.
    pub(crate) queue: PartitionQueue<T>,
}

/// A topic that records are sent to.
#[derive(Debug)]
pub(crate) struct Topic<T> {
    /// Its name.
    pub(crate) name: Arc<str>,
    /// Its id; nil if unknown.
    pub(crate) id: TopicId,
    /// Why the cluster knows nothing of it, else NONE.
    error_code: ErrorCode,
    /// Empty as long as the cluster told nothing of the topic.
    pub(crate) partitions: Vec<Partition<T>>,
    /// Where records without key go at present.
    sticky: Option<usize>,
}

/// All topics.
#[derive(Debug)]
pub(crate) struct Topics<T> {
    topics: Vec<Topic<T>>,
    by_name: HashMap<Arc<str>, usize>,
    /// The topic of the last look-up: most producers write to one at a time.
    last: usize,
}

impl<T> Topics<T> {
    /// No topic.
    pub(crate) fn new() -> Self {
        Self {
            topics: Vec::new(),
            by_name: HashMap::new(),
            last: 0,
        }
    }

    /// The index of a topic.
    pub(crate) fn find(&mut self, name: &str) -> Option<usize> {
        if self
            .topics
            .get(self.last)
            .is_some_and(|topic| *topic.name == *name)
        {
            return Some(self.last);
        }
        self.last = *self.by_name.get(name)?;
        Some(self.last)
    }

    /// Adds a topic that nothing is known of.
    pub(crate) fn add(&mut self, name: Arc<str>) {
        self.by_name.insert(Arc::clone(&name), self.topics.len());
        self.topics.push(Topic {
            name,
            id: TopicId::nil(),
            error_code: ErrorCode::NONE,
            partitions: Vec::new(),
            sticky: None,
        });
    }

    /// Takes over what the cluster knows, and returns the topics that have been deleted and created anew.
    pub(crate) fn update(&mut self, now: Instant, metadata: &ClusterMetadata) -> Vec<usize> {
        let mut recreated = Vec::new();
        for (index, topic) in self.topics.iter_mut().enumerate() {
            if let Some(news) = metadata.topics.get(&topic.name)
                && topic.update(now, news)
            {
                recreated.push(index);
            }
        }
        recreated
    }

    /// A topic by index.
    pub(crate) fn get(&self, topic: usize) -> Option<&Topic<T>> {
        self.topics.get(topic)
    }

    /// A topic by index.
    pub(crate) fn get_mut(&mut self, topic: usize) -> Option<&mut Topic<T>> {
        self.topics.get_mut(topic)
    }

    /// A partition.
    pub(crate) fn partition(&self, id: PartitionId) -> Option<&Partition<T>> {
        self.topics.get(id.topic)?.partitions.get(id.partition)
    }

    /// A partition.
    pub(crate) fn partition_mut(&mut self, id: PartitionId) -> Option<&mut Partition<T>> {
        self.topics.get_mut(id.topic)?.partitions.get_mut(id.partition)
    }
}

impl<T> Topic<T> {
    /// The partition of a record that takes `bound` bytes.
    ///
    /// # Errors
    /// If the record names a partition that the topic does not have.
    pub(crate) fn choose(
        &mut self,
        record: &Record<'_>,
        bound: usize,
        batch_size: usize,
        rng: &mut fastrand::Rng,
    ) -> Result<usize, Error> {
        match (record.partition, record.key) {
            (Some(wanted), _) => self.explicit(wanted),
            (None, Some(key)) => Ok(partitioner::for_key(key, self.partitions.len())),
            (None, None) => Ok(self.stick(bound, batch_size, rng)),
        }
    }

    /// The cluster's last word on the topic.
    pub(crate) const fn error_code(&self) -> ErrorCode {
        self.error_code
    }

    /// Why no record can be taken as long as nothing changes on the cluster; `None` if waiting may help.
    pub(crate) fn refusal(&self) -> Option<Error> {
        let (kind, mend) = match self.error_code {
            ErrorCode::TOPIC_AUTHORIZATION_FAILED => {
                let lack = acl::missing(Operation::Describe, Resource::Topic(&self.name));
                let mend =
                    format!("{lack} (Write includes it; a topic that is to be created needs Create too)");
                (ErrorKind::Authorization, mend)
            }
            ErrorCode::INVALID_TOPIC_EXCEPTION => (
                ErrorKind::UnknownTopic,
                "a topic's name has 1 to 249 of the characters a-z, A-Z, 0-9, '.', '_' and '-'".to_owned(),
            ),
            _ => return None,
        };
        let message = format!("topic {} cannot be written to; {mend}", self.name);
        Some(Error::broker(kind, self.error_code, message))
    }

    #[cfg(test)]
    pub(crate) const fn sticky(&self) -> Option<usize> {
        self.sticky
    }

    fn explicit(&self, wanted: i32) -> Result<usize, Error> {
        usize::try_from(wanted)
            .ok()
            .filter(|partition| *partition < self.partitions.len())
            .ok_or_else(|| {
                let count = self.partitions.len();
                let message = format!(
                    "topic {} has no partition {wanted}; it has {count}, numbered from 0",
                    self.name
                );
                Error::new(ErrorKind::UnknownTopic, message)
            })
    }

    fn stick(&mut self, bound: usize, batch_size: usize, rng: &mut fastrand::Rng) -> usize {
        let has_room = |partition: usize| {
            self.partitions
                .get(partition)
                .is_some_and(|partition| partition.queue.has_room(bound, batch_size))
        };
        match self.sticky {
            Some(partition) if has_room(partition) => partition,
            last => {
                let has_leader = |partition: usize| {
                    self.partitions
                        .get(partition)
                        .is_some_and(|partition| partition.leader.is_some())
                };
                let next = partitioner::next_sticky(last, self.partitions.len(), has_leader, rng);
                self.sticky = Some(next);
                next
            }
        }
    }

    /// Whether the topic was created anew. Otherwise partitions never become fewer; queues beyond the end wait for their deadline.
    fn update(&mut self, now: Instant, news: &TopicMetadata) -> bool {
        self.error_code = news.error_code;
        if news.error_code.is_error() {
            return false;
        }
        for (index, partition) in news.partitions.iter().enumerate() {
            match self.partitions.get_mut(index) {
                Some(known) => {
                    if known.leader != partition.leader || known.leader_epoch != partition.leader_epoch {
                        known.queue.end_pause(now);
                    }
                    known.leader = partition.leader;
                    known.leader_epoch = partition.leader_epoch;
                }
                None => self.partitions.push(Partition {
                    leader: partition.leader,
                    leader_epoch: partition.leader_epoch,
                    queue: PartitionQueue::new(),
                }),
            }
        }
        let recreated = !self.id.is_nil() && !news.id.is_nil() && self.id != news.id;
        self.id = news.id;
        recreated
    }
}
