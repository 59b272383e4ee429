//! Fetch (1), without fetch sessions (an answer with session 0 refuses them, KIP-227): batches from logs, waiting for data if asked to.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use sealwax_protocol::Uuid;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::fetch::{
    AbortedTransaction, FetchPartition, FetchPartitionResponse, FetchRequest, FetchResponse, FetchTopic,
    FetchTopicResponse, IsolationLevel, LeaderHint, NodeEndpoint,
};
use sealwax_protocol::ids::{NodeId, ProducerId, TopicPartition};
use sealwax_protocol::response::ResponseBody;

use super::{Call, Reply};
use crate::log::{Range, Read};
use crate::state::State;
use crate::state::topics::Partition;

const FIRST_WITH_TOPIC_IDS: i16 = 13;
const FIRST_WITH_HINTS: i16 = 16;

pub(super) fn handle(state: &State, call: &Call, request: &FetchRequest) -> Reply {
    if request.session_id != 0 {
        return answer(failed(ErrorCode::FETCH_SESSION_ID_NOT_FOUND));
    }
    let mut room = usize::try_from(request.max_bytes).unwrap_or_default();
    let mut total = 0;
    let mut hinted = Vec::new();
    let mut failures = 0;
    let topics = request.topics.iter().map(|topic| {
        let name = name_of(state, call, topic);
        let partitions = topic.partitions.iter().map(|wanted| {
            let partition =
                TopicPartition::new(Arc::clone(name.as_ref().unwrap_or(&topic.name)), wanted.index);
            let read = name.as_ref().map_err(|code| *code).and_then(|_| {
                read(
                    state,
                    call,
                    request,
                    &partition,
                    wanted,
                    Range {
                        room,
                        is_first: total == 0,
                    },
                )
            });
            let (result, hint) = match read {
                Ok(result) => (result, None),
                Err(code) => {
                    failures += 1;
                    let hint = hint(state, call, &partition, code);
                    hinted.extend(hint.map(|hint| hint.leader));
                    (refused(wanted, code, request.isolation_level), hint)
                }
            };
            total += result.records.len();
            room = room.saturating_sub(result.records.len());
            FetchPartitionResponse {
                current_leader: hint,
                ..result
            }
        });
        let partitions = partitions.collect();
        if call.version < FIRST_WITH_TOPIC_IDS {
            FetchTopicResponse {
                name: Arc::clone(&topic.name),
                id: Uuid::nil(),
                partitions,
            }
        } else {
            FetchTopicResponse {
                name: "".into(),
                id: topic.id,
                partitions,
            }
        }
    });
    let topics: Vec<FetchTopicResponse> = topics.collect();
    let deadline = call.begun + Duration::from_millis(u64::try_from(request.max_wait_ms).unwrap_or_default());
    let is_enough = total >= usize::try_from(request.min_bytes).unwrap_or_default();
    if !is_enough && failures == 0 && call.now < deadline && !request.topics.is_empty() {
        return Reply::AwaitData(deadline);
    }
    answer(FetchResponse {
        topics,
        node_endpoints: endpoints(hinted),
        ..failed(ErrorCode::NONE)
    })
}

/// An answer that says `code` of the whole request.
pub(super) const fn failed(code: ErrorCode) -> FetchResponse {
    FetchResponse {
        throttle_time_ms: 0,
        error_code: code,
        session_id: 0,
        topics: Vec::new(),
        node_endpoints: Vec::new(),
    }
}

fn answer(response: FetchResponse) -> Reply {
    Reply::Answer(ResponseBody::Fetch(response))
}

fn name_of(state: &State, call: &Call, topic: &FetchTopic) -> Result<Arc<str>, ErrorCode> {
    if call.version < FIRST_WITH_TOPIC_IDS {
        return Ok(Arc::clone(&topic.name));
    }
    let name = state.topics.name_of(topic.id);
    name.map(Arc::clone).ok_or(ErrorCode::UNKNOWN_TOPIC_ID)
}

fn read(
    state: &State,
    call: &Call,
    request: &FetchRequest,
    partition: &TopicPartition,
    wanted: &FetchPartition,
    range: Range,
) -> Result<FetchPartitionResponse, ErrorCode> {
    let found = state
        .topics
        .partition(partition)
        .ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    super::check_leader(found, call.node, wanted.current_leader_epoch)?;
    if !(0..=found.log.high_watermark()).contains(&wanted.fetch_offset) {
        return Err(ErrorCode::OFFSET_OUT_OF_RANGE);
    }
    let is_committed = request.isolation_level == IsolationLevel::ReadCommitted;
    let room = range
        .room
        .min(usize::try_from(wanted.max_bytes).unwrap_or_default());
    let end = if is_committed {
        found.log.last_stable_offset()
    } else {
        found.log.high_watermark()
    };
    let read = found.log.read(wanted.fetch_offset, end, Range { room, ..range });
    Ok(filled(found, wanted, is_committed, read))
}

fn filled(
    found: &Partition,
    wanted: &FetchPartition,
    is_committed: bool,
    read: Read,
) -> FetchPartitionResponse {
    let aborted = is_committed.then(|| {
        let aborted = found.log.aborted_between(wanted.fetch_offset, read.next_offset);
        aborted
            .map(|aborted| AbortedTransaction {
                producer_id: ProducerId(aborted.producer_id),
                first_offset: aborted.first_offset,
            })
            .collect()
    });
    FetchPartitionResponse {
        index: wanted.index,
        error_code: ErrorCode::NONE,
        high_watermark: found.log.high_watermark(),
        last_stable_offset: found.log.last_stable_offset(),
        log_start_offset: 0,
        diverging_epoch: None,
        current_leader: None,
        aborted_transactions: aborted,
        preferred_read_replica: None,
        records: read.bytes,
    }
}

fn refused(wanted: &FetchPartition, code: ErrorCode, isolation: IsolationLevel) -> FetchPartitionResponse {
    FetchPartitionResponse {
        index: wanted.index,
        error_code: code,
        high_watermark: -1,
        last_stable_offset: -1,
        log_start_offset: -1,
        diverging_epoch: None,
        current_leader: None,
        aborted_transactions: (isolation == IsolationLevel::ReadCommitted).then(Vec::new),
        preferred_read_replica: None,
        records: Bytes::new(),
    }
}

/// Who leads instead (KIP-951).
fn hint(state: &State, call: &Call, partition: &TopicPartition, code: ErrorCode) -> Option<LeaderHint> {
    let is_moved = matches!(
        code,
        ErrorCode::NOT_LEADER_OR_FOLLOWER | ErrorCode::FENCED_LEADER_EPOCH
    );
    (is_moved && call.version >= FIRST_WITH_HINTS)
        .then(|| super::leader_hint(state, partition))
        .flatten()
}

fn endpoints(mut nodes: Vec<NodeId>) -> Vec<NodeEndpoint> {
    nodes.sort_unstable();
    nodes.dedup();
    nodes.into_iter().map(super::endpoint).collect()
}
