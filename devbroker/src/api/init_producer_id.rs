//! InitProducerId (22): a producer id for anybody, or the next epoch of a transactional id.

use std::collections::BTreeSet;
use std::time::Duration;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{ProducerEpoch, ProducerId, ProducerIdAndEpoch};
use sealwax_protocol::messages::{InitProducerIdRequest, InitProducerIdResponse};
use sealwax_protocol::response::ResponseBody;

use super::{Call, Reply};
use crate::coordinator::{Initialized, TransactionMetadata};
use crate::names::shared;
use crate::state::State;
use crate::state::transactions::Coordinated;

pub(super) fn handle(state: &mut State, call: &Call, request: &InitProducerIdRequest) -> Reply {
    let producer = initialize(state, call, request);
    let (code, producer) = match producer {
        Ok(producer) => (ErrorCode::NONE, producer),
        Err(code) => (code, ProducerIdAndEpoch::NONE),
    };
    let response = InitProducerIdResponse::default()
        .with_error_code(code.0)
        .with_producer_id(producer.id.0.into())
        .with_producer_epoch(producer.epoch.0);
    Reply::Answer(ResponseBody::InitProducerId(response))
}

fn initialize(
    state: &mut State,
    call: &Call,
    request: &InitProducerIdRequest,
) -> Result<ProducerIdAndEpoch, ErrorCode> {
    let expected = expected(request)?;
    let Some(transactional_id) = &request.transactional_id else {
        return Ok(ProducerIdAndEpoch {
            id: ProducerId(state.new_producer_id()),
            epoch: ProducerEpoch(0),
        });
    };
    let id = shared(&transactional_id.0);
    if id.is_empty() {
        return Err(ErrorCode::INVALID_REQUEST);
    }
    let timeout = timeout(state, request)?;
    state.transactions.check(call.now, call.node, &id)?;
    // Drawn before it is known whether it is needed; ids are plenty.
    let fresh = state.new_producer_id();
    let level = state.own_level();
    let coordinated = state
        .transactions
        .ids
        .entry(id.clone())
        .or_insert_with(|| Coordinated {
            metadata: TransactionMetadata::new(fresh, timeout),
            unmarked: BTreeSet::new(),
        });
    let initialized = coordinated
        .metadata
        .init_producer_id(expected, timeout, level, || fresh)?;
    match initialized {
        Initialized::Ready(producer) => Ok(producer),
        Initialized::Fencing => {
            state.send_markers(call.now, &id);
            Err(ErrorCode::CONCURRENT_TRANSACTIONS)
        }
    }
}

/// What the caller holds: both id and epoch, or neither.
fn expected(request: &InitProducerIdRequest) -> Result<Option<ProducerIdAndEpoch>, ErrorCode> {
    let (id, epoch) = (request.producer_id.0, request.producer_epoch);
    match (id, epoch) {
        (-1, -1) => Ok(None),
        (-1, _) | (_, -1) => Err(ErrorCode::INVALID_REQUEST),
        _ => Ok(Some(ProducerIdAndEpoch {
            id: ProducerId(id),
            epoch: ProducerEpoch(epoch),
        })),
    }
}

fn timeout(state: &State, request: &InitProducerIdRequest) -> Result<Duration, ErrorCode> {
    let max = state.settings.transaction_max_timeout;
    u64::try_from(request.transaction_timeout_ms)
        .ok()
        .map(Duration::from_millis)
        .filter(|timeout| !timeout.is_zero() && *timeout <= max)
        .ok_or(ErrorCode::INVALID_TRANSACTION_TIMEOUT)
}
