//! Metadata (3): nodes that live, topics, and who leads what. Nothing is created by asking.

use sealwax_protocol::Uuid;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::messages::metadata_request::MetadataRequestTopic;
use sealwax_protocol::messages::metadata_response::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use sealwax_protocol::messages::{BrokerId, MetadataRequest, MetadataResponse};
use sealwax_protocol::response::ResponseBody;

use super::Reply;
use crate::names::{text, topic_name};
use crate::state::State;
use crate::state::topics::{Partition, Topic};

/// The wire's "no leader".
const NO_LEADER: i32 = -1;
const CLUSTER_ID: &str = "sealwax-devbroker";
/// The wire's "operations were not asked for".
const NOT_ASKED: i32 = i32::MIN;

pub(super) fn handle(state: &State, request: &MetadataRequest) -> Reply {
    let topics = match &request.topics {
        None => state
            .topics
            .iter()
            .map(|(name, topic)| describe(state, name, topic))
            .collect(),
        Some(topics) => topics.iter().map(|asked| answer(state, asked)).collect(),
    };
    let response = MetadataResponse::default()
        .with_brokers(brokers(state))
        .with_cluster_id(Some(text(CLUSTER_ID)))
        .with_controller_id(BrokerId(state.nodes.any(0).map_or(NO_LEADER, |node| node.0)))
        .with_cluster_authorized_operations(NOT_ASKED)
        .with_topics(topics);
    Reply::Answer(ResponseBody::Metadata(response))
}

/// The nodes that live, with their addresses.
fn brokers(state: &State) -> Vec<MetadataResponseBroker> {
    let live = state.nodes.live();
    live.map(|node| {
        MetadataResponseBroker::default()
            .with_node_id(BrokerId(node.0))
            .with_host(text(&crate::state::host(node)))
            .with_port(crate::state::PORT)
    })
    .collect()
}

fn answer(state: &State, asked: &MetadataRequestTopic) -> MetadataResponseTopic {
    let by_name = asked.name.as_ref().map(|name| name.0.as_str());
    let name = by_name.or_else(|| state.topics.name_of(asked.topic_id).map(|name| &**name));
    match name.and_then(|name| Some((name, state.topics.by_name(name)?))) {
        Some((name, topic)) => describe(state, name, topic),
        None => {
            let code = if by_name.is_some() {
                ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
            } else {
                ErrorCode::UNKNOWN_TOPIC_ID
            };
            MetadataResponseTopic::default()
                .with_error_code(code.0)
                .with_name(asked.name.clone())
                .with_topic_id(if by_name.is_some() {
                    Uuid::nil()
                } else {
                    asked.topic_id
                })
                .with_topic_authorized_operations(NOT_ASKED)
        }
    }
}

fn describe(state: &State, name: &str, topic: &Topic) -> MetadataResponseTopic {
    let partitions = topic.partitions.iter().zip(0..);
    MetadataResponseTopic::default()
        .with_name(Some(topic_name(name)))
        .with_topic_id(topic.id)
        .with_topic_authorized_operations(NOT_ASKED)
        .with_partitions(
            partitions
                .map(|(found, index)| partition(state, found, index))
                .collect(),
        )
}

fn partition(state: &State, found: &Partition, index: i32) -> MetadataResponsePartition {
    let leader = found.leadership.leader;
    let code = match leader {
        Some(_) => ErrorCode::NONE,
        None => ErrorCode::LEADER_NOT_AVAILABLE,
    };
    let replicas: Vec<BrokerId> = state.nodes.all().map(|node| BrokerId(node.0)).collect();
    let (isr, offline): (Vec<_>, Vec<_>) = state.nodes.all().partition(|node| state.nodes.is_up(*node));
    let ids = |nodes: Vec<sealwax_protocol::ids::NodeId>| nodes.iter().map(|node| BrokerId(node.0)).collect();
    MetadataResponsePartition::default()
        .with_error_code(code.0)
        .with_partition_index(index)
        .with_leader_id(BrokerId(leader.map_or(NO_LEADER, |node| node.0)))
        .with_leader_epoch(found.leadership.epoch)
        .with_replica_nodes(replicas)
        .with_isr_nodes(ids(isr))
        .with_offline_replicas(ids(offline))
}
