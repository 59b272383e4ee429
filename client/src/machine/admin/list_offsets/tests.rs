//! ListOffsets: routing to leaders, answers, and what makes it ask again or fail.

use super::*;
use crate::error::ErrorKind;
use crate::machine::metadata::refresh::tests::{response, topic};
use sealwax_protocol::messages::ListOffsetsResponse;
use sealwax_protocol::messages::list_offsets_response::{
    ListOffsetsPartitionResponse, ListOffsetsTopicResponse,
};

fn call(partitions: &[(&str, i32, i64)]) -> ListOffsets {
    let partitions = partitions
        .iter()
        .map(|&(topic, partition, timestamp)| (TopicPartition::new(topic, partition), timestamp));
    ListOffsets::new(partitions, IsolationLevel::ReadCommitted, Duration::from_secs(30))
}

fn answer(topic: &'static str, partitions: &[(i32, ErrorCode, i64)]) -> ResponseBody {
    let partition = |&(index, code, offset): &(i32, ErrorCode, i64)| {
        ListOffsetsPartitionResponse::default()
            .with_partition_index(index)
            .with_error_code(code.0)
            .with_offset(offset)
    };
    ResponseBody::ListOffsets(ListOffsetsResponse::default().with_topics(vec![
        ListOffsetsTopicResponse::default()
            .with_name(TopicName(StrBytes::from_static_str(topic)))
            .with_partitions(partitions.iter().map(partition).collect()),
    ]))
}

#[test]
fn every_partition_is_asked_at_its_leader() {
    let mut call = call(&[("t", 0, LATEST), ("t", 1, EARLIEST), ("t", 2, 77)]);
    assert!(!call.metadata_request().allow_auto_topic_creation);
    let metadata = response([topic("t", 1, &[(0, 1, 0), (1, 2, 0), (2, 1, 0)])]);
    let requests = call.route(&metadata).unwrap();
    let routed: Vec<_> = requests
        .iter()
        .map(|(node, request)| {
            assert_eq!(request.isolation_level, 1);
            let partitions = request.topics[0].partitions.iter();
            (
                node.0,
                partitions
                    .map(|p| (p.partition_index, p.timestamp))
                    .collect::<Vec<_>>(),
            )
        })
        .collect();
    assert_eq!(
        routed,
        [(1, vec![(0, LATEST), (2, 77)]), (2, vec![(1, EARLIEST)])]
    );

    call.take(answer("t", &[(0, ErrorCode::NONE, 10), (2, ErrorCode::NONE, -1)]))
        .unwrap();
    assert!(!call.is_done());
    call.take(answer("t", &[(1, ErrorCode::NONE, 0)])).unwrap();
    assert!(call.is_done());
    let offsets: Vec<_> = call
        .into_offsets()
        .into_iter()
        .map(|(p, offset)| (p.partition, offset))
        .collect();
    assert_eq!(offsets, [(0, 10), (1, 0)], "no record is as young as 77");
}

#[test]
fn a_leader_that_has_moved_is_asked_for_again() {
    let mut call = call(&[("t", 0, LATEST)]);
    call.route(&response([topic("t", 1, &[(0, 1, 0)])])).unwrap();
    call.take(answer("t", &[(0, ErrorCode::NOT_LEADER_OR_FOLLOWER, -1)]))
        .unwrap();
    assert_eq!(
        call.last_reason().unwrap().code(),
        Some(ErrorCode::NOT_LEADER_OR_FOLLOWER)
    );
    let none = call.route(&response([topic("t", 1, &[(0, -1, 1)])])).unwrap();
    assert!(none.is_empty(), "no leader at the moment");
    let requests = call.route(&response([topic("t", 1, &[(0, 2, 2)])])).unwrap();
    assert_eq!(requests[0].0, NodeId(2));
}

#[test]
fn an_unknown_topic_is_believed_after_a_few_rounds() {
    let mut call = call(&[("t", 0, LATEST)]);
    let unknown = response([topic("t", 0, &[]).with_error_code(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION.0)]);
    for _ in 1..UNKNOWN_BEFORE_BELIEVED {
        assert!(call.route(&unknown).unwrap().is_empty());
    }
    assert_eq!(call.route(&unknown).unwrap_err().kind(), ErrorKind::UnknownTopic);
}

#[test]
fn a_partition_beyond_the_last_one_is_unknown() {
    let mut call = call(&[("t", 7, LATEST)]);
    let known = response([topic("t", 1, &[(0, 1, 0)])]);
    for _ in 1..UNKNOWN_BEFORE_BELIEVED {
        call.route(&known).unwrap();
    }
    let error = call.route(&known).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownTopic);
    assert!(error.to_string().contains("it has 1 partitions"), "{error}");
}

#[test]
fn a_refusal_ends_the_call() {
    let mut call = call(&[("t", 0, LATEST)]);
    let refused = answer("t", &[(0, ErrorCode::TOPIC_AUTHORIZATION_FAILED, -1)]);
    assert_eq!(call.take(refused).unwrap_err().kind(), ErrorKind::Authorization);
}

#[test]
fn an_answer_about_what_was_not_asked_is_passed_over() {
    let mut call = call(&[("t", 0, LATEST)]);
    call.take(answer("other", &[(0, ErrorCode::NONE, 5)])).unwrap();
    assert!(!call.is_done());
}
