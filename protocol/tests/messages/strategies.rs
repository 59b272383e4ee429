//! Arbitrary Produce and Fetch values.

use std::sync::Arc;

use bytes::Bytes;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use sealwax_protocol::Uuid;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::fetch::{
    AbortedTransaction, EpochEndOffset, FetchPartition, FetchPartitionResponse, FetchRequest, FetchResponse,
    FetchTopic, FetchTopicResponse, ForgottenTopic, IsolationLevel,
};
use sealwax_protocol::ids::{LeaderEpoch, NodeId, ProducerId};
use sealwax_protocol::produce::{
    LeaderHint, NodeEndpoint, ProducePartition, ProducePartitionResponse, ProduceRequest, ProduceResponse,
    ProduceTopic, ProduceTopicResponse, RecordError,
};

/// A topic's name and id, of which a version carries one.
fn topic_key(version: i16) -> BoxedStrategy<(Arc<str>, Uuid)> {
    if version <= 12 {
        "[a-z0-9._-]{1,40}"
            .prop_map(|name| (Arc::from(name), Uuid::nil()))
            .boxed()
    } else {
        (1..u128::MAX)
            .prop_map(|id| (Arc::from(""), Uuid::from_u128(id)))
            .boxed()
    }
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![".{0,20}", "x{120,140}"]
}

fn records() -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..200).prop_map(Bytes::from)
}

fn leader_hint() -> impl Strategy<Value = LeaderHint> {
    (0..i32::MAX, any::<i32>()).prop_map(|(leader, epoch)| LeaderHint {
        leader: NodeId(leader),
        epoch: LeaderEpoch(epoch),
    })
}

fn endpoints(version: i16, first: i16) -> impl Strategy<Value = Vec<NodeEndpoint>> {
    let most = if version >= first { 4 } else { 1 };
    let endpoint =
        (any::<i32>(), text(), any::<u16>(), option::of(text())).prop_map(|(node, host, port, rack)| {
            NodeEndpoint {
                node: NodeId(node),
                host,
                port,
                rack,
            }
        });
    vec(endpoint, 0..most)
}

pub(crate) fn produce_request(version: i16) -> impl Strategy<Value = ProduceRequest> {
    let partition =
        (any::<i32>(), records()).prop_map(|(index, records)| ProducePartition { index, records });
    let topic = (topic_key(version), vec(partition, 0..4))
        .prop_map(|((name, id), partitions)| ProduceTopic { name, id, partitions });
    (option::of(text()), any::<i16>(), any::<i32>(), vec(topic, 0..4)).prop_map(
        |(transactional_id, acks, timeout_ms, topics)| ProduceRequest {
            transactional_id: transactional_id.map(Arc::from),
            acks,
            timeout_ms,
            topics,
        },
    )
}

pub(crate) fn produce_response(version: i16) -> impl Strategy<Value = ProduceResponse> {
    let record_error = (any::<i32>(), option::of(text()))
        .prop_map(|(batch_index, message)| RecordError { batch_index, message });
    let partition = (
        (
            any::<i32>(),
            any::<i16>(),
            any::<i64>(),
            any::<i64>(),
            any::<i64>(),
        ),
        vec(record_error, 0..3),
        option::of(text()),
        option::of(leader_hint()),
    )
        .prop_map(
            move |((index, code, base, time, start), record_errors, error_message, hint)| {
                ProducePartitionResponse {
                    index,
                    error_code: ErrorCode(code),
                    base_offset: base,
                    log_append_time_ms: time,
                    log_start_offset: start,
                    record_errors,
                    error_message,
                    current_leader: hint.filter(|_| version >= 10),
                }
            },
        );
    let topic = (topic_key(version), vec(partition, 0..4))
        .prop_map(|((name, id), partitions)| ProduceTopicResponse { name, id, partitions });
    (vec(topic, 0..4), any::<i32>(), endpoints(version, 10)).prop_map(
        |(topics, throttle_time_ms, node_endpoints)| ProduceResponse {
            topics,
            throttle_time_ms,
            node_endpoints,
        },
    )
}

