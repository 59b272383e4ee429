//! DescribeTopics: what Metadata (API key 3) tells of topics.

use sealwax_protocol::ids::{LeaderEpoch, NodeId, TopicId};
use sealwax_protocol::messages::metadata_response::MetadataResponsePartition;
use sealwax_protocol::messages::{BrokerId, MetadataRequest, MetadataResponse};

use crate::admin::Admin;
use crate::admin::retry::Patience;
use crate::error::Result;
use crate::machine::Destination;
use crate::machine::admin::items::{Items, out_of_time};
use crate::machine::admin::{Verdict, describe_topics};
use crate::machine::metadata::merge;

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
    pub async fn describe_topics(&self, names: &[&str]) -> Result<Vec<Result<TopicDescription>>> {
        let mut patience = self.patience();
        let mut items = Items::new(names.len());
        loop {
            let open: Vec<(usize, &str)> = items
                .open()
                .into_iter()
                .filter_map(|at| Some((at, *names.get(at)?)))
                .collect();
            if open.is_empty() {
                return Ok(items.finish("describing the topic"));
            }
            let asked: Vec<&str> = open.iter().map(|(_, name)| *name).collect();
            match self.describe(&patience, describe_topics::request(&asked)).await? {
                Verdict::Done(response) => {
                    for (at, name) in open {
                        items.settle(at, described(&response, name));
                    }
                }
                Verdict::Again(reason) => items.postpone(&reason),
                Verdict::Failed(error) => return Err(error),
            }
            if !items.open().is_empty() && !self.pause(&mut patience).await {
                if items.is_untouched() {
                    return Err(out_of_time("describing the topics", items.last_reason()));
                }
                return Ok(items.finish("describing the topic"));
            }
        }
    }

    /// One attempt to get metadata.
    pub(super) async fn describe(
        &self,
        patience: &Patience,
        request: MetadataRequest,
    ) -> Result<Verdict<MetadataResponse>> {
        match self.attempt(patience, Destination::Any, request).await {
            Ok(body) => describe_topics::response(body),
            Err(failure) if failure.error().is_retriable() => Ok(Verdict::Again(failure.error().clone())),
            Err(failure) => Err(failure.error().clone()),
        }
    }
}

/// What the answer says of a topic.
pub(super) fn described(response: &MetadataResponse, name: &str) -> Verdict<TopicDescription> {
    match describe_topics::topic(response, name) {
        Verdict::Done(topic) => {
            let mut partitions: Vec<_> = topic.partitions.iter().map(partition).collect();
            partitions.sort_by_key(|partition| partition.partition);
            Verdict::Done(TopicDescription {
                name: name.to_owned(),
                id: topic.topic_id,
                partitions,
            })
        }
        Verdict::Again(error) => Verdict::Again(error),
        Verdict::Failed(error) => Verdict::Failed(error),
    }
}

fn partition(answer: &MetadataResponsePartition) -> PartitionDescription {
    let nodes = |ids: &[BrokerId]| ids.iter().map(|id| NodeId(id.0)).collect();
    PartitionDescription {
        partition: answer.partition_index,
        leader: merge::node(answer.leader_id.0),
        leader_epoch: LeaderEpoch(answer.leader_epoch),
        replicas: nodes(&answer.replica_nodes),
        in_sync_replicas: nodes(&answer.isr_nodes),
    }
}
