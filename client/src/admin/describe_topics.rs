//! DescribeTopics: what Metadata (API key 3) tells of topics.

use sealwax_protocol::ids::{LeaderEpoch, NodeId, TopicId};

use crate::admin::Admin;
use crate::error::Result;

/// A topic as the cluster knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicDescription {
    /// The name.
    pub name: String,
    /// The id; nil if the broker has none.
    pub id: TopicId,
    /// The partitions by index.
    pub partitions: Vec<PartitionDescription>,
}

/// A partition as the cluster knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionDescription {
    /// The index.
    pub partition: i32,
    /// The leader, if there is one.
    pub leader: Option<NodeId>,
    /// The leader's epoch.
    pub leader_epoch: LeaderEpoch,
    /// All replicas.
    pub replicas: Vec<NodeId>,
    /// The replicas that are in sync.
    pub in_sync_replicas: Vec<NodeId>,
}

impl Admin {
    /// Describes topics; one result each, in order. An unknown topic is [`crate::ErrorKind::UnknownTopic`]. Never creates one.
    ///
    /// # Errors
    /// If no answer was had in `default.api.timeout.ms`.
    ///
    /// *Cancel safety*: reads only.
    pub async fn describe_topics(&self, _names: &[&str]) -> Result<Vec<Result<TopicDescription>>> {
        todo!()
    }
}
