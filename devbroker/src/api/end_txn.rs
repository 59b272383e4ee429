//! EndTxn (26): commit or abort. Version 5 is TV2's: its answer brings the producer of the next transaction (KIP-890).

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{ProducerEpoch, ProducerId, ProducerIdAndEpoch};
use sealwax_protocol::messages::{EndTxnRequest, EndTxnResponse};
use sealwax_protocol::response::ResponseBody;

use super::{Call, Reply};
use crate::coordinator::{Ended, Level, Outcome};
use crate::state::State;

const FIRST_OF_V2: i16 = 5;

pub(super) fn handle(state: &mut State, call: &Call, request: &EndTxnRequest) -> Reply {
    let level = if call.version >= FIRST_OF_V2 {
        Level::V2
    } else {
        Level::V1
    };
    let (code, next) = match end(state, call, request, level) {
        Ok(next) if level == Level::V2 => (ErrorCode::NONE, next),
        Ok(_) => (ErrorCode::NONE, ProducerIdAndEpoch::NONE),
        Err(code) => (code, ProducerIdAndEpoch::NONE),
    };
    let response = EndTxnResponse::default()
        .with_error_code(code.0)
        .with_producer_id(next.id.0.into())
        .with_producer_epoch(next.epoch.0);
    Reply::Answer(ResponseBody::EndTxn(response))
}

fn end(
    state: &mut State,
    call: &Call,
    request: &EndTxnRequest,
    level: Level,
) -> Result<ProducerIdAndEpoch, ErrorCode> {
    let id = request.transactional_id.0.as_str();
    if id.is_empty() {
        return Err(ErrorCode::INVALID_REQUEST);
    }
    state.transactions.check(call.now, call.node, id)?;
    let outcome = if request.committed {
        Outcome::Commit
    } else {
        Outcome::Abort
    };
    let producer = ProducerIdAndEpoch {
        id: ProducerId(request.producer_id.0),
        epoch: ProducerEpoch(request.producer_epoch),
    };
    // Drawn before it is known whether it is needed; ids are plenty.
    let fresh = state.new_producer_id();
    let metadata = state
        .transactions
        .metadata_mut(id)
        .ok_or(ErrorCode::INVALID_PRODUCER_ID_MAPPING)?;
    let ended = metadata.end_txn(call.now, producer, outcome, level, || fresh)?;
    let next = metadata.next_producer();
    if ended == Ended::Prepared {
        state.send_markers(call.now, id);
    }
    Ok(next)
}
