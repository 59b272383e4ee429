//! Who leads a partition, as far as the cluster's snapshot says; and what it means if nobody does.
//!
//! In: the snapshot, when it changes or a pause is over. Out: wishes for newer metadata, or the error of a partition that has no future.

use std::time::{Duration, Instant};

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{LeaderEpoch, NodeId, TopicId, TopicPartition};

use crate::error::{Error, ErrorKind};
use crate::machine::Directive;
use crate::machine::fetch::FetchMachine;
use crate::machine::fetch::failure::{Reaction, classify, refused};
use crate::machine::metadata::ClusterMetadata;

/// How long the cluster may say that there is no such topic or partition before that is believed: a topic that was just
/// created is not known to every broker yet.
pub(super) const UNKNOWN_TOPIC_TIMEOUT: Duration = Duration::from_secs(10);

/// What the snapshot says about a partition's leader.
#[derive(Debug)]
pub(super) enum Leader {
    /// There it is.
    Known {
        /// The broker.
        node: NodeId,
        /// Its epoch.
        epoch: LeaderEpoch,
        /// The topic's id; nil if unknown.
        topic_id: TopicId,
    },
    /// The topic was not asked for yet.
    Awaited,
    /// There is none at the moment.
    Missing,
    /// The cluster knows no such topic or partition.
    NoSuchPartition,
    /// Asking again is useless.
    Refused(Error),
}

impl FetchMachine {
    /// Looks at the leaders of all partitions that need one.
    pub(super) fn review(&mut self, now: Instant) {
        let names: Vec<_> = self.partitions.keys().cloned().collect();
        for name in names {
            self.review_partition(now, &name);
        }
    }

    pub(super) fn review_partition(&mut self, now: Instant, name: &TopicPartition) {
        let Some(partition) = self.partitions.get_mut(name) else {
            return;
        };
        if !partition.state.needs_leader() {
            return;
        }
        match find(&self.cluster, name, partition.topic_id) {
            Leader::Known { topic_id, .. } => {
                partition.unknown_since = None;
                partition.topic_id = partition
                    .topic_id
                    .or_else(|| Some(topic_id).filter(|id| !id.is_nil()));
            }
            Leader::Awaited => partition.unknown_since = None,
            Leader::Missing => {
                partition.unknown_since = None;
                self.look_again(now, name);
            }
            Leader::NoSuchPartition => {
                let since = *partition.unknown_since.get_or_insert(now);
                match given_up(name, since, now) {
                    Some(error) => self.fail(name, error),
                    None => self.look_again(now, name),
                }
            }
            Leader::Refused(error) => self.fail(name, error),
        }
    }

    /// Asks for newer metadata, as often as the pauses allow.
    fn look_again(&mut self, now: Instant, name: &TopicPartition) {
        if let Some(partition) = self.partitions.get_mut(name)
            && partition.is_due()
        {
            partition.retry.fail(now, &self.settings.backoff, &mut self.rng);
            self.refresh_metadata();
        }
    }

    pub(super) fn refresh_metadata(&mut self) {
        if !self.directives.contains(&Directive::RefreshMetadata) {
            self.directives.push_back(Directive::RefreshMetadata);
        }
    }
}

/// Looks for the leader of a partition whose topic had the id `expected` when it was seen first.
pub(super) fn find(
    cluster: &ClusterMetadata,
    partition: &TopicPartition,
    expected: Option<TopicId>,
) -> Leader {
    let Some(topic) = cluster.topics.get(&partition.topic) else {
        return Leader::Awaited;
    };
    if topic.error_code == ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
        || topic.error_code == ErrorCode::UNKNOWN_TOPIC_ID
    {
        return Leader::NoSuchPartition;
    }
    match classify(topic.error_code) {
        Reaction::Accept => {}
        Reaction::Retry => return Leader::Missing,
        Reaction::OutOfRange | Reaction::Corrupt => {
            return Leader::Refused(refused(ErrorKind::Broker, topic.error_code, partition));
        }
        Reaction::Fail(kind) => return Leader::Refused(refused(kind, topic.error_code, partition)),
    }
    if expected.is_some_and(|expected| !topic.id.is_nil() && topic.id != expected) {
        return Leader::Refused(recreated(partition));
    }
    let Some(known) = cluster.partition(&partition.topic, partition.partition) else {
        return Leader::NoSuchPartition;
    };
    match known.leader {
        Some(node) => Leader::Known {
            node,
            epoch: known.leader_epoch,
            topic_id: topic.id,
        },
        None => Leader::Missing,
    }
}

/// The error of a partition that the cluster has not known since `since`, once that is long enough.
fn given_up(partition: &TopicPartition, since: Instant, now: Instant) -> Option<Error> {
    let waited = now.saturating_duration_since(since);
    (waited >= UNKNOWN_TOPIC_TIMEOUT).then(|| {
        let text = format!(
            "the cluster has had no partition {partition} for {} s; check the name, or create the topic and seek",
            waited.as_secs()
        );
        Error::broker(
            ErrorKind::UnknownTopic,
            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
            text,
        )
    })
}

fn recreated(partition: &TopicPartition) -> Error {
    let text = format!(
        "topic {} was deleted and created again, so that positions in partition {partition} mean nothing any more; \
         seek to read the new topic",
        partition.topic
    );
    Error::broker(ErrorKind::UnknownTopic, ErrorCode::INCONSISTENT_TOPIC_ID, text)
}
