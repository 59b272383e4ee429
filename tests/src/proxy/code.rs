//! An answer of a broker with another error code in it: the broker acted, and says something else.

use anyhow::Result;
use kafka_protocol::messages::{
    AddOffsetsToTxnResponse, AddPartitionsToTxnResponse, ApiKey, EndTxnResponse, FindCoordinatorResponse,
    InitProducerIdResponse, MetadataResponse, ProduceResponse, TxnOffsetCommitResponse,
};

use super::Request;
use super::frame::changed;

/// The answer with `code` in place of its own; where an answer has codes per partition, in all of them or in those of one
/// partition. Answers of other APIs are left as they are.
pub(super) fn replace(
    request: &Request,
    frame: Vec<u8>,
    code: i16,
    partition: Option<i32>,
) -> Result<Vec<u8>> {
    let is_meant = |index: i32| partition.is_none_or(|partition| partition == index);
    match request.api {
        Some(ApiKey::InitProducerId) => changed(request, frame, |body: &mut InitProducerIdResponse| {
            body.error_code = code;
            body.producer_id = (-1).into();
            body.producer_epoch = -1;
        }),
        Some(ApiKey::EndTxn) => changed(request, frame, |body: &mut EndTxnResponse| {
            body.error_code = code;
            body.producer_id = (-1).into();
            body.producer_epoch = -1;
        }),
        Some(ApiKey::AddOffsetsToTxn) => changed(request, frame, |body: &mut AddOffsetsToTxnResponse| {
            body.error_code = code;
        }),
        Some(ApiKey::AddPartitionsToTxn) => {
            changed(request, frame, |body: &mut AddPartitionsToTxnResponse| {
                let by_transaction = body.results_by_transaction.iter_mut();
                let topics = by_transaction.flat_map(|results| &mut results.topic_results);
                let partitions = topics
                    .chain(&mut body.results_by_topic_v3_and_below)
                    .flat_map(|topic| &mut topic.results_by_partition);
                for result in partitions.filter(|result| is_meant(result.partition_index)) {
                    result.partition_error_code = code;
                }
            })
        }
        Some(ApiKey::TxnOffsetCommit) => changed(request, frame, |body: &mut TxnOffsetCommitResponse| {
            let partitions = body.topics.iter_mut().flat_map(|topic| &mut topic.partitions);
            for result in partitions.filter(|result| is_meant(result.partition_index)) {
                result.error_code = code;
            }
        }),
        Some(ApiKey::Produce) => changed(request, frame, |body: &mut ProduceResponse| {
            let partitions = body
                .responses
                .iter_mut()
                .flat_map(|topic| &mut topic.partition_responses);
            for result in partitions.filter(|result| is_meant(result.index)) {
                result.error_code = code;
                result.base_offset = -1;
            }
        }),
        Some(ApiKey::FindCoordinator) => changed(request, frame, |body: &mut FindCoordinatorResponse| {
            set_coordinator(body, code, request.version);
        }),
        Some(ApiKey::Metadata) => changed(request, frame, |body: &mut MetadataResponse| {
            for topic in &mut body.topics {
                topic.error_code = code;
            }
        }),
        _ => Ok(frame),
    }
}

/// One code for all keys from version 4 on, one for the answer before.
fn set_coordinator(body: &mut FindCoordinatorResponse, code: i16, version: i16) {
    if version < 4 {
        body.error_code = code;
        body.node_id = (-1).into();
    }
    for coordinator in &mut body.coordinators {
        coordinator.error_code = code;
        coordinator.node_id = (-1).into();
    }
}
