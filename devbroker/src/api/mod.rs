//! One file per API key: a request at a node in, its answer and effect out.

mod add_offsets_to_txn;
mod add_partitions_to_txn;
mod api_versions;
mod create_topics;
mod describe_configs;
mod describe_producers;
mod describe_transactions;
mod end_txn;
mod fetch;
mod find_coordinator;
mod init_producer_id;
mod list_offsets;
mod list_transactions;
mod metadata;
mod offset_fetch;
mod produce;
mod refuse;
mod txn_offset_commit;
mod write_txn_markers;

use std::time::Duration;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{LeaderEpoch, NodeId, TopicPartition};
use sealwax_protocol::produce::{LeaderHint, NodeEndpoint};
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;

use crate::state::topics::Partition;
use crate::state::{PORT, State, host};
pub(crate) use api_versions::unsupported as unsupported_api_versions;
pub(crate) use refuse::refuse;

/// A request that reached a node, apart from its body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    pub(crate) now: Duration,
    /// When the node first looked at it: earlier than `now` if it had to wait.
    pub(crate) begun: Duration,
    pub(crate) node: NodeId,
    pub(crate) version: i16,
}

/// What a node does with a request.
#[derive(Debug)]
pub(crate) enum Reply {
    /// Answers it.
    Answer(ResponseBody),
    /// Is done with it without an answer.
    Silent,
    /// Looks at it again at that instant.
    LookAgain(Duration),
    /// Looks at it again when a log has changed, and at the latest at that instant.
    AwaitData(Duration),
}

/// Who leads a partition, as an answer says it (KIP-951).
fn leader_hint(state: &State, partition: &TopicPartition) -> Option<LeaderHint> {
    let leadership = state.topics.partition(partition)?.leadership;
    Some(LeaderHint {
        leader: leadership.leader?,
        epoch: LeaderEpoch(leadership.epoch),
    })
}

/// Whether a node leads a partition, in the epoch that the client knows (KIP-320).
fn check_leader(found: &Partition, node: NodeId, claimed: LeaderEpoch) -> Result<(), ErrorCode> {
    let current = found.leadership.epoch;
    if claimed != LeaderEpoch::UNKNOWN && claimed.0 < current {
        Err(ErrorCode::FENCED_LEADER_EPOCH)
    } else if claimed.0 > current {
        Err(ErrorCode::UNKNOWN_LEADER_EPOCH)
    } else if found.leadership.leader == Some(node) {
        Ok(())
    } else {
        Err(ErrorCode::NOT_LEADER_OR_FOLLOWER)
    }
}

/// The address of a leader that a hint names.
fn endpoint(node: NodeId) -> NodeEndpoint {
    NodeEndpoint {
        node,
        host: host(node),
        port: u16::try_from(PORT).unwrap_or_default(),
        rack: None,
    }
}

/// Carries out a request.
pub(crate) fn handle(state: &mut State, call: &Call, body: &RequestBody) -> Reply {
    match body {
        RequestBody::Metadata(request) => metadata::handle(state, request),
        RequestBody::ApiVersions(request) => api_versions::handle(state, call, request),
        RequestBody::FindCoordinator(request) => find_coordinator::handle(state, request),
        RequestBody::InitProducerId(request) => init_producer_id::handle(state, call, request),
        RequestBody::AddPartitionsToTxn(request) => add_partitions_to_txn::handle(state, call, request),
        RequestBody::EndTxn(request) => end_txn::handle(state, call, request),
        RequestBody::Produce(request) => produce::handle(state, call, request),
        RequestBody::Fetch(request) => fetch::handle(state, call, request),
        RequestBody::ListOffsets(request) => list_offsets::handle(state, call, request),
        RequestBody::OffsetFetch(request) => offset_fetch::handle(state, call, request),
        RequestBody::CreateTopics(request) => create_topics::handle(state, request),
        RequestBody::AddOffsetsToTxn(request) => add_offsets_to_txn::handle(state, call, request),
        RequestBody::WriteTxnMarkers(request) => write_txn_markers::handle(state, call, request),
        RequestBody::TxnOffsetCommit(request) => txn_offset_commit::handle(state, call, request),
        RequestBody::DescribeConfigs(request) => describe_configs::handle(state, request),
        RequestBody::DescribeProducers(request) => describe_producers::handle(state, call, request),
        RequestBody::DescribeTransactions(request) => describe_transactions::handle(state, call, request),
        RequestBody::ListTransactions(request) => list_transactions::handle(state, call, request),
        // Such an API is offered by no node: `refuse` has answered it.
        _ => Reply::Silent,
    }
}
