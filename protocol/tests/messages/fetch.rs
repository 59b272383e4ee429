//! The own Fetch codec: round trips, and byte equality with the oracle in every version.

use bytes::Bytes;
use kafka_protocol::messages::fetch_request::{
    FetchPartition as OraclePartition, FetchTopic as OracleTopic, ForgottenTopic as OracleForgotten,
    ReplicaState,
};
use kafka_protocol::messages::fetch_response::{
    AbortedTransaction as OracleAborted, EpochEndOffset as OracleEpoch, FetchableTopicResponse,
    LeaderIdAndEpoch, NodeEndpoint as OracleEndpoint, PartitionData, SnapshotId,
};
use kafka_protocol::messages::{
    ApiKey, BrokerId, FetchRequest as OracleRequest, FetchResponse as OracleResponse,
    ProducerId as OracleProducer, TopicName,
};
use proptest::prelude::*;
use sealwax_protocol::error::EncodeError;
use sealwax_protocol::fetch::{
    FetchPartitionResponse, FetchRequest, FetchResponse, FetchTopic, ForgottenTopic, IsolationLevel,
};
use sealwax_protocol::ids::CorrelationId;
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;
use sealwax_protocol::{StrBytes, Uuid};

use crate::{oracle, strategies};

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

fn oracle_request(request: &FetchRequest) -> OracleRequest {
    let topics = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|partition| {
            OraclePartition::default()
                .with_partition(partition.index)
                .with_current_leader_epoch(partition.current_leader_epoch.0)
                .with_fetch_offset(partition.fetch_offset)
                .with_last_fetched_epoch(partition.last_fetched_epoch.0)
                .with_partition_max_bytes(partition.max_bytes)
        });
        OracleTopic::default()
            .with_topic(TopicName(text(&topic.name)))
            .with_topic_id(topic.id)
            .with_partitions(partitions.collect())
    });
    let forgotten = request.forgotten.iter().map(|topic| {
        OracleForgotten::default()
            .with_topic(TopicName(text(&topic.name)))
            .with_topic_id(topic.id)
            .with_partitions(topic.partitions.clone())
    });
    OracleRequest::default()
        .with_max_wait_ms(request.max_wait_ms)
        .with_min_bytes(request.min_bytes)
        .with_max_bytes(request.max_bytes)
        .with_isolation_level(request.isolation_level.code())
        .with_session_id(request.session_id)
        .with_session_epoch(request.session_epoch)
        .with_topics(topics.collect())
        .with_forgotten_topics_data(forgotten.collect())
        .with_rack_id(text(&request.rack_id))
}

fn oracle_partition(partition: &FetchPartitionResponse) -> PartitionData {
    let aborted = partition.aborted_transactions.as_ref().map(|aborted| {
        let aborted = aborted.iter().map(|aborted| {
            OracleAborted::default()
                .with_producer_id(OracleProducer(aborted.producer_id.0))
                .with_first_offset(aborted.first_offset)
        });
        aborted.collect()
    });
    let leader = partition
        .current_leader
        .map_or_else(LeaderIdAndEpoch::default, |hint| {
            LeaderIdAndEpoch::default()
                .with_leader_id(BrokerId(hint.leader.0))
                .with_leader_epoch(hint.epoch.0)
        });
    let diverging = partition
        .diverging_epoch
        .map_or_else(OracleEpoch::default, |diverging| {
            OracleEpoch::default()
                .with_epoch(diverging.epoch.0)
                .with_end_offset(diverging.end_offset)
        });
    PartitionData::default()
        .with_partition_index(partition.index)
        .with_error_code(partition.error_code.0)
        .with_high_watermark(partition.high_watermark)
        .with_last_stable_offset(partition.last_stable_offset)
        .with_log_start_offset(partition.log_start_offset)
        .with_diverging_epoch(diverging)
        .with_current_leader(leader)
        .with_aborted_transactions(aborted)
        .with_preferred_read_replica(BrokerId(
            partition.preferred_read_replica.map_or(-1, |replica| replica.0),
        ))
        .with_records(Some(partition.records.clone()))
}

