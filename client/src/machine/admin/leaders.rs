//! Who leads a partition, as the call's own metadata tells. A metadata answer in; a leader or a verdict out.

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{NodeId, TopicPartition};
use sealwax_protocol::messages::MetadataResponse;
use sealwax_protocol::messages::metadata_response::MetadataResponsePartition;

use crate::machine::admin::{Verdict, describe_topics, failure, left_out};
use crate::machine::metadata::merge::node;

/// The leader of a partition; else what is wrong with the topic or partition.
pub(crate) fn leader(response: &MetadataResponse, partition: &TopicPartition) -> Verdict<NodeId> {
    let topic = match describe_topics::topic(response, &partition.topic) {
        Verdict::Done(topic) => topic,
        Verdict::Again(error) => return Verdict::Again(error),
        Verdict::Failed(error) => return Verdict::Failed(error),
    };
    let wanted = |found: &&MetadataResponsePartition| found.partition_index == partition.partition;
    match topic.partitions.iter().find(wanted) {
        Some(found) => match node(found.leader_id.0) {
            Some(leader) => Verdict::Done(leader),
            None => Verdict::Again(failure(ErrorCode::LEADER_NOT_AVAILABLE, &name(partition), None)),
        },
        None if topic.partitions.is_empty() => Verdict::Again(left_out(&name(partition))),
        None => Verdict::Failed(failure(
            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
            &format!("there is no {}", name(partition)),
            Some(&format!("it has {} partitions", topic.partitions.len())),
        )),
    }
}

/// A partition in words.
pub(crate) fn name(partition: &TopicPartition) -> String {
    format!(
        "partition {} of topic {:?}",
        partition.partition, &*partition.topic
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::machine::metadata::refresh::tests::{response, topic};

    #[test]
    fn a_leader_is_told_waited_for_or_not_there() {
        let answer = response([topic("t", 1, &[(0, 4, 0), (1, -1, 0)])]);
        let leader = |partition| leader(&answer, &TopicPartition::new("t", partition));
        assert!(matches!(leader(0), Verdict::Done(NodeId(4))));
        let Verdict::Again(error) = leader(1) else {
            panic!("not asked again");
        };
        assert_eq!(error.code(), Some(ErrorCode::LEADER_NOT_AVAILABLE));
        let Verdict::Failed(error) = leader(2) else {
            panic!("not failed");
        };
        assert_eq!(error.kind(), ErrorKind::UnknownTopic);
        assert!(error.to_string().contains("it has 2 partitions"), "{error}");
    }
}
