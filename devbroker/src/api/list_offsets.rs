//! ListOffsets (2): the ends of logs, and the first record of a time.

use std::sync::Arc;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{LeaderEpoch, TopicPartition};
use sealwax_protocol::messages::list_offsets_request::ListOffsetsPartition;
use sealwax_protocol::messages::list_offsets_response::{
    ListOffsetsPartitionResponse, ListOffsetsTopicResponse,
};
use sealwax_protocol::messages::{ListOffsetsRequest, ListOffsetsResponse};
use sealwax_protocol::response::ResponseBody;

use super::{Call, Reply};
use crate::log::PartitionLog;
use crate::names::shared;
use crate::state::State;

const LATEST: i64 = -1;
const EARLIEST: i64 = -2;
const MAX_TIMESTAMP: i64 = -3;
const EARLIEST_LOCAL: i64 = -4;
const READ_COMMITTED: i8 = 1;
/// The wire's "unknown".
const NONE: i64 = -1;

pub(super) fn handle(state: &State, call: &Call, request: &ListOffsetsRequest) -> Reply {
    let is_committed = request.isolation_level == READ_COMMITTED;
    let topics = request.topics.iter().map(|topic| {
        let name = shared(&topic.name.0);
        let partitions = topic.partitions.iter().map(|asked| {
            let partition = TopicPartition::new(Arc::clone(&name), asked.partition_index);
            look_up(state, call, &partition, asked, is_committed).unwrap_or_else(|code| refused(asked, code))
        });
        ListOffsetsTopicResponse::default()
            .with_name(topic.name.clone())
            .with_partitions(partitions.collect())
    });
    let response = ListOffsetsResponse::default().with_topics(topics.collect());
    Reply::Answer(ResponseBody::ListOffsets(response))
}

fn look_up(
    state: &State,
    call: &Call,
    partition: &TopicPartition,
    asked: &ListOffsetsPartition,
    is_committed: bool,
) -> Result<ListOffsetsPartitionResponse, ErrorCode> {
    let found = state
        .topics
        .partition(partition)
        .ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    super::check_leader(found, call.node, LeaderEpoch(asked.current_leader_epoch))?;
    let (timestamp, offset) = offset_of(&found.log, asked.timestamp, is_committed);
    let epoch = if offset == NONE {
        -1
    } else {
        found.leadership.epoch
    };
    Ok(ListOffsetsPartitionResponse::default()
        .with_partition_index(asked.partition_index)
        .with_timestamp(timestamp)
        .with_offset(offset)
        .with_leader_epoch(epoch))
}

/// Timestamp and offset that are answered.
fn offset_of(log: &PartitionLog, timestamp: i64, is_committed: bool) -> (i64, i64) {
    let end = if is_committed {
        log.last_stable_offset()
    } else {
        log.high_watermark()
    };
    match timestamp {
        LATEST => (NONE, end),
        EARLIEST | EARLIEST_LOCAL => (NONE, 0),
        MAX_TIMESTAMP => {
            let data = log.batches().iter().filter(|batch| batch.control().is_none());
            let latest = data.max_by_key(|batch| batch.max_timestamp());
            latest.map_or((NONE, NONE), |batch| (batch.max_timestamp(), batch.last_offset()))
        }
        time if time < 0 => (NONE, NONE),
        time => log
            .batch_at_time(time)
            .filter(|batch| batch.base_offset() < end)
            .map_or((NONE, NONE), |batch| (batch.max_timestamp(), batch.base_offset())),
    }
}

fn refused(asked: &ListOffsetsPartition, code: ErrorCode) -> ListOffsetsPartitionResponse {
    ListOffsetsPartitionResponse::default()
        .with_partition_index(asked.partition_index)
        .with_error_code(code.0)
        .with_timestamp(NONE)
        .with_offset(NONE)
        .with_leader_epoch(-1)
}
