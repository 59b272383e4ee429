//! The topics that this producer writes to, and their partitions' queues. In: names, the cluster's snapshot. Out: where a record goes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{LeaderEpoch, NodeId, TopicId};

use super::availability::Availability;
use super::partitioner::{self, PartitionerSettings};
use super::queue::{Order, PartitionQueue};
use crate::config::{Partitioner, Partitioning};
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
    /// Empty as long as the cluster told nothing of the topic. Those beyond `count` were there once.
    pub(crate) partitions: Vec<Partition<T>>,
    /// How many partitions the topic has now: fewer than before if it was created anew.
    pub(crate) count: usize,
    /// Where records without key go at present.
    sticky: Option<Sticky>,
    /// How many records were given their partition in turn.
    turns: usize,
}

/// The partition that records without key go to.
#[derive(Debug, Clone, Copy)]
struct Sticky {
    partition: usize,
    /// Bytes that went to it since it was chosen.
    bytes: usize,
}

/// How a record's partition was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chosen {
    /// By the record or its key.
    Fixed(usize),
    /// It is the sticky one.
    Sticky(usize),
    /// It is its turn.
    InTurn(usize),
}

impl Chosen {
    /// The partition.
    pub(crate) const fn partition(self) -> usize {
        match self {
            Self::Fixed(partition) | Self::Sticky(partition) | Self::InTurn(partition) => partition,
        }
    }
}

/// What a choice depends on besides record and topic.
pub(crate) struct Chooser<'a> {
    /// Now.
    pub(crate) now: Instant,
    /// How records find their partition.
    pub(crate) settings: &'a PartitionerSettings,
    /// `batch.size`.
    pub(crate) batch_size: usize,
    /// Which brokers take nothing.
    pub(crate) availability: &'a Availability,
    /// For draws.
    pub(crate) rng: &'a mut fastrand::Rng,
}

/// All topics.
#[derive(Debug)]
pub(crate) struct Topics<T> {
    order: Order,
    topics: Vec<Topic<T>>,
    by_name: HashMap<Arc<str>, usize>,
    /// The topic of the last look-up: most producers write to one at a time.
    last: usize,
}

