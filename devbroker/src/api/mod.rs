//! One file per API key: a request at a node in, its answer and effect out.

mod add_partitions_to_txn;
mod api_versions;
mod end_txn;
mod find_coordinator;
mod init_producer_id;
mod metadata;
mod produce;

use std::time::Duration;

use sealwax_protocol::ids::{LeaderEpoch, NodeId, TopicPartition};
use sealwax_protocol::produce::{LeaderHint, NodeEndpoint};
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;

use crate::state::{PORT, State, host};
pub(crate) use api_versions::unsupported as unsupported_api_versions;

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
}

/// Who leads a partition, as an answer says it (KIP-951).
fn leader_hint(state: &State, partition: &TopicPartition) -> Option<LeaderHint> {
    let leadership = state.topics.partition(partition)?.leadership;
    Some(LeaderHint {
        leader: leadership.leader?,
        epoch: LeaderEpoch(leadership.epoch),
    })
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
        _ => Reply::Silent,
    }
}

/// What is said to a version that the node does not speak.
pub(crate) fn refuse(_body: &RequestBody) -> Reply {
    Reply::Silent
}
