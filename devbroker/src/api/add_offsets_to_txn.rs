//! AddOffsetsToTxn (25): a TV1 producer announces that it will commit a group's offsets. The group's partition of `__consumer_offsets` joins the
//! transaction.

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{ProducerEpoch, ProducerId, ProducerIdAndEpoch};
use sealwax_protocol::messages::{AddOffsetsToTxnRequest, AddOffsetsToTxnResponse};
use sealwax_protocol::response::ResponseBody;

use super::{Call, Reply};
use crate::state::State;

pub(super) fn handle(state: &mut State, call: &Call, request: &AddOffsetsToTxnRequest) -> Reply {
    let code = add(state, call, request).err().unwrap_or(ErrorCode::NONE);
    let response = AddOffsetsToTxnResponse::default().with_error_code(code.0);
    Reply::Answer(ResponseBody::AddOffsetsToTxn(response))
}

fn add(state: &mut State, call: &Call, request: &AddOffsetsToTxnRequest) -> Result<(), ErrorCode> {
    let id = request.transactional_id.0.as_str();
    if id.is_empty() {
        return Err(ErrorCode::INVALID_REQUEST);
    }
    state.transactions.check(call.now, call.node, id)?;
    let producer = ProducerIdAndEpoch {
        id: ProducerId(request.producer_id.0),
        epoch: ProducerEpoch(request.producer_epoch),
    };
    let partition = state.groups.partition_of(&request.group_id.0);
    state.add_partitions(call.now, id, producer, [partition])
}