fn oracle_response(response: &FetchResponse) -> OracleResponse {
    let topics = response.topics.iter().map(|topic| {
        FetchableTopicResponse::default()
            .with_topic(TopicName(text(&topic.name)))
            .with_topic_id(topic.id)
            .with_partitions(topic.partitions.iter().map(oracle_partition).collect())
    });
    let endpoints = response.node_endpoints.iter().map(|endpoint| {
        OracleEndpoint::default()
            .with_node_id(BrokerId(endpoint.node.0))
            .with_host(text(&endpoint.host))
            .with_port(endpoint.port.into())
            .with_rack(endpoint.rack.as_deref().map(text))
    });
    OracleResponse::default()
        .with_throttle_time_ms(response.throttle_time_ms)
        .with_error_code(response.error_code.0)
        .with_session_id(response.session_id)
        .with_responses(topics.collect())
        .with_node_endpoints(endpoints.collect())
}

fn versioned<T: std::fmt::Debug, S: Strategy<Value = T>>(
    strategy: fn(i16) -> S,
) -> impl Strategy<Value = (i16, T)> {
    (12..=18_i16).prop_flat_map(move |version| (Just(version), strategy(version)))
}

proptest! {
    #[test]
    fn a_request_has_the_oracles_bytes_and_is_read_back((version, request) in versioned(strategies::fetch_request)) {
        let body = RequestBody::from(request.clone());
        let bytes = body.encode(version, CorrelationId(7), "tester").unwrap().concat();
        prop_assert_eq!(&bytes, &oracle::request_frame(ApiKey::Fetch, version, 7, &oracle_request(&request)));
        let (_, again) = RequestBody::decode(bytes.slice(4..)).unwrap();
        prop_assert_eq!(again, body);
    }

    #[test]
    fn a_response_has_the_oracles_bytes_and_is_read_back((version, response) in versioned(strategies::fetch_response)) {
        let bytes = oracle::response_frame(ApiKey::Fetch, version, 7, &oracle_response(&response));
        let body = ResponseBody::Fetch(response);
        prop_assert_eq!(&ResponseBody::decode(bytes.slice(4..), ApiKey::Fetch, version).unwrap(), &body);
        prop_assert_eq!(body.encode(version, CorrelationId(7)).unwrap().concat(), bytes);
    }
}

fn read(response: &OracleResponse, version: i16) -> (Bytes, FetchPartitionResponse) {
    let frame = oracle::response_frame(ApiKey::Fetch, version, 1, response).slice(4..);
    let ResponseBody::Fetch(mut read) = ResponseBody::decode(frame.clone(), ApiKey::Fetch, version).unwrap()
    else {
        panic!("another API");
    };
    (frame, read.topics.remove(0).partitions.remove(0))
}

fn response(partition: PartitionData) -> OracleResponse {
    let topic = FetchableTopicResponse::default()
        .with_topic_id(Uuid::from_u128(1))
        .with_partitions(vec![partition])
        .with_unknown_tagged_field(7, Bytes::from_static(b"new"));
    OracleResponse::default()
        .with_responses(vec![topic])
        .with_unknown_tagged_field(3, Bytes::from_static(b"new"))
}

#[test]
fn null_lists_and_records_are_read_as_none_and_empty() {
    let nulls = PartitionData::default()
        .with_aborted_transactions(None)
        .with_records(None);
    let (_, partition) = read(&response(nulls), 18);
    assert_eq!(partition.aborted_transactions, None);
    assert!(partition.records.is_empty());
    assert_eq!(partition.preferred_read_replica, None);

    let empty = PartitionData::default().with_aborted_transactions(Some(vec![]));
    assert_eq!(read(&response(empty), 18).1.aborted_transactions, Some(vec![]));
}

