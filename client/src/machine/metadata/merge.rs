//! How a Metadata answer joins what was known: leader epochs of one topic id never go backwards (KIP-320), and what was
//! known of a topic outlives a passing error.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{LeaderEpoch, NodeId};
use sealwax_protocol::messages::MetadataResponse;
use sealwax_protocol::messages::metadata_response::{MetadataResponsePartition, MetadataResponseTopic};

use super::{Broker, ClusterMetadata, PartitionMetadata, TopicMetadata};

/// The snapshot after an answer. Topics that are not tracked are left out.
pub(crate) fn merge(
    old: &ClusterMetadata,
    response: &MetadataResponse,
    tracked: &BTreeSet<Arc<str>>,
) -> ClusterMetadata {
    let mut topics: HashMap<Arc<str>, TopicMetadata> = old
        .topics
        .iter()
        .filter(|(name, _)| tracked.contains(*name))
        .map(|(name, topic)| (Arc::clone(name), topic.clone()))
        .collect();
    for answer in &response.topics {
        let Some(name) = answer.name.as_ref().and_then(|name| tracked.get(name.0.as_str())) else {
            continue;
        };
        let topic = merge_topic(name, topics.get(name), answer);
        topics.insert(Arc::clone(name), topic);
    }
    let names = topics
        .values()
        .filter(|topic| !topic.id.is_nil())
        .map(|topic| (topic.id, Arc::clone(&topic.name)))
        .collect();
    ClusterMetadata {
        cluster_id: response
            .cluster_id
            .as_ref()
            .map(|id| id.as_str().into())
            .or_else(|| old.cluster_id.clone()),
        controller: node(response.controller_id.0),
        brokers: brokers(response),
        topics,
        names,
    }
}

/// The brokers that an answer names with a usable address.
pub(crate) fn brokers(response: &MetadataResponse) -> HashMap<NodeId, Broker> {
    response
        .brokers
        .iter()
        .filter_map(|broker| {
            let id = node(broker.node_id.0)?;
            let broker = Broker {
                id,
                host: broker.host.as_str().into(),
                port: u16::try_from(broker.port).ok()?,
                rack: broker.rack.as_ref().map(|rack| rack.as_str().into()),
            };
            Some((id, broker))
        })
        .collect()
}

/// A broker id from the wire, where −1 means "none".
pub(crate) fn node(id: i32) -> Option<NodeId> {
    (id >= 0).then_some(NodeId(id))
}

fn merge_topic(
    name: &Arc<str>,
    old: Option<&TopicMetadata>,
    answer: &MetadataResponseTopic,
) -> TopicMetadata {
    let error_code = ErrorCode(answer.error_code);
    if error_code.is_error() {
        return match old {
            // No leader at this moment says nothing about the topic itself: keep what was known, without an error.
            Some(old) if error_code == ErrorCode::LEADER_NOT_AVAILABLE => old.clone(),
            Some(old) => TopicMetadata {
                error_code,
                ..old.clone()
            },
            None => TopicMetadata {
                name: Arc::clone(name),
                id: answer.topic_id,
                error_code,
                partitions: Vec::new(),
            },
        };
    }
    let same = old.filter(|old| old.id == answer.topic_id);
    TopicMetadata {
        name: Arc::clone(name),
        id: answer.topic_id,
        error_code,
        partitions: merge_partitions(same.map_or(&[], |old| &old.partitions), &answer.partitions),
    }
}

