//! Produce (API key 0), versions 9 to 13: from 10 on leader hints (KIP-951), 12 implies AddPartitionsToTxn (KIP-890), 13 uses topic ids (KIP-516).
//!
//! The codec is ours because it is hot: batches go out as they are, without a copy, and the answer is read straight into values.

mod decode;
mod encode;

use std::sync::Arc;

use bytes::Bytes;

use crate::error_code::ErrorCode;
use crate::ids::TopicId;
pub use crate::leader::{LeaderHint, NodeEndpoint};

const FIRST_VERSION_WITH_HINTS: i16 = 10;
/// The last version that names topics; later ones need their ids.
const LAST_VERSION_WITH_NAMES: i16 = 12;

/// A Produce request. At most one batch per partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProduceRequest {
    /// Set for a transactional producer.
    pub transactional_id: Option<Arc<str>>,
    /// 0, 1 or −1 (all in-sync replicas).
    pub acks: i16,
    /// How long the broker may wait for replicas, in milliseconds.
    pub timeout_ms: i32,
    /// The batches, by topic.
    pub topics: Vec<ProduceTopic>,
}

impl ProduceRequest {
    /// The highest version that can carry this request, were there no other bound than unknown topic ids.
    pub(crate) fn version_cap(&self) -> i16 {
        if self.topics.iter().any(|topic| topic.id.is_nil()) {
            LAST_VERSION_WITH_NAMES
        } else {
            i16::MAX
        }
    }
}

/// The batches for one topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProduceTopic {
    /// Name, sent up to version 12.
    pub name: Arc<str>,
    /// Id, sent from version 13 on. Nil if unknown: then at most version 12 can be spoken.
    pub id: TopicId,
    /// The partitions.
    pub partitions: Vec<ProducePartition>,
}

/// One partition's batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProducePartition {
    /// The partition's index.
    pub index: i32,
    /// One sealed record batch.
    pub records: Bytes,
}

/// The answer to a Produce request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProduceResponse {
    /// One entry per topic of the request.
    pub topics: Vec<ProduceTopicResponse>,
    /// How long the client is to stay quiet, in milliseconds (KIP-219).
    pub throttle_time_ms: i32,
    /// Addresses of leaders named by hints (version 10 on).
    pub node_endpoints: Vec<NodeEndpoint>,
}

/// Results for one topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProduceTopicResponse {
    /// Name; empty from version 13 on.
    pub name: Arc<str>,
    /// Id; nil up to version 12.
    pub id: TopicId,
    /// The partitions.
    pub partitions: Vec<ProducePartitionResponse>,
}

/// Result for one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProducePartitionResponse {
    /// The partition's index.
    pub index: i32,
    /// What happened.
    pub error_code: ErrorCode,
    /// Offset of the batch's first record, −1 if unknown.
    pub base_offset: i64,
    /// The broker's clock if the topic uses LogAppendTime, else −1.
    pub log_append_time_ms: i64,
    /// First offset that the log still has, −1 if unknown.
    pub log_start_offset: i64,
    /// Records of the batch that were refused (KIP-467).
    pub record_errors: Vec<RecordError>,
    /// The broker's words about the error.
    pub error_message: Option<String>,
    /// The leader that the broker knows, if it is not the leader itself (KIP-951).
    pub current_leader: Option<LeaderHint>,
}

/// A refused record of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordError {
    /// Index within the batch.
    pub batch_index: i32,
    /// The broker's words.
    pub message: Option<String>,
}