pub(crate) fn fetch_request(version: i16) -> impl Strategy<Value = FetchRequest> {
    let partition = (
        any::<i32>(),
        any::<i32>(),
        any::<i64>(),
        any::<i32>(),
        any::<i32>(),
    )
        .prop_map(
            |(index, epoch, fetch_offset, last_epoch, max_bytes)| FetchPartition {
                index,
                current_leader_epoch: LeaderEpoch(epoch),
                fetch_offset,
                last_fetched_epoch: LeaderEpoch(last_epoch),
                max_bytes,
            },
        );
    let topic = (topic_key(version), vec(partition, 0..4)).prop_map(|((name, id), partitions)| FetchTopic {
        name,
        id,
        partitions,
    });
    let forgotten = (topic_key(version), vec(any::<i32>(), 0..4))
        .prop_map(|((name, id), partitions)| ForgottenTopic { name, id, partitions });
    (
        (
            any::<i32>(),
            any::<i32>(),
            any::<i32>(),
            any::<bool>(),
            any::<i32>(),
            any::<i32>(),
        ),
        vec(topic, 0..4),
        vec(forgotten, 0..3),
        text(),
    )
        .prop_map(
            |((max_wait_ms, min_bytes, max_bytes, committed, id, epoch), topics, forgotten, rack)| {
                FetchRequest {
                    max_wait_ms,
                    min_bytes,
                    max_bytes,
                    isolation_level: if committed {
                        IsolationLevel::ReadCommitted
                    } else {
                        IsolationLevel::ReadUncommitted
                    },
                    session_id: id,
                    session_epoch: epoch,
                    topics,
                    forgotten,
                    rack_id: Arc::from(rack),
                }
            },
        )
}

fn fetched_partition() -> impl Strategy<Value = FetchPartitionResponse> {
    let aborted = (any::<i64>(), any::<i64>()).prop_map(|(producer_id, first_offset)| AbortedTransaction {
        producer_id: ProducerId(producer_id),
        first_offset,
    });
    let diverging = (0..i32::MAX, any::<i64>()).prop_map(|(epoch, end_offset)| EpochEndOffset {
        epoch: LeaderEpoch(epoch),
        end_offset,
    });
    (
        (
            any::<i32>(),
            any::<i16>(),
            any::<i64>(),
            any::<i64>(),
            any::<i64>(),
        ),
        option::of(diverging),
        option::of(leader_hint()),
        option::of(vec(aborted, 0..3)),
        option::of(0..i32::MAX),
        records(),
    )
        .prop_map(
            |((index, code, high, stable, start), diverging, leader, aborted, preferred, records)| {
                FetchPartitionResponse {
                    index,
                    error_code: ErrorCode(code),
                    high_watermark: high,
                    last_stable_offset: stable,
                    log_start_offset: start,
                    diverging_epoch: diverging,
                    current_leader: leader,
                    aborted_transactions: aborted,
                    preferred_read_replica: preferred.map(NodeId),
                    records,
                }
            },
        )
}

pub(crate) fn fetch_response(version: i16) -> impl Strategy<Value = FetchResponse> {
    let topic = (topic_key(version), vec(fetched_partition(), 0..4))
        .prop_map(|((name, id), partitions)| FetchTopicResponse { name, id, partitions });
    (
        any::<i32>(),
        any::<i16>(),
        any::<i32>(),
        vec(topic, 0..4),
        endpoints(version, 16),
    )
        .prop_map(
            |(throttle_time_ms, code, session_id, topics, node_endpoints)| FetchResponse {
                throttle_time_ms,
                error_code: ErrorCode(code),
                session_id,
                topics,
                node_endpoints,
            },
        )
}
