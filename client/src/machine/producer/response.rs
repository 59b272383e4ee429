//! Produce answers: what a partition's code means for the batch that was sent to it. In: the answer, or its absence, and what was asked.
//! Out: one outcome per batch.
//!
//! Most refusals can also come after the append, when the leader changes while replicas are awaited; only codes that the broker
//! gives before it touches the log count as proof that nothing was written.

use std::collections::HashMap;
use std::sync::Arc;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::TopicId;
use sealwax_protocol::produce::{ProducePartitionResponse, ProduceResponse, ProduceTopicResponse};

use crate::error::{Error, ErrorKind};
use crate::machine::RequestFailure;
use crate::machine::accumulator::BatchOutcome;
use crate::machine::accumulator::batch::Fate;
use crate::machine::accumulator::topics::PartitionId;
use crate::machine::acl::{self, Operation, Resource};

/// A batch of a Produce request.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// Its partition.
    pub(crate) id: PartitionId,
    /// The topic's name when it was asked.
    pub(crate) topic: Arc<str>,
    /// The topic's id when it was asked.
    pub(crate) topic_id: TopicId,
    /// The partition's index.
    pub(crate) index: i32,
}

/// What a partition's code means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// It is in the log.
    Written,
    /// It is in the log since an earlier attempt; the offset is forgotten.
    WrittenBefore,
    /// To be sent again.
    Retry(Fate),
    /// To be sent again to whoever leads by then.
    RetryElsewhere(Fate),
    /// An earlier sequence is missing.
    OutOfOrder,
    /// The log knows nothing of the producer id.
    UnknownProducer,
    /// The batch is larger than the topic or broker allows.
    TooLarge,
    /// It is given up.
    Failed(Fate),
    /// It is given up for lack of permission.
    Unauthorized,
    /// Someone else has initialised the transactional id.
    Fenced,
    /// The producer is beyond use.
    Fatal,
}

/// The meaning of a partition's code.
pub(crate) const fn classify(code: ErrorCode) -> Meaning {
    match code {
        ErrorCode::NONE => Meaning::Written,
        ErrorCode::DUPLICATE_SEQUENCE_NUMBER => Meaning::WrittenBefore,
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
        | ErrorCode::LEADER_NOT_AVAILABLE
        | ErrorCode::NOT_LEADER_OR_FOLLOWER
        | ErrorCode::KAFKA_STORAGE_ERROR
        | ErrorCode::REPLICA_NOT_AVAILABLE
        | ErrorCode::BROKER_NOT_AVAILABLE
        | ErrorCode::NETWORK_EXCEPTION => Meaning::RetryElsewhere(Fate::MaybeWritten),
        ErrorCode::UNKNOWN_TOPIC_ID
        | ErrorCode::INCONSISTENT_TOPIC_ID
        | ErrorCode::FENCED_LEADER_EPOCH
        | ErrorCode::UNKNOWN_LEADER_EPOCH => Meaning::RetryElsewhere(Fate::Unwritten),
        ErrorCode::REQUEST_TIMED_OUT | ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND => {
            Meaning::Retry(Fate::MaybeWritten)
        }
        ErrorCode::NOT_ENOUGH_REPLICAS
        | ErrorCode::CORRUPT_MESSAGE
        | ErrorCode::CONCURRENT_TRANSACTIONS
        | ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
        | ErrorCode::COORDINATOR_NOT_AVAILABLE
        | ErrorCode::NOT_COORDINATOR
        | ErrorCode::THROTTLING_QUOTA_EXCEEDED => Meaning::Retry(Fate::Unwritten),
        ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER => Meaning::OutOfOrder,
        ErrorCode::UNKNOWN_PRODUCER_ID => Meaning::UnknownProducer,
        ErrorCode::MESSAGE_TOO_LARGE | ErrorCode::RECORD_LIST_TOO_LARGE => Meaning::TooLarge,
        // A Produce that is refused by epoch says only that the transaction is over: the coordinator will say whether the
        // producer was fenced (KIP-588).
        ErrorCode::INVALID_PRODUCER_EPOCH
        | ErrorCode::INVALID_TXN_STATE
        | ErrorCode::TRANSACTION_ABORTABLE
        | ErrorCode::INVALID_RECORD
        | ErrorCode::INVALID_TIMESTAMP
        | ErrorCode::INVALID_TOPIC_EXCEPTION => Meaning::Failed(Fate::Unwritten),
        ErrorCode::TOPIC_AUTHORIZATION_FAILED => Meaning::Unauthorized,
        ErrorCode::PRODUCER_FENCED => Meaning::Fenced,
        ErrorCode::INVALID_PRODUCER_ID_MAPPING
        | ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        | ErrorCode::CLUSTER_AUTHORIZATION_FAILED
        | ErrorCode::UNSUPPORTED_FOR_MESSAGE_FORMAT
        | ErrorCode::UNSUPPORTED_VERSION
        | ErrorCode::INVALID_REQUIRED_ACKS => Meaning::Fatal,
        _ => Meaning::Failed(Fate::MaybeWritten),
    }
}

