//! The own Produce codec: round trips, and byte equality with the oracle in every version.

use bytes::Bytes;
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::produce_response::{
    BatchIndexAndErrorMessage, LeaderIdAndEpoch, NodeEndpoint as OracleEndpoint, PartitionProduceResponse,
    TopicProduceResponse,
};
use kafka_protocol::messages::{
    ApiKey, BrokerId, ProduceRequest as OracleRequest, ProduceResponse as OracleResponse, TopicName,
    TransactionalId,
};
use proptest::prelude::*;
use sealwax_protocol::error::{DecodeError, EncodeError};
use sealwax_protocol::ids::CorrelationId;
use sealwax_protocol::produce::{ProducePartition, ProduceRequest, ProduceResponse, ProduceTopic};
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;
use sealwax_protocol::{StrBytes, Uuid};

use crate::{oracle, strategies};

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

fn oracle_request(request: &ProduceRequest) -> OracleRequest {
    let topics = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|partition| {
            PartitionProduceData::default()
                .with_index(partition.index)
                .with_records(Some(partition.records.clone()))
        });
        TopicProduceData::default()
            .with_name(TopicName(text(&topic.name)))
            .with_topic_id(topic.id)
            .with_partition_data(partitions.collect())
    });
    OracleRequest::default()
        .with_transactional_id(
            request
                .transactional_id
                .as_deref()
                .map(|id| TransactionalId(text(id))),
        )
        .with_acks(request.acks)
        .with_timeout_ms(request.timeout_ms)
        .with_topic_data(topics.collect())
}

fn oracle_response(response: &ProduceResponse) -> OracleResponse {
    let topics = response.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|partition| {
            let leader = partition
                .current_leader
                .map_or_else(LeaderIdAndEpoch::default, |hint| {
                    LeaderIdAndEpoch::default()
                        .with_leader_id(BrokerId(hint.leader.0))
                        .with_leader_epoch(hint.epoch.0)
                });
            let errors = partition.record_errors.iter().map(|error| {
                BatchIndexAndErrorMessage::default()
                    .with_batch_index(error.batch_index)
                    .with_batch_index_error_message(error.message.as_deref().map(text))
            });
            PartitionProduceResponse::default()
                .with_index(partition.index)
                .with_error_code(partition.error_code.0)
                .with_base_offset(partition.base_offset)
                .with_log_append_time_ms(partition.log_append_time_ms)
                .with_log_start_offset(partition.log_start_offset)
                .with_record_errors(errors.collect())
                .with_error_message(partition.error_message.as_deref().map(text))
                .with_current_leader(leader)
        });
        TopicProduceResponse::default()
            .with_name(TopicName(text(&topic.name)))
            .with_topic_id(topic.id)
            .with_partition_responses(partitions.collect())
    });
    let endpoints = response.node_endpoints.iter().map(|endpoint| {
        OracleEndpoint::default()
            .with_node_id(BrokerId(endpoint.node.0))
            .with_host(text(&endpoint.host))
            .with_port(endpoint.port.into())
            .with_rack(endpoint.rack.as_deref().map(text))
    });
    OracleResponse::default()
        .with_responses(topics.collect())
        .with_throttle_time_ms(response.throttle_time_ms)
        .with_node_endpoints(endpoints.collect())
}

fn versioned<T: std::fmt::Debug, S: Strategy<Value = T>>(
    strategy: fn(i16) -> S,
) -> impl Strategy<Value = (i16, T)> {
    (9..=13_i16).prop_flat_map(move |version| (Just(version), strategy(version)))
}

proptest! {
    #[test]
    fn a_request_has_the_oracles_bytes_and_is_read_back((version, request) in versioned(strategies::produce_request)) {
        let body = RequestBody::from(request.clone());
        let frame = body.encode(version, CorrelationId(7), "tester").unwrap();
        let bytes = frame.concat();
        prop_assert_eq!(bytes.len(), frame.len);
        prop_assert_eq!(&bytes, &oracle::request_frame(ApiKey::Produce, version, 7, &oracle_request(&request)));
        let (header, again) = RequestBody::decode(bytes.slice(4..)).unwrap();
        prop_assert_eq!(header.version, version);
        prop_assert_eq!(header.client_id.as_deref(), Some("tester"));
        prop_assert_eq!(again, body);
    }

    #[test]
    fn a_response_has_the_oracles_bytes_and_is_read_back((version, response) in versioned(strategies::produce_response)) {
        let bytes = oracle::response_frame(ApiKey::Produce, version, 7, &oracle_response(&response));
        let body = ResponseBody::Produce(response);
        prop_assert_eq!(&ResponseBody::decode(bytes.slice(4..), ApiKey::Produce, version).unwrap(), &body);
        prop_assert_eq!(body.encode(version, CorrelationId(7)).unwrap().concat(), bytes);
    }
}

