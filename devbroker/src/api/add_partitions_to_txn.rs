//! AddPartitionsToTxn (24), version 3: a TV1 producer announces where it will write. All partitions or none.

use std::sync::Arc;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{ProducerEpoch, ProducerId, ProducerIdAndEpoch, TopicPartition};
use sealwax_protocol::messages::add_partitions_to_txn_request::AddPartitionsToTxnTopic;
use sealwax_protocol::messages::add_partitions_to_txn_response::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnTopicResult,
};
use sealwax_protocol::messages::{AddPartitionsToTxnRequest, AddPartitionsToTxnResponse};
use sealwax_protocol::response::ResponseBody;

use super::{Call, Reply};
use crate::names::shared;
use crate::state::State;

pub(super) fn handle(state: &mut State, call: &Call, request: &AddPartitionsToTxnRequest) -> Reply {
    let named: Vec<Vec<TopicPartition>> = request.v3_and_below_topics.iter().map(partitions).collect();
    let is_known = |partition: &TopicPartition| state.topics.partition(partition).is_some();
    let all_known = named.iter().flatten().all(is_known);
    let result = if all_known {
        add(state, call, request, &named)
    } else {
        Err(ErrorCode::OPERATION_NOT_ATTEMPTED)
    };
    let code = |partition: &TopicPartition| match result {
        Err(ErrorCode::OPERATION_NOT_ATTEMPTED) if state.topics.partition(partition).is_none() => {
            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
        }
        Err(code) => code,
        Ok(()) => ErrorCode::NONE,
    };
    let topics = request
        .v3_and_below_topics
        .iter()
        .zip(&named)
        .map(|(topic, partitions)| {
            let results = partitions.iter().map(|partition| {
                AddPartitionsToTxnPartitionResult::default()
                    .with_partition_index(partition.partition)
                    .with_partition_error_code(code(partition).0)
            });
            AddPartitionsToTxnTopicResult::default()
                .with_name(topic.name.clone())
                .with_results_by_partition(results.collect())
        });
    let response = AddPartitionsToTxnResponse::default().with_results_by_topic_v3_and_below(topics.collect());
    Reply::Answer(ResponseBody::AddPartitionsToTxn(response))
}

fn partitions(topic: &AddPartitionsToTxnTopic) -> Vec<TopicPartition> {
    let name = shared(&topic.name.0);
    let indexes = topic.partitions.iter();
    indexes
        .map(|index| TopicPartition::new(Arc::clone(&name), *index))
        .collect()
}

fn add(
    state: &mut State,
    call: &Call,
    request: &AddPartitionsToTxnRequest,
    partitions: &[Vec<TopicPartition>],
) -> Result<(), ErrorCode> {
    let id = request.v3_and_below_transactional_id.0.as_str();
    if id.is_empty() {
        return Err(ErrorCode::INVALID_REQUEST);
    }
    state.transactions.check(call.now, call.node, id)?;
    let producer = ProducerIdAndEpoch {
        id: ProducerId(request.v3_and_below_producer_id.0),
        epoch: ProducerEpoch(request.v3_and_below_producer_epoch),
    };
    state.add_partitions(call.now, id, producer, partitions.iter().flatten().cloned())
}