/// An answer, by the batches that were asked for.
#[derive(Debug)]
pub(crate) struct Answer {
    /// One outcome per batch.
    pub(crate) outcomes: Vec<(PartitionId, BatchOutcome)>,
    /// Whether what is known of leaders proved stale.
    pub(crate) is_metadata_stale: bool,
}

/// Reads the answer to `asked`. A batch that it does not speak of may be in the log.
pub(crate) fn read(asked: &[Asked], response: &ProduceResponse, transactional_id: Option<&str>) -> Answer {
    let mut parts: HashMap<(usize, i32), &ProducePartitionResponse> = HashMap::new();
    for topic in &response.topics {
        let Some(index) = asked
            .iter()
            .find(|asked| is_same_topic(asked, topic))
            .map(|asked| asked.id.topic)
        else {
            continue;
        };
        parts.extend(topic.partitions.iter().map(|part| ((index, part.index), part)));
    }
    let mut is_metadata_stale = false;
    let outcomes = asked.iter().map(|asked| {
        let Some(part) = parts.get(&(asked.id.topic, asked.index)) else {
            let message = format!("{}-{}: the answer does not speak of it", asked.topic, asked.index);
            let error = Error::new(ErrorKind::Corrupt, message);
            return (asked.id, BatchOutcome::Retry(Fate::MaybeWritten, error));
        };
        let meaning = classify(part.error_code);
        is_metadata_stale |= part.current_leader.is_some()
            || match meaning {
                Meaning::RetryElsewhere(_) => true,
                Meaning::Written
                | Meaning::WrittenBefore
                | Meaning::Retry(_)
                | Meaning::OutOfOrder
                | Meaning::UnknownProducer
                | Meaning::TooLarge
                | Meaning::Failed(_)
                | Meaning::Unauthorized
                | Meaning::Fenced
                | Meaning::Fatal => false,
            };
        (asked.id, outcome(asked, part, meaning, transactional_id))
    });
    let outcomes = outcomes.collect();
    Answer {
        outcomes,
        is_metadata_stale,
    }
}

/// What it means that a request was written which asks for no answer (`acks=0`): its batches are as written as can be known.
pub(crate) fn unacknowledged(asked: &[Asked]) -> Answer {
    let written = BatchOutcome::Written {
        base_offset: None,
        log_append_time: None,
    };
    Answer {
        outcomes: asked.iter().map(|asked| (asked.id, written.clone())).collect(),
        is_metadata_stale: false,
    }
}

/// What it means for every batch of a request that it has no answer.
pub(crate) fn unanswered(failure: &RequestFailure) -> BatchOutcome {
    match failure {
        RequestFailure::Unanswered(error) => BatchOutcome::Retry(Fate::MaybeWritten, error.clone()),
        RequestFailure::NotSent(error) => match error.kind() {
            // The broker lacks Produce 12, say, while the cluster is being upgraded: this transaction cannot go on.
            ErrorKind::UnsupportedVersion => BatchOutcome::Failed(error.clone(), Fate::Unwritten),
            ErrorKind::Config
            | ErrorKind::Unreachable
            | ErrorKind::NotKafka
            | ErrorKind::Timeout
            | ErrorKind::NotBuilt
            | ErrorKind::UnknownTopic
            | ErrorKind::Authorization
            | ErrorKind::RecordTooLarge
            | ErrorKind::Fenced
            | ErrorKind::TransactionAbortable
            | ErrorKind::CommitFailed
            | ErrorKind::TransactionAborted
            | ErrorKind::OutcomeUnknown
            | ErrorKind::InvalidState
            | ErrorKind::OffsetOutOfRange
            | ErrorKind::Corrupt
            | ErrorKind::Broker
            | ErrorKind::Closed => BatchOutcome::NotSent(error.clone()),
        },
    }
}

