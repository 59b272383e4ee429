//! Produce (0): batches into logs. A transactional one is checked with the coordinator first, or added to the transaction there (KIP-890).

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use sealwax_protocol::Uuid;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{NodeId, ProducerEpoch, ProducerId, ProducerIdAndEpoch, TopicPartition};
use sealwax_protocol::produce::{
    LeaderHint, NodeEndpoint, ProducePartition, ProducePartitionResponse, ProduceRequest, ProduceResponse,
    ProduceTopic, ProduceTopicResponse,
};
use sealwax_protocol::response::ResponseBody;

use super::{Call, Reply};
use crate::log::{FirstSequence, Incoming, Writer};
use crate::settings::Release;
use crate::state::State;
use crate::state::verification::{Permit, Verification};

const FIRST_WITH_TOPIC_IDS: i16 = 13;
const FIRST_WITH_HINTS: i16 = 10;

/// What was done with one batch: its offset, or why not.
type Appended = Result<i64, Refusal>;

/// Why a batch was not appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    /// Before the log was asked.
    Before(ErrorCode),
    /// By the log: the answer tells where it begins.
    ByLog(ErrorCode),
}

impl Refusal {
    const fn code(self) -> ErrorCode {
        match self {
            Self::Before(code) | Self::ByLog(code) => code,
        }
    }
}

pub(super) fn handle(state: &mut State, call: &Call, request: &ProduceRequest) -> Reply {
    if let Some(code) = refusal(request) {
        let results: Vec<Appended> = request
            .topics
            .iter()
            .flat_map(|topic| &topic.partitions)
            .map(|_| Err(Refusal::Before(code)))
            .collect();
        return Reply::Answer(ResponseBody::Produce(respond(state, call, request, &results)));
    }
    let mut appends = Vec::new();
    for topic in &request.topics {
        let name = name_of(state, call, topic);
        for part in &topic.partitions {
            let prepared = name.as_ref().map_err(|code| *code).and_then(|name| {
                let partition = TopicPartition::new(Arc::clone(name), part.index);
                prepare(state, call, request, partition, &part.records)
            });
            appends.push(prepared);
        }
    }
    if let Some(at) = pause(state, call, &appends) {
        return Reply::LookAgain(at);
    }
    let results: Vec<Appended> = appends
        .into_iter()
        .map(|prepared| append(state, prepared.map_err(Refusal::Before)?))
        .collect();
    if request.acks == 0 {
        return Reply::Silent;
    }
    Reply::Answer(ResponseBody::Produce(respond(state, call, request, &results)))
}

