//! DescribeProducers (61): what the leader of a partition knows of each producer (KIP-664).

use std::sync::Arc;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::TopicPartition;
use sealwax_protocol::messages::describe_producers_response::{
    PartitionResponse, ProducerState, TopicResponse,
};
use sealwax_protocol::messages::{DescribeProducersRequest, DescribeProducersResponse};
use sealwax_protocol::response::ResponseBody;

use super::{Call, Reply};
use crate::log::{PartitionLog, ProducerEntry};
use crate::names::shared;
use crate::state::State;

/// The wire's "no transaction is open".
const NONE: i64 = -1;

pub(super) fn handle(state: &State, call: &Call, request: &DescribeProducersRequest) -> Reply {
    let topics = request.topics.iter().map(|topic| {
        let name = shared(&topic.name.0);
        let partitions = topic.partition_indexes.iter().map(|index| {
            let partition = TopicPartition::new(Arc::clone(&name), *index);
            let answer = PartitionResponse::default().with_partition_index(*index);
            match look_up(state, call, &partition) {
                Ok(log) => answer.with_active_producers(log.producers().map(describe).collect()),
                Err(code) => answer.with_error_code(code.0),
            }
        });
        TopicResponse::default()
            .with_name(topic.name.clone())
            .with_partitions(partitions.collect())
    });
    let response = DescribeProducersResponse::default().with_topics(topics.collect());
    Reply::Answer(ResponseBody::DescribeProducers(response))
}

fn look_up<'a>(
    state: &'a State,
    call: &Call,
    partition: &TopicPartition,
) -> Result<&'a PartitionLog, ErrorCode> {
    let log = state
        .topics
        .partition(partition)
        .map(|found| &found.log)
        .or_else(|| state.groups.home(partition).map(|home| &home.log))
        .ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    if state.leader_of(partition) == Some(call.node) {
        Ok(log)
    } else {
        Err(ErrorCode::NOT_LEADER_OR_FOLLOWER)
    }
}

fn describe((id, entry): (i64, &ProducerEntry)) -> ProducerState {
    ProducerState::default()
        .with_producer_id(id.into())
        .with_producer_epoch(i32::from(entry.epoch()))
        .with_last_sequence(entry.last_sequence())
        .with_last_timestamp(entry.last_timestamp())
        .with_coordinator_epoch(entry.coordinator_epoch())
        .with_current_txn_start_offset(entry.open_since().unwrap_or(NONE))
}
