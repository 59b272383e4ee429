//! Fetch (API key 1), versions 12 to 18: 13 uses topic ids (KIP-516), 15 drops the replica id, 16 brings leader hints (KIP-951), 17 and 18 are for brokers.
//!
//! The codec is ours because it is hot: the records of each partition stay a slice of the frame.

mod decode;
mod encode;

use std::sync::Arc;

use bytes::Bytes;

use crate::error_code::ErrorCode;
use crate::ids::{LeaderEpoch, ProducerId, TopicId};
pub use crate::leader::{LeaderHint, NodeEndpoint};

const FIRST_VERSION_WITHOUT_REPLICA_ID: i16 = 15;
const FIRST_VERSION_WITH_HINTS: i16 = 16;
/// The last version that names topics; later ones need their ids.
const LAST_VERSION_WITH_NAMES: i16 = 12;

/// Which records a reader sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IsolationLevel {
    /// All records, also of open and aborted transactions.
    #[default]
    ReadUncommitted,
    /// Only records below the last stable offset; those of aborted transactions are listed for filtering.
    ReadCommitted,
}

impl IsolationLevel {
    /// The number on the wire.
    #[must_use]
    pub const fn code(self) -> i8 {
        match self {
            Self::ReadUncommitted => 0,
            Self::ReadCommitted => 1,
        }
    }
}

/// A Fetch request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchRequest {
    /// How long the broker may wait for `min_bytes`, in milliseconds.
    pub max_wait_ms: i32,
    /// Bytes that are worth an answer before `max_wait_ms` is over.
    pub min_bytes: i32,
    /// Soft upper bound of the answer.
    pub max_bytes: i32,
    /// Which records are wanted.
    pub isolation_level: IsolationLevel,
    /// Fetch session (KIP-227), 0 for none.
    pub session_id: i32,
    /// Epoch in the session; −1 for a request outside of sessions.
    pub session_epoch: i32,
    /// What to read, by topic.
    pub topics: Vec<FetchTopic>,
    /// Partitions to drop from the session.
    pub forgotten: Vec<ForgottenTopic>,
    /// The reader's rack, empty if not set (KIP-392).
    pub rack_id: Arc<str>,
}

impl FetchRequest {
    /// The highest version that can carry this request, were there no other bound than unknown topic ids.
    pub(crate) fn version_cap(&self) -> i16 {
        let ids = self
            .topics
            .iter()
            .map(|topic| topic.id)
            .chain(self.forgotten.iter().map(|topic| topic.id));
        if ids.into_iter().any(|id| id.is_nil()) {
            LAST_VERSION_WITH_NAMES
        } else {
            i16::MAX
        }
    }
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchTopic {
    /// Name, sent in version 12.
    pub name: Arc<str>,
    /// Id, sent from version 13 on. Nil if unknown: then only version 12 can be spoken.
    pub id: TopicId,
    /// The partitions.
    pub partitions: Vec<FetchPartition>,
}

/// Where to read one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchPartition {
    /// The partition's index.
    pub index: i32,
    /// The leader's epoch as the reader knows it.
    pub current_leader_epoch: LeaderEpoch,
    /// First offset that is wanted.
    pub fetch_offset: i64,
    /// Leader epoch of the last record that was read, [`LeaderEpoch::UNKNOWN`] if none.
    pub last_fetched_epoch: LeaderEpoch,
    /// Soft upper bound of this partition's bytes.
    pub max_bytes: i32,
}

/// Partitions of one topic that leave the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgottenTopic {
    /// Name, sent in version 12.
    pub name: Arc<str>,
    /// Id, sent from version 13 on.
    pub id: TopicId,
    /// The partitions' indexes.
    pub partitions: Vec<i32>,
}

/// The answer to a Fetch request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchResponse {
    /// How long the client is to stay quiet, in milliseconds (KIP-219).
    pub throttle_time_ms: i32,
    /// An error of the whole request.
    pub error_code: ErrorCode,
    /// The session that the broker keeps, 0 for none.
    pub session_id: i32,
    /// What was read, by topic.
    pub topics: Vec<FetchTopicResponse>,
    /// Addresses of leaders named by hints (version 16 on).
    pub node_endpoints: Vec<NodeEndpoint>,
}

/// What was read of one topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchTopicResponse {
    /// Name; empty from version 13 on.
    pub name: Arc<str>,
    /// Id; nil in version 12.
    pub id: TopicId,
    /// The partitions.
    pub partitions: Vec<FetchPartitionResponse>,
}

/// What was read of one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchPartitionResponse {
    /// The partition's index.
    pub index: i32,
    /// What happened.
    pub error_code: ErrorCode,
    /// End of what is replicated.
    pub high_watermark: i64,
    /// End of what belongs to no open transaction, −1 if unknown.
    pub last_stable_offset: i64,
    /// First offset that the log still has, −1 if unknown.
    pub log_start_offset: i64,
    /// Where this reader's log and the leader's part ways (KIP-595), if they do.
    pub diverging_epoch: Option<EpochEndOffset>,
    /// The leader that the broker knows, if it is not the leader itself (KIP-951).
    pub current_leader: Option<LeaderHint>,
    /// Aborted transactions that touch the answered range, in the broker's order (it may be unsorted).
    /// `None` when read_uncommitted was asked.
    pub aborted_transactions: Option<Vec<AbortedTransaction>>,
    /// Replica to read from, if not the leader (KIP-392).
    pub preferred_read_replica: Option<crate::ids::NodeId>,
    /// Record batches; the last one may be cut. A slice of the frame.
    pub records: Bytes,
}

/// End of a leader epoch in the broker's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochEndOffset {
    /// The epoch.
    pub epoch: LeaderEpoch,
    /// Its end offset.
    pub end_offset: i64,
}

impl EpochEndOffset {
    /// The wire's default, which says nothing and is never written.
    const NONE: Self = Self {
        epoch: LeaderEpoch::UNKNOWN,
        end_offset: -1,
    };
}

/// A transaction that was aborted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AbortedTransaction {
    /// Whose transaction.
    pub producer_id: ProducerId,
    /// Its first offset in the partition.
    pub first_offset: i64,
}