/// Why the whole request is refused, if it is.
fn refusal(request: &ProduceRequest) -> Option<ErrorCode> {
    let mut batches = request.topics.iter().flat_map(|topic| &topic.partitions);
    let is_transactional =
        |part: &ProducePartition| Incoming::read(&part.records).is_ok_and(|batch| batch.is_transactional());
    if !(-1..=1).contains(&request.acks) {
        Some(ErrorCode::INVALID_REQUIRED_ACKS)
    } else if request.transactional_id.is_none() && batches.any(is_transactional) {
        Some(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    } else {
        None
    }
}

/// A batch whose partition this node leads, with what the coordinator said.
struct Prepared {
    partition: TopicPartition,
    batch: Incoming,
    permit: Result<Permit, ErrorCode>,
}

fn name_of(state: &State, call: &Call, topic: &ProduceTopic) -> Result<Arc<str>, ErrorCode> {
    if call.version < FIRST_WITH_TOPIC_IDS {
        return Ok(Arc::clone(&topic.name));
    }
    let name = state.topics.name_of(topic.id);
    name.map(Arc::clone).ok_or(ErrorCode::UNKNOWN_TOPIC_ID)
}

fn prepare(
    state: &mut State,
    call: &Call,
    request: &ProduceRequest,
    partition: TopicPartition,
    records: &Bytes,
) -> Result<Prepared, ErrorCode> {
    let found = state
        .topics
        .partition(&partition)
        .ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    let batch = Incoming::read(records)?;
    if found.leadership.leader != Some(call.node) {
        return Err(ErrorCode::NOT_LEADER_OR_FOLLOWER);
    }
    let permit = if batch.is_transactional() {
        let transactional_id = request.transactional_id.as_deref().unwrap_or_default();
        let producer = ProducerIdAndEpoch {
            id: ProducerId(batch.producer_id()),
            epoch: ProducerEpoch(batch.epoch()),
        };
        let is_open = state.is_open(&found.log, producer);
        let verification = Verification::of_produce(call.version);
        let first_sequence = match verification {
            Verification::Add => FirstSequence::Zero,
            Verification::Check | Verification::CheckOld => FirstSequence::Any,
        };
        let is_fenced = state.is_at_least(Release::V4_4) && found.log.is_fenced(&batch);
        if !is_open
            && !is_fenced
            && let Some(found) = state.topics.partition_mut(&partition)
        {
            found.log.note_attempt(&batch, first_sequence);
        }
        if is_fenced {
            // Nobody is asked: the log knows a later epoch.
            Err(ErrorCode::INVALID_PRODUCER_EPOCH)
        } else {
            state.verify(
                call.now,
                verification,
                is_open,
                transactional_id,
                producer,
                &partition,
            )
        }
    } else {
        Ok(Permit::Granted)
    };
    Ok(Prepared {
        partition,
        batch,
        permit,
    })
}

/// When to ask the coordinator again, if it is still busy with the transaction before.
fn pause(state: &State, call: &Call, appends: &[Result<Prepared, ErrorCode>]) -> Option<Duration> {
    let is_busy = |prepared: &Result<Prepared, ErrorCode>| {
        matches!(
            prepared,
            Ok(Prepared {
                permit: Ok(Permit::Busy),
                ..
            })
        )
    };
    let waited = call.now.saturating_sub(call.begun);
    (waited < state.settings.add_partitions_retry_limit && appends.iter().any(is_busy))
        .then(|| call.now + state.settings.add_partitions_retry_backoff)
}

fn append(state: &mut State, prepared: Prepared) -> Appended {
    match prepared.permit.map_err(|code| Refusal::Before(told(code)))? {
        Permit::Granted => {}
        Permit::Busy => return Err(Refusal::Before(ErrorCode::CONCURRENT_TRANSACTIONS)),
    }
    let found = state
        .topics
        .partition_mut(&prepared.partition)
        .ok_or(Refusal::Before(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION))?;
    let offset = found
        .log
        .append(prepared.batch, found.leadership.epoch, Writer::Producer)
        .map_err(Refusal::ByLog)?;
    state.changes += 1;
    Ok(offset)
}

/// The coordinator's error as a producer is told it: it looks for another coordinator only if it must.
const fn told(code: ErrorCode) -> ErrorCode {
    match code {
        ErrorCode::CONCURRENT_TRANSACTIONS
        | ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
        | ErrorCode::COORDINATOR_NOT_AVAILABLE
        | ErrorCode::NOT_COORDINATOR => ErrorCode::NOT_ENOUGH_REPLICAS,
        other => other,
    }
}

fn respond(state: &State, call: &Call, request: &ProduceRequest, results: &[Appended]) -> ProduceResponse {
    let mut results = results.iter();
    let mut hinted = Vec::new();
    let topics = request.topics.iter().map(|topic| {
        let name = name_of(state, call, topic).unwrap_or_else(|_| Arc::clone(&topic.name));
        let partitions = topic.partitions.iter().map(|part| {
            let result = results
                .next()
                .copied()
                .unwrap_or(Err(Refusal::Before(ErrorCode::UNKNOWN_SERVER_ERROR)));
            let partition = TopicPartition::new(Arc::clone(&name), part.index);
            let hint = hint(state, call, &partition, result);
            hinted.extend(hint.map(|hint| hint.leader));
            answer(part.index, result, hint)
        });
        let partitions = partitions.collect();
        if call.version < FIRST_WITH_TOPIC_IDS {
            ProduceTopicResponse {
                name: Arc::clone(&topic.name),
                id: Uuid::nil(),
                partitions,
            }
        } else {
            ProduceTopicResponse {
                name: "".into(),
                id: topic.id,
                partitions,
            }
        }
    });
    let topics = topics.collect();
    ProduceResponse {
        topics,
        throttle_time_ms: 0,
        node_endpoints: endpoints(hinted),
    }
}

fn answer(index: i32, result: Appended, current_leader: Option<LeaderHint>) -> ProducePartitionResponse {
    ProducePartitionResponse {
        index,
        error_code: result.err().map_or(ErrorCode::NONE, Refusal::code),
        base_offset: result.unwrap_or(-1),
        log_append_time_ms: -1,
        log_start_offset: match result {
            Ok(_) | Err(Refusal::ByLog(_)) => 0,
            Err(Refusal::Before(_)) => -1,
        },
        record_errors: Vec::new(),
        error_message: None,
        current_leader,
    }
}

/// Who leads instead (KIP-951).
fn hint(state: &State, call: &Call, partition: &TopicPartition, result: Appended) -> Option<LeaderHint> {
    if result != Err(Refusal::Before(ErrorCode::NOT_LEADER_OR_FOLLOWER)) || call.version < FIRST_WITH_HINTS {
        return None;
    }
    super::leader_hint(state, partition)
}

fn endpoints(mut nodes: Vec<NodeId>) -> Vec<NodeEndpoint> {
    nodes.sort_unstable();
    nodes.dedup();
    nodes.into_iter().map(super::endpoint).collect()
}
