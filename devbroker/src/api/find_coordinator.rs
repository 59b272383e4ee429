//! FindCoordinator (10), version 4 on: who coordinates these groups or transactional ids.

use sealwax_protocol::StrBytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::NodeId;
use sealwax_protocol::messages::find_coordinator_response::Coordinator;
use sealwax_protocol::messages::{BrokerId, FindCoordinatorRequest, FindCoordinatorResponse};
use sealwax_protocol::response::ResponseBody;

use super::Reply;
use crate::names::text;
use crate::state::State;

const GROUP: i8 = 0;
const TRANSACTION: i8 = 1;

pub(super) fn handle(state: &State, request: &FindCoordinatorRequest) -> Reply {
    let coordinators = request.coordinator_keys.iter().map(|key| {
        let found = match request.key_type {
            GROUP => Ok(group_coordinator(state, key)),
            TRANSACTION => Ok(transaction_coordinator(state, key)),
            _ => Err(ErrorCode::INVALID_REQUEST),
        };
        let node = found.and_then(|found| found.ok_or(ErrorCode::COORDINATOR_NOT_AVAILABLE));
        answer(key, node)
    });
    let response = FindCoordinatorResponse::default().with_coordinators(coordinators.collect());
    Reply::Answer(ResponseBody::FindCoordinator(response))
}

fn group_coordinator(state: &State, group: &str) -> Option<NodeId> {
    state
        .groups
        .leadership(&state.groups.partition_of(group))
        .and_then(|leadership| leadership.leader)
}

fn transaction_coordinator(state: &State, transactional_id: &str) -> Option<NodeId> {
    state
        .transactions
        .home(transactional_id)
        .and_then(|home| home.leadership.leader)
}

fn answer(key: &StrBytes, node: Result<NodeId, ErrorCode>) -> Coordinator {
    let answer = Coordinator::default().with_key(key.clone());
    match node {
        Ok(node) => answer
            .with_node_id(BrokerId(node.0))
            .with_host(text(&crate::state::host(node)))
            .with_port(crate::state::PORT),
        Err(code) => answer
            .with_error_code(code.0)
            .with_node_id(BrokerId(-1))
            .with_port(-1),
    }
}
