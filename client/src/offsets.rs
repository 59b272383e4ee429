//! A consumer's progress as part of a transaction: what is committed for a partition, and in whose name.

use sealwax_protocol::ids::LeaderEpoch;

/// What is committed for a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffsetAndMetadata {
    /// The offset of the next record to read: the last one that was processed, plus 1. Not negative.
    pub offset: i64,
    /// The leader epoch of the last record that was processed, if it is known: with it a reader notices a log that was cut off.
    pub leader_epoch: Option<LeaderEpoch>,
    /// Anything the application wants to find beside the offset. A broker takes up to `offset.metadata.max.bytes` (4096).
    pub metadata: String,
}

impl OffsetAndMetadata {
    /// An offset without anything beside it.
    #[must_use]
    pub const fn new(offset: i64) -> Self {
        Self {
            offset,
            leader_epoch: None,
            metadata: String::new(),
        }
    }
}

/// In whose name offsets are committed (KIP-447): with a member's id and generation the group coordinator refuses offsets of a member
/// that the group has gone on without.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ConsumerGroupMetadata {
    /// `group.id`.
    pub group_id: String,
    /// The member's generation (KIP-848: its epoch); −1 for no member.
    pub generation_id: i32,
    /// The member's id; empty for no member.
    pub member_id: String,
    /// `group.instance.id` of a static member.
    pub group_instance_id: Option<String>,
}

impl ConsumerGroupMetadata {
    /// By group id alone: for an application that assigns partitions by itself. Nothing then keeps an older instance from committing
    /// but the transactional id, which must be the same for the same partitions.
    #[must_use]
    pub fn new(group_id: impl Into<String>) -> Self {
        Self {
            group_id: group_id.into(),
            generation_id: -1,
            member_id: String::new(),
            group_instance_id: None,
        }
    }
}