impl<T> Topics<T> {
    /// No topic.
    pub(crate) fn new(order: Order) -> Self {
        Self {
            order,
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
            count: 0,
            sticky: None,
            turns: 0,
        });
    }

    /// Takes over what the cluster knows, and returns the topics that have been deleted and created anew.
    pub(crate) fn update(&mut self, metadata: &ClusterMetadata) -> Vec<usize> {
        let mut recreated = Vec::new();
        for (index, topic) in self.topics.iter_mut().enumerate() {
            if let Some(news) = metadata.topics.get(&topic.name)
                && topic.update(news, self.order)
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
    /// If the record names a partition that the topic does not have, or one's own partitioner does, or panics.
    pub(crate) fn choose(
        &mut self,
        record: &Record<'_>,
        bound: usize,
        chooser: &mut Chooser<'_>,
    ) -> Result<Chosen, Error> {
        if let Some(wanted) = record.partition {
            return self.explicit(wanted).map(Chosen::Fixed);
        }
        let count = self.count;
        let key = record.key.filter(|_| !chooser.settings.ignore_keys);
        let by_murmur2 = |key| Ok(Chosen::Fixed(partitioner::by_murmur2(key, count)));
        let by_crc32 = |key| Ok(Chosen::Fixed(partitioner::by_crc32(key, count)));
        match (&chooser.settings.partitioning, key) {
            (Partitioning::Custom(own), _) => self.ask(&**own, record).map(Chosen::Fixed),
            (Partitioning::RoundRobin, _) => Ok(self.in_turn()),
            (Partitioning::Murmur2Random, Some(key)) => by_murmur2(key),
            (Partitioning::Murmur2, key) => by_murmur2(key.unwrap_or_default()),
            (Partitioning::ConsistentRandom, Some(key)) if !key.is_empty() => by_crc32(key),
            (Partitioning::Consistent, key) => by_crc32(key.unwrap_or_default()),
            (Partitioning::Murmur2Random, None)
            | (Partitioning::ConsistentRandom | Partitioning::Random, _) => {
                Ok(Chosen::Sticky(self.stick(bound, chooser)))
            }
        }
    }

    /// A record went where it was to go, by which its batch grew so many bytes.
    pub(crate) fn appended(&mut self, chosen: Chosen, bytes: usize) {
        match (chosen, &mut self.sticky) {
            (Chosen::Sticky(_), Some(sticky)) => sticky.bytes = sticky.bytes.saturating_add(bytes),
            (Chosen::InTurn(_), _) => self.turns = self.turns.wrapping_add(1),
            (Chosen::Sticky(_), None) | (Chosen::Fixed(_), _) => {}
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

    fn explicit(&self, wanted: i32) -> Result<usize, Error> {
        self.existing(wanted).ok_or_else(|| {
            let count = self.count;
            let message = format!(
                "topic {} has no partition {wanted}; it has {count}, numbered from 0",
                self.name
            );
            Error::new(ErrorKind::UnknownTopic, message)
        })
    }

    fn existing(&self, wanted: i32) -> Option<usize> {
        let wanted = usize::try_from(wanted).ok()?;
        (wanted < self.count).then_some(wanted)
    }

    /// Asks one's own partitioner. It only sees the record and a number, so that nothing is left half-done if it panics.
    fn ask(&self, own: &dyn Partitioner, record: &Record<'_>) -> Result<usize, Error> {
        let count = i32::try_from(self.count).unwrap_or(i32::MAX);
        let asked = std::panic::AssertUnwindSafe(|| own.partition(record, count));
        let what = match std::panic::catch_unwind(asked) {
            Ok(wanted) => match self.existing(wanted) {
                Some(partition) => return Ok(partition),
                None => format!("chose partition {wanted}, but there are {count}, numbered from 0"),
            },
            Err(_) => "panicked".to_owned(),
        };
        let message = format!(
            "the custom partitioner {what}; the record for topic {} was not taken",
            self.name
        );
        Err(Error::new(ErrorKind::Config, message))
    }

    fn in_turn(&self) -> Chosen {
        let has_leader = |partition: &usize| self.leader(*partition).is_some();
        let count = self.count;
        let led = (0..count).filter(has_leader).count();
        let partition = match led {
            0 => self.turns.checked_rem(count),
            _ => (0..count).filter(has_leader).nth(self.turns % led),
        };
        Chosen::InTurn(partition.unwrap_or(0))
    }

    fn stick(&mut self, bound: usize, chooser: &mut Chooser<'_>) -> usize {
        match self.sticky {
            Some(sticky) if !self.is_used_up(sticky, bound, chooser.batch_size) => sticky.partition,
            Some(_) | None => {
                let partition = self.draw(chooser);
                self.sticky = Some(Sticky { partition, bytes: 0 });
                partition
            }
        }
    }

    /// Java's rule: a batch's worth of bytes is enough once its batch is full or gone. As that batch began before, it is never more than twice
    /// as much.
    fn is_used_up(&self, sticky: Sticky, bound: usize, batch_size: usize) -> bool {
        if sticky.partition >= self.count {
            return true;
        }
        let has_room = self
            .partitions
            .get(sticky.partition)
            .is_some_and(|partition| partition.queue.has_room(bound, batch_size));
        sticky.bytes >= batch_size && !has_room
    }

    /// By load among partitions whose broker takes something, if there is none then among those with a leader, at last among all.
    fn draw(&self, chooser: &mut Chooser<'_>) -> usize {
        let count = self.count;
        let Chooser {
            now,
            settings,
            availability,
            rng,
            ..
        } = chooser;
        let load = |partition: usize| {
            self.partitions
                .get(partition)
                .map_or(0, |partition| partition.queue.backlog())
        };
        let by_load = |partition: usize| {
            let leader = self.leader(partition)?;
            (!availability.is_unavailable(*now, leader)).then(|| load(partition))
        };
        let with_leader = |partition: usize| self.leader(partition).map(|_| 0);
        let adaptive = if settings.adaptive {
            partitioner::draw(count, by_load, rng)
        } else {
            None
        };
        adaptive
            .or_else(|| partitioner::draw(count, with_leader, rng))
            .or_else(|| partitioner::draw(count, |_| Some(0), rng))
            .unwrap_or(0)
    }

    fn leader(&self, partition: usize) -> Option<NodeId> {
        self.partitions.get(partition)?.leader
    }

    /// Whether the topic was created anew. Only then partitions can become fewer; batches for those beyond the end have no leader any more,
    /// and wait for their deadline.
    fn update(&mut self, news: &TopicMetadata, order: Order) -> bool {
        self.error_code = news.error_code;
        if news.error_code.is_error() {
            return false;
        }
        for (index, partition) in news.partitions.iter().enumerate() {
            match self.partitions.get_mut(index) {
                Some(known) => {
                    if known.leader != partition.leader || known.leader_epoch != partition.leader_epoch {
                        known.queue.end_pause();
                    }
                    known.leader = partition.leader;
                    known.leader_epoch = partition.leader_epoch;
                }
                None => self.partitions.push(Partition {
                    leader: partition.leader,
                    leader_epoch: partition.leader_epoch,
                    queue: PartitionQueue::new(order),
                }),
            }
        }
        self.count = news.partitions.len();
        for gone in self.partitions.iter_mut().skip(self.count) {
            gone.leader = None;
        }
        let recreated = !self.id.is_nil() && !news.id.is_nil() && self.id != news.id;
        self.id = news.id;
        recreated
    }
}
