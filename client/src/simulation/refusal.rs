//! Answers that say one error code and nothing else. In: a request. Out: the answer with which a broker refuses all of it.

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::fetch::FetchResponse;
use sealwax_protocol::messages::add_partitions_to_txn_response::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnTopicResult,
};
use sealwax_protocol::messages::find_coordinator_response::Coordinator;
use sealwax_protocol::messages::txn_offset_commit_response::{
    TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic,
};
use sealwax_protocol::messages::{
    AddOffsetsToTxnResponse, AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, BrokerId, EndTxnResponse,
    FindCoordinatorRequest, FindCoordinatorResponse, InitProducerIdResponse, TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
};
use sealwax_protocol::produce::{
    ProducePartitionResponse, ProduceRequest, ProduceResponse, ProduceTopicResponse,
};
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;

/// The refusal; `None` for an API of which none is known here.
pub(super) fn refusal(body: &RequestBody, version: i16, code: ErrorCode) -> Option<ResponseBody> {
    Some(match body {
        RequestBody::InitProducerId(_) => ResponseBody::InitProducerId(
            InitProducerIdResponse::default()
                .with_error_code(code.0)
                .with_producer_id((-1).into())
                .with_producer_epoch(-1),
        ),
        RequestBody::EndTxn(_) => ResponseBody::EndTxn(
            EndTxnResponse::default()
                .with_error_code(code.0)
                .with_producer_id((-1).into())
                .with_producer_epoch(-1),
        ),
        RequestBody::AddPartitionsToTxn(request) => ResponseBody::AddPartitionsToTxn(add(request, code)),
        RequestBody::AddOffsetsToTxn(_) => {
            ResponseBody::AddOffsetsToTxn(AddOffsetsToTxnResponse::default().with_error_code(code.0))
        }
        RequestBody::TxnOffsetCommit(request) => ResponseBody::TxnOffsetCommit(offsets(request, code)),
        RequestBody::Produce(request) => ResponseBody::Produce(produce(request, version, code)),
        RequestBody::FindCoordinator(request) => ResponseBody::FindCoordinator(find(request, code)),
        RequestBody::Fetch(_) => ResponseBody::Fetch(FetchResponse {
            throttle_time_ms: 0,
            error_code: code,
            session_id: 0,
            topics: Vec::new(),
            node_endpoints: Vec::new(),
        }),
        _ => return None,
    })
}

fn add(request: &AddPartitionsToTxnRequest, code: ErrorCode) -> AddPartitionsToTxnResponse {
    let topics = request.v3_and_below_topics.iter().map(|topic| {
        let results = topic.partitions.iter().map(|partition| {
            AddPartitionsToTxnPartitionResult::default()
                .with_partition_index(*partition)
                .with_partition_error_code(code.0)
        });
        AddPartitionsToTxnTopicResult::default()
            .with_name(topic.name.clone())
            .with_results_by_partition(results.collect())
    });
    AddPartitionsToTxnResponse::default().with_results_by_topic_v3_and_below(topics.collect())
}

fn offsets(request: &TxnOffsetCommitRequest, code: ErrorCode) -> TxnOffsetCommitResponse {
    let topics = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|partition| {
            TxnOffsetCommitResponsePartition::default()
                .with_partition_index(partition.partition_index)
                .with_error_code(code.0)
        });
        TxnOffsetCommitResponseTopic::default()
            .with_name(topic.name.clone())
            .with_partitions(partitions.collect())
    });
    TxnOffsetCommitResponse::default().with_topics(topics.collect())
}

fn find(request: &FindCoordinatorRequest, code: ErrorCode) -> FindCoordinatorResponse {
    let coordinators = request.coordinator_keys.iter().map(|key| {
        Coordinator::default()
            .with_key(key.clone())
            .with_node_id(BrokerId(-1))
            .with_port(-1)
            .with_error_code(code.0)
    });
    FindCoordinatorResponse::default().with_coordinators(coordinators.collect())
}

fn produce(request: &ProduceRequest, version: i16, code: ErrorCode) -> ProduceResponse {
    let by_id = version >= 13;
    let topics = request.topics.iter().map(|topic| ProduceTopicResponse {
        name: if by_id { "".into() } else { topic.name.clone() },
        id: if by_id {
            topic.id
        } else {
            sealwax_protocol::Uuid::nil()
        },
        partitions: topic
            .partitions
            .iter()
            .map(|part| ProducePartitionResponse {
                index: part.index,
                error_code: code,
                base_offset: -1,
                log_append_time_ms: -1,
                log_start_offset: -1,
                record_errors: Vec::new(),
                error_message: None,
                current_leader: None,
            })
            .collect(),
    });
    ProduceResponse {
        topics: topics.collect(),
        throttle_time_ms: 0,
        node_endpoints: Vec::new(),
    }
}
