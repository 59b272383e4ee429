//! An answer that the proxy gives itself, with an error code and without the broker: the broker never acted.

use anyhow::{Result, bail};
use kafka_protocol::messages::add_partitions_to_txn_response::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnTopicResult,
};
use kafka_protocol::messages::find_coordinator_response::Coordinator;
use kafka_protocol::messages::produce_response::{PartitionProduceResponse, TopicProduceResponse};
use kafka_protocol::messages::txn_offset_commit_response::{
    TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic,
};
use kafka_protocol::messages::{
    AddOffsetsToTxnResponse, AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, ApiKey, EndTxnResponse,
    FindCoordinatorRequest, FindCoordinatorResponse, InitProducerIdResponse, ProduceRequest, ProduceResponse,
    TxnOffsetCommitRequest, TxnOffsetCommitResponse,
};

use super::Request;
use super::frame::{asked, forged};

/// The frame of an answer that refuses the request with `code`, for each partition alike.
///
/// # Errors
/// If there is no such answer for the API.
pub(super) fn refuse(request: &Request, code: i16) -> Result<Vec<u8>> {
    match request.api {
        Some(ApiKey::InitProducerId) => {
            let body = InitProducerIdResponse::default()
                .with_error_code(code)
                .with_producer_id((-1).into())
                .with_producer_epoch(-1);
            forged(request, &body)
        }
        Some(ApiKey::EndTxn) => {
            let body = EndTxnResponse::default().with_error_code(code);
            forged(
                request,
                &body.with_producer_id((-1).into()).with_producer_epoch(-1),
            )
        }
        Some(ApiKey::AddOffsetsToTxn) => {
            forged(request, &AddOffsetsToTxnResponse::default().with_error_code(code))
        }
        Some(ApiKey::AddPartitionsToTxn) => forged(request, &partitions(&asked(request)?, code)),
        Some(ApiKey::TxnOffsetCommit) => forged(request, &offsets(&asked(request)?, code)),
        Some(ApiKey::Produce) => forged(request, &produce(&asked(request)?, code)),
        Some(ApiKey::FindCoordinator) => {
            forged(request, &coordinators(&asked(request)?, code, request.version))
        }
        other => bail!("there is no refusal of {other:?}"),
    }
}

/// Whether the broker answers at all: a write with acks=0 gets no answer.
pub(super) fn is_answered(request: &Request) -> Result<bool> {
    match request.api {
        Some(ApiKey::Produce) => Ok(asked::<ProduceRequest>(request)?.acks != 0),
        _ => Ok(true),
    }
}

fn partitions(request: &AddPartitionsToTxnRequest, code: i16) -> AddPartitionsToTxnResponse {
    let topics = request.v3_and_below_topics.iter().map(|topic| {
        let results = topic.partitions.iter().map(|partition| {
            AddPartitionsToTxnPartitionResult::default()
                .with_partition_index(*partition)
                .with_partition_error_code(code)
        });
        AddPartitionsToTxnTopicResult::default()
            .with_name(topic.name.clone())
            .with_results_by_partition(results.collect())
    });
    AddPartitionsToTxnResponse::default().with_results_by_topic_v3_and_below(topics.collect())
}

fn offsets(request: &TxnOffsetCommitRequest, code: i16) -> TxnOffsetCommitResponse {
    let topics = request.topics.iter().map(|topic| {
        let results = topic.partitions.iter().map(|partition| {
            TxnOffsetCommitResponsePartition::default()
                .with_partition_index(partition.partition_index)
                .with_error_code(code)
        });
        TxnOffsetCommitResponseTopic::default()
            .with_name(topic.name.clone())
            .with_partitions(results.collect())
    });
    TxnOffsetCommitResponse::default().with_topics(topics.collect())
}

fn produce(request: &ProduceRequest, code: i16) -> ProduceResponse {
    let topics = request.topic_data.iter().map(|topic| {
        let results = topic.partition_data.iter().map(|partition| {
            PartitionProduceResponse::default()
                .with_index(partition.index)
                .with_error_code(code)
                .with_base_offset(-1)
        });
        TopicProduceResponse::default()
            .with_name(topic.name.clone())
            .with_topic_id(topic.topic_id)
            .with_partition_responses(results.collect())
    });
    ProduceResponse::default().with_responses(topics.collect())
}

fn coordinators(request: &FindCoordinatorRequest, code: i16, version: i16) -> FindCoordinatorResponse {
    if version < 4 {
        return FindCoordinatorResponse::default()
            .with_error_code(code)
            .with_node_id((-1).into());
    }
    let coordinators = request.coordinator_keys.iter().map(|key| {
        Coordinator::default()
            .with_key(key.clone())
            .with_error_code(code)
            .with_node_id((-1).into())
    });
    FindCoordinatorResponse::default().with_coordinators(coordinators.collect())
}