fn request(name: &str, id: Uuid, batches: Vec<Bytes>) -> RequestBody {
    let partitions = (0..)
        .zip(batches)
        .map(|(index, records)| ProducePartition { index, records })
        .collect();
    ProduceRequest {
        transactional_id: None,
        acks: -1,
        timeout_ms: 1000,
        topics: vec![ProduceTopic {
            name: name.into(),
            id,
            partitions,
        }],
    }
    .into()
}

#[test]
fn batches_go_out_as_the_buffers_they_are() {
    let batches = vec![Bytes::from(vec![1; 500]), Bytes::from(vec![2; 70_000])];
    let body = request("orders", Uuid::nil(), batches.clone());
    let frame = body.encode(12, CorrelationId(1), "tester").unwrap();
    let large: Vec<_> = frame.parts.iter().filter(|part| part.len() >= 500).collect();
    assert_eq!(large.len(), 2);
    for (part, batch) in large.iter().zip(&batches) {
        assert_eq!((part.as_ptr(), part.len()), (batch.as_ptr(), batch.len()));
    }
    assert_eq!(frame.parts.iter().map(Bytes::len).sum::<usize>(), frame.len);
}

#[test]
fn batches_of_a_read_request_are_slices_of_the_frame() {
    let body = request("orders", Uuid::nil(), vec![Bytes::from(vec![1; 500])]);
    let frame = body
        .encode(12, CorrelationId(1), "tester")
        .unwrap()
        .concat()
        .slice(4..);
    let (_, RequestBody::Produce(read)) = RequestBody::decode(frame.clone()).unwrap() else {
        panic!("another API");
    };
    let records = &read.topics[0].partitions[0].records;
    assert!(frame.as_ptr_range().contains(&records.as_ptr()));
}

#[test]
fn an_unknown_topic_id_caps_the_version() {
    let id = Uuid::from_u128(9);
    assert_eq!(request("orders", id, vec![]).max_version(), 13);
    assert_eq!(request("orders", Uuid::nil(), vec![]).max_version(), 12);
    let refused = |body: RequestBody, version| body.encode(version, CorrelationId(1), "tester").unwrap_err();
    assert_eq!(
        refused(request("orders", Uuid::nil(), vec![]), 13),
        EncodeError::Version {
            api: "Produce",
            version: 13,
            what: "a topic without an id"
        }
    );
    assert_eq!(
        refused(request("", id, vec![]), 12),
        EncodeError::Version {
            api: "Produce",
            version: 12,
            what: "a topic without a name"
        }
    );
    assert!(matches!(
        refused(request("orders", id, vec![]), 8),
        EncodeError::Version { .. }
    ));
    assert!(matches!(
        refused(request("orders", id, vec![]), 14),
        EncodeError::Version { .. }
    ));
}

#[test]
fn unknown_tagged_fields_are_skipped_wherever_they_stand() {
    let partition = PartitionProduceResponse::default()
        .with_index(3)
        .with_base_offset(5)
        .with_unknown_tagged_field(9, Bytes::from_static(b"new"));
    let topic = TopicProduceResponse::default()
        .with_name(TopicName(text("orders")))
        .with_partition_responses(vec![partition])
        .with_unknown_tagged_field(200, Bytes::from_static(&[0; 40]));
    let response = OracleResponse::default()
        .with_responses(vec![topic])
        .with_unknown_tagged_field(1, Bytes::new());
    let frame = oracle::response_frame(ApiKey::Produce, 12, 1, &response);
    let read = ResponseBody::decode(frame.slice(4..), ApiKey::Produce, 12).unwrap();
    let ResponseBody::Produce(read) = read else {
        panic!("another API")
    };
    assert_eq!(read.topics[0].partitions[0].base_offset, 5);
}

#[test]
fn a_port_outside_of_16_bits_is_refused() {
    let endpoint = OracleEndpoint::default().with_port(65_536);
    let response = OracleResponse::default().with_node_endpoints(vec![endpoint]);
    let frame = oracle::response_frame(ApiKey::Produce, 10, 1, &response);
    assert_eq!(
        ResponseBody::decode(frame.slice(4..), ApiKey::Produce, 10),
        Err(DecodeError::Invalid {
            what: "node port",
            value: "65536".to_owned()
        })
    );
}