/// A partition index that would leave a hole is passed over: the vector never grows beyond what the answer lists.
fn merge_partitions(
    old: &[PartitionMetadata],
    answer: &[MetadataResponsePartition],
) -> Vec<PartitionMetadata> {
    let unknown = PartitionMetadata {
        leader: None,
        leader_epoch: LeaderEpoch::UNKNOWN,
    };
    let mut partitions = vec![unknown; answer.len()];
    for partition in answer {
        let Ok(index) = usize::try_from(partition.partition_index) else {
            continue;
        };
        let Some(slot) = partitions.get_mut(index) else {
            continue;
        };
        let news = PartitionMetadata {
            leader: node(partition.leader_id.0),
            leader_epoch: LeaderEpoch(partition.leader_epoch),
        };
        *slot = match old.get(index) {
            Some(known) if news.leader_epoch < known.leader_epoch => *known,
            _ => news,
        };
    }
    partitions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::metadata::refresh::tests::{broker, response, topic};
    use sealwax_protocol::Uuid;
    use sealwax_protocol::messages::BrokerId;

    fn tracked(names: &[&str]) -> BTreeSet<Arc<str>> {
        names.iter().map(|&name| name.into()).collect()
    }

    fn epoch_of(cluster: &ClusterMetadata) -> (Option<NodeId>, LeaderEpoch) {
        let partition = cluster.partition("t", 0).unwrap();
        (partition.leader, partition.leader_epoch)
    }

    #[test]
    fn a_leader_epoch_never_goes_backwards() {
        let topics = tracked(&["t"]);
        let first = merge(
            &ClusterMetadata::default(),
            &response([topic("t", 1, &[(0, 2, 7)])]),
            &topics,
        );
        let stale = merge(&first, &response([topic("t", 1, &[(0, 1, 6)])]), &topics);
        assert_eq!(epoch_of(&stale), (Some(NodeId(2)), LeaderEpoch(7)));
        let newer = merge(&stale, &response([topic("t", 1, &[(0, 1, 8)])]), &topics);
        assert_eq!(epoch_of(&newer), (Some(NodeId(1)), LeaderEpoch(8)));
    }

    #[test]
    fn a_topic_that_was_created_anew_starts_over() {
        let topics = tracked(&["t"]);
        let first = merge(
            &ClusterMetadata::default(),
            &response([topic("t", 1, &[(0, 2, 7)])]),
            &topics,
        );
        let anew = merge(&first, &response([topic("t", 2, &[(0, 1, 0)])]), &topics);
        assert_eq!(epoch_of(&anew), (Some(NodeId(1)), LeaderEpoch(0)));
        assert_eq!(anew.names.len(), 1);
        assert_eq!(anew.names.get(&Uuid::from_u128(2)).map(|name| &**name), Some("t"));
    }

    #[test]
    fn what_was_known_outlives_an_error_but_the_error_is_told() {
        let topics = tracked(&["t"]);
        let good = merge(
            &ClusterMetadata::default(),
            &response([topic("t", 1, &[(0, 2, 7)])]),
            &topics,
        );
        let failed = |code: ErrorCode| response([topic("t", 0, &[]).with_error_code(code.0)]);
        let no_leader = merge(&good, &failed(ErrorCode::LEADER_NOT_AVAILABLE), &topics);
        assert_eq!(epoch_of(&no_leader), (Some(NodeId(2)), LeaderEpoch(7)));
        let unknown = merge(&good, &failed(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION), &topics);
        assert_eq!(unknown.topic("t"), None);
        let kept = unknown.topics.get("t").unwrap();
        assert_eq!(kept.error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
        assert_eq!(kept.partitions.len(), 1);
        let back = merge(&unknown, &response([topic("t", 1, &[(0, 3, 6)])]), &topics);
        assert_eq!(
            epoch_of(&back),
            (Some(NodeId(2)), LeaderEpoch(7)),
            "the stale answer is still stale"
        );
    }

    #[test]
    fn a_hostile_partition_index_or_address_does_no_harm() {
        let topics = tracked(&["t"]);
        let answer =
            response([topic("t", 1, &[(i32::MAX, 1, 0), (-1, 1, 0), (1, 1, 3)])]).with_brokers(vec![
                broker(1),
                broker(2).with_port(70_000),
                broker(3).with_node_id(BrokerId(-1)),
            ]);
        let cluster = merge(&ClusterMetadata::default(), &answer, &topics);
        assert_eq!(cluster.brokers.keys().collect::<Vec<_>>(), [&NodeId(1)]);
        assert_eq!(cluster.topic("t").unwrap().partitions.len(), 3);
        assert_eq!(cluster.partition("t", 1).unwrap().leader, Some(NodeId(1)));
        assert_eq!(cluster.partition("t", 0).unwrap().leader, None);
    }

    #[test]
    fn topics_that_nobody_asked_for_are_left_out() {
        let cluster = merge(
            &ClusterMetadata::default(),
            &response([topic("other", 1, &[(0, 1, 0)])]),
            &tracked(&["t"]),
        );
        assert!(cluster.topics.is_empty());
    }
}
