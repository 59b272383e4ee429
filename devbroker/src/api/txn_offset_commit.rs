//! TxnOffsetCommit (28), at the group's coordinator: offsets that count when their transaction commits (KIP-447). The coordinator checks or
//! joins the transaction like the leader of any partition (KIP-890).

use std::sync::Arc;

use sealwax_protocol::StrBytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{ProducerEpoch, ProducerId, ProducerIdAndEpoch, TopicPartition};
use sealwax_protocol::messages::txn_offset_commit_request::TxnOffsetCommitRequestPartition;
use sealwax_protocol::messages::txn_offset_commit_response::{
    TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic,
};
use sealwax_protocol::messages::{TxnOffsetCommitRequest, TxnOffsetCommitResponse};
use sealwax_protocol::response::ResponseBody;

use super::{Call, Reply};
use crate::group::Offset;
use crate::log::OffsetsWrite;
use crate::names::shared;
use crate::settings::Release;
use crate::state::State;
use crate::state::verification::{Permit, Verification};

pub(super) fn handle(state: &mut State, call: &Call, request: &TxnOffsetCommitRequest) -> Reply {
    let offsets = offsets(request);
    let (known, unknown): (Vec<_>, Vec<_>) = offsets
        .into_iter()
        .partition(|(partition, _)| state.topics.partition(partition).is_some());
    let code = if known.is_empty() {
        ErrorCode::NONE
    } else {
        commit(state, call, request, known)
            .err()
            .unwrap_or(ErrorCode::NONE)
    };
    let unknown: Vec<TopicPartition> = unknown.into_iter().map(|(partition, _)| partition).collect();
    Reply::Answer(ResponseBody::TxnOffsetCommit(answer(request, |partition| {
        if unknown.contains(partition) {
            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
        } else {
            code
        }
    })))
}

fn offsets(request: &TxnOffsetCommitRequest) -> Vec<(TopicPartition, Offset)> {
    let topics = request.topics.iter();
    topics
        .flat_map(|topic| {
            let name = shared(&topic.name.0);
            let offset = move |found: &TxnOffsetCommitRequestPartition| {
                let partition = TopicPartition::new(Arc::clone(&name), found.partition_index);
                let metadata = found.committed_metadata.as_ref().map(StrBytes::to_string);
                let offset = Offset {
                    offset: found.committed_offset,
                    leader_epoch: found.committed_leader_epoch,
                    metadata,
                };
                (partition, offset)
            };
            topic.partitions.iter().map(offset)
        })
        .collect()
}

fn commit(
    state: &mut State,
    call: &Call,
    request: &TxnOffsetCommitRequest,
    offsets: Vec<(TopicPartition, Offset)>,
) -> Result<(), ErrorCode> {
    let group = request.group_id.0.as_str();
    if group.is_empty() {
        return Err(ErrorCode::INVALID_GROUP_ID);
    }
    let producer = ProducerIdAndEpoch {
        id: ProducerId(request.producer_id.0),
        epoch: ProducerEpoch(request.producer_epoch),
    };
    let partition = state.groups.partition_of(group);
    let home = state
        .groups
        .home(&partition)
        .ok_or(ErrorCode::COORDINATOR_NOT_AVAILABLE)?;
    home.coordinator.check(call.now, call.node)?;
    let is_open = state.is_open(&home.log, producer);
    let verification = Verification::of_txn_offset_commit(call.version);
    let id = request.transactional_id.0.as_str();
    match state.verify(call.now, verification, is_open, id, producer, &partition)? {
        Permit::Granted => {}
        Permit::Busy => return Err(ErrorCode::CONCURRENT_TRANSACTIONS),
    }
    let is_unheard_of = !state.groups.groups.contains_key(group);
    if is_unheard_of && request.generation_id >= 0 && state.is_at_least(Release::V4_4) {
        return Err(ErrorCode::ILLEGAL_GENERATION);
    }
    let entry = state.groups.groups.entry(group.into()).or_default();
    entry.check_member(&request.member_id, request.generation_id)?;
    let appended = append(state, call, &partition, producer);
    let keeps_earlier = state.is_at_least(Release::V4_4);
    if let Some(entry) = state.groups.groups.get_mut(group) {
        for (partition, offset) in offsets {
            match appended {
                Ok(()) => entry.add_pending(producer.id.0, partition, offset),
                Err(_) if keeps_earlier => {}
                // Kafka 3.9 takes back what it cannot write by partition and producer id: also what the producer wrote before.
                Err(_) => entry.drop_pending(producer.id.0, &partition),
            }
        }
    }
    appended
}

/// Writes to the group's partition of `__consumer_offsets`.
fn append(
    state: &mut State,
    call: &Call,
    partition: &TopicPartition,
    producer: ProducerIdAndEpoch,
) -> Result<(), ErrorCode> {
    let home = state
        .groups
        .home_mut(partition)
        .ok_or(ErrorCode::COORDINATOR_NOT_AVAILABLE)?;
    let write = OffsetsWrite {
        producer,
        now: call.now,
    };
    home.log
        .append_offsets(write, home.coordinator.leadership.epoch)?;
    Ok(())
}

/// An answer with a code for each partition of the request.
pub(super) fn answer(
    request: &TxnOffsetCommitRequest,
    code: impl Fn(&TopicPartition) -> ErrorCode,
) -> TxnOffsetCommitResponse {
    let topics = request.topics.iter().map(|topic| {
        let name = shared(&topic.name.0);
        let partitions = topic.partitions.iter().map(|found| {
            let partition = TopicPartition::new(Arc::clone(&name), found.partition_index);
            TxnOffsetCommitResponsePartition::default()
                .with_partition_index(found.partition_index)
                .with_error_code(code(&partition).0)
        });
        TxnOffsetCommitResponseTopic::default()
            .with_name(topic.name.clone())
            .with_partitions(partitions.collect())
    });
    TxnOffsetCommitResponse::default().with_topics(topics.collect())
}
