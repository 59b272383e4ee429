//! The snapshot of the cluster (brokers, topics, leaders). When to get a new one is decided in [`refresh`], how an answer
//! joins what was known in [`merge`].

pub(crate) mod merge;
pub(crate) mod refresh;

use std::collections::HashMap;
use std::sync::Arc;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{LeaderEpoch, NodeId, TopicId};

/// A broker's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broker {
    /// Its id.
    pub(crate) id: NodeId,
    /// Host name or address.
    pub(crate) host: Arc<str>,
    /// Port.
    pub(crate) port: u16,
    /// Rack, if set.
    pub(crate) rack: Option<Arc<str>>,
}

/// Brokers, topics and leaders at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ClusterMetadata {
    /// Cluster id, if the broker told it.
    pub(crate) cluster_id: Option<Arc<str>>,
    /// The controller, if known.
    pub(crate) controller: Option<NodeId>,
    /// The brokers.
    pub(crate) brokers: HashMap<NodeId, Broker>,
    /// The topics that were asked for, by name.
    pub(crate) topics: HashMap<Arc<str>, TopicMetadata>,
    /// Names by topic id.
    pub(crate) names: HashMap<TopicId, Arc<str>>,
}

/// A topic at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TopicMetadata {
    /// Its name (shared with every `TopicPartition` made from it).
    pub(crate) name: Arc<str>,
    /// Its id; nil if unknown.
    pub(crate) id: TopicId,
    /// Why the broker knows nothing of it, else NONE.
    pub(crate) error_code: ErrorCode,
    /// Its partitions by index, without holes. Beside an error: what was known before it.
    pub(crate) partitions: Vec<PartitionMetadata>,
}

/// A partition at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PartitionMetadata {
    /// Its leader, if there is one.
    pub(crate) leader: Option<NodeId>,
    /// The leader's epoch.
    pub(crate) leader_epoch: LeaderEpoch,
}

impl ClusterMetadata {
    /// A topic that the broker knows.
    pub(crate) fn topic(&self, name: &str) -> Option<&TopicMetadata> {
        self.topics.get(name).filter(|topic| !topic.error_code.is_error())
    }

    /// A partition of a topic that the broker knows.
    pub(crate) fn partition(&self, topic: &str, partition: i32) -> Option<&PartitionMetadata> {
        self.topic(topic)?
            .partitions
            .get(usize::try_from(partition).ok()?)
    }
}