fn is_same_topic(asked: &Asked, topic: &ProduceTopicResponse) -> bool {
    if topic.id.is_nil() {
        asked.topic == topic.name
    } else {
        asked.topic_id == topic.id
    }
}

fn outcome(
    asked: &Asked,
    part: &ProducePartitionResponse,
    meaning: Meaning,
    transactional_id: Option<&str>,
) -> BatchOutcome {
    let error = |kind, what: &str| explain(asked, part, kind, what);
    match meaning {
        Meaning::Written => BatchOutcome::Written {
            base_offset: (part.base_offset >= 0).then_some(part.base_offset),
            log_append_time: (part.log_append_time_ms >= 0).then_some(part.log_append_time_ms),
        },
        Meaning::WrittenBefore => BatchOutcome::Written {
            base_offset: None,
            log_append_time: None,
        },
        Meaning::Retry(fate) | Meaning::RetryElsewhere(fate) => {
            BatchOutcome::Retry(fate, error(ErrorKind::Broker, "the batch was refused for now"))
        }
        Meaning::OutOfOrder => BatchOutcome::OutOfOrder(error(
            ErrorKind::Broker,
            "the log misses records that were acknowledged before",
        )),
        Meaning::UnknownProducer => BatchOutcome::UnknownProducer {
            log_start_offset: part.log_start_offset,
            error: error(
                ErrorKind::Broker,
                "the log knows nothing of this producer any more",
            ),
        },
        Meaning::TooLarge => BatchOutcome::TooLarge(error(
            ErrorKind::RecordTooLarge,
            "the record is larger than the topic allows; raise max.message.bytes of the topic (or message.max.bytes of the broker), or \
             send smaller records (a lower max.request.size refuses them at send)",
        )),
        Meaning::Failed(fate) => {
            BatchOutcome::Failed(error(ErrorKind::Broker, "the batch was refused"), fate)
        }
        Meaning::Unauthorized => BatchOutcome::Failed(
            error(
                ErrorKind::Authorization,
                &acl::missing(Operation::Write, Resource::Topic(&asked.topic)),
            ),
            Fate::Unwritten,
        ),
        Meaning::Fenced => {
            let id = transactional_id.unwrap_or("(none)");
            let what =
                format!("another producer with transactional id {id} has taken over; this one must stop");
            BatchOutcome::Fatal(error(ErrorKind::Fenced, &what))
        }
        Meaning::Fatal => {
            let (kind, what) = fatal(part.error_code, transactional_id);
            BatchOutcome::Fatal(error(kind, &what))
        }
    }
}

/// What is said of an answer after which the producer is beyond use.
fn fatal(code: ErrorCode, transactional_id: Option<&str>) -> (ErrorKind, String) {
    match code {
        ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED => {
            let resource = Resource::TransactionalId(transactional_id.unwrap_or_default());
            (ErrorKind::Authorization, acl::missing(Operation::Write, resource))
        }
        ErrorCode::CLUSTER_AUTHORIZATION_FAILED => (
            ErrorKind::Authorization,
            acl::missing(Operation::IdempotentWrite, Resource::Cluster),
        ),
        _ => (ErrorKind::Broker, "the producer cannot go on".to_owned()),
    }
}

/// An error with all that the broker said about it.
fn explain(asked: &Asked, part: &ProducePartitionResponse, kind: ErrorKind, what: &str) -> Error {
    let mut message = format!("{}-{}: {what}", asked.topic, asked.index);
    if let Some(words) = &part.error_message {
        message = format!("{message} ({words})");
    }
    if let Some(record) = part.record_errors.first() {
        let words = record.message.as_deref().unwrap_or("no reason given");
        message = format!("{message}; record {} of the batch: {words}", record.batch_index);
    }
    Error::broker(kind, part.error_code, message)
}

#[cfg(test)]
mod tests;