#[test]
fn tagged_fields_that_spell_out_their_default_say_nothing() {
    let hints = [&[2, 0, 13][..], &[0xFF; 12], &[0], &[1, 9], &[0xFF; 8], &[0]].concat();
    let mut frame = vec![0; 4 + 1 + 4 + 2 + 4];
    frame.push(2);
    frame.extend_from_slice(&[7; 16]);
    frame.push(2);
    frame.extend_from_slice(&[0; 4 + 2 + 8 + 8 + 8 + 1 + 4 + 1]);
    frame.extend_from_slice(&hints);
    frame.extend_from_slice(&[0, 0]);
    let ResponseBody::Fetch(read) = ResponseBody::decode(frame.into(), ApiKey::Fetch, 13).unwrap() else {
        panic!("another API");
    };
    let partition = &read.topics[0].partitions[0];
    assert_eq!(
        (partition.current_leader, partition.diverging_epoch),
        (None, None)
    );
}

#[test]
fn records_are_a_slice_of_the_frame() {
    let data = PartitionData::default().with_records(Some(Bytes::from(vec![5; 1000])));
    let (frame, partition) = read(&response(data), 17);
    assert_eq!(partition.records.len(), 1000);
    assert!(frame.as_ptr_range().contains(&partition.records.as_ptr()));
}

#[test]
fn what_only_replicas_need_is_skipped() {
    let data = PartitionData::default()
        .with_high_watermark(8)
        .with_snapshot_id(SnapshotId::default().with_end_offset(4).with_epoch(2))
        .with_unknown_tagged_field(9, Bytes::from_static(b"new"));
    assert_eq!(read(&response(data), 18).1.high_watermark, 8);

    let partition = OraclePartition::default()
        .with_fetch_offset(5)
        .with_log_start_offset(3)
        .with_replica_directory_id(Uuid::from_u128(4))
        .with_high_watermark(1);
    let topic = OracleTopic::default()
        .with_topic_id(Uuid::from_u128(1))
        .with_partitions(vec![partition]);
    let replica = ReplicaState::default()
        .with_replica_id(BrokerId(3))
        .with_replica_epoch(1);
    let request = OracleRequest::default()
        .with_cluster_id(Some(text("cluster")))
        .with_replica_state(replica)
        .with_topics(vec![topic]);
    let frame = oracle::request_frame(ApiKey::Fetch, 18, 1, &request);
    let (_, RequestBody::Fetch(read)) = RequestBody::decode(frame.slice(4..)).unwrap() else {
        panic!("another API");
    };
    assert_eq!(read.topics[0].partitions[0].fetch_offset, 5);
}

#[test]
fn an_unknown_topic_id_caps_the_version() {
    let known = FetchTopic {
        name: "a".into(),
        id: Uuid::from_u128(1),
        partitions: vec![],
    };
    let unknown = FetchTopic {
        id: Uuid::nil(),
        ..known.clone()
    };
    let forgotten = ForgottenTopic {
        name: "b".into(),
        id: Uuid::nil(),
        partitions: vec![0],
    };
    let request = |topics, forgotten| {
        RequestBody::from(FetchRequest {
            max_wait_ms: 1,
            min_bytes: 1,
            max_bytes: 1,
            isolation_level: IsolationLevel::ReadCommitted,
            session_id: 0,
            session_epoch: -1,
            topics,
            forgotten,
            rack_id: "".into(),
        })
    };
    assert_eq!(request(vec![known.clone()], vec![]).max_version(), 18);
    assert_eq!(request(vec![known.clone(), unknown], vec![]).max_version(), 12);
    let forgetting = request(vec![known], vec![forgotten]);
    assert_eq!(forgetting.max_version(), 12);
    assert_eq!(
        forgetting.encode(13, CorrelationId(1), "tester"),
        Err(EncodeError::Version {
            api: "Fetch",
            version: 13,
            what: "a topic without an id"
        })
    );
    assert!(forgetting.encode(12, CorrelationId(1), "tester").is_ok());
}
