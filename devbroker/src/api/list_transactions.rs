//! ListTransactions (66): all transactional ids that this node coordinates (KIP-664), by state, producer id, duration (KIP-994) and
//! name (KIP-1152).

use std::time::Duration;

use sealwax_protocol::StrBytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::messages::list_transactions_response::TransactionState;
use sealwax_protocol::messages::{ListTransactionsRequest, ListTransactionsResponse, TransactionalId};
use sealwax_protocol::response::ResponseBody;

use super::{Call, Reply};
use crate::coordinator::{Phase, TransactionMetadata};
use crate::names::text;
use crate::state::State;

/// Every name that a filter may have; the last two are Java's, and no id of this model is ever in them.
const STATES: &[&str] = &[
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
];

pub(super) fn handle(state: &State, call: &Call, request: &ListTransactionsRequest) -> Reply {
    let response = list(state, call, request)
        .unwrap_or_else(|code| ListTransactionsResponse::default().with_error_code(code.0));
    Reply::Answer(ResponseBody::ListTransactions(response))
}

fn list(
    state: &State,
    call: &Call,
    request: &ListTransactionsRequest,
) -> Result<ListTransactionsResponse, ErrorCode> {
    let own = state.transactions.partitions.iter();
    let mut own = own.filter(|home| home.leadership.leader == Some(call.node));
    if own.any(|home| call.now < home.loaded_at) {
        return Err(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS);
    }
    let pattern = Pattern::read(request.transactional_id_pattern.as_ref())?;
    let is_known = |filter: &&StrBytes| STATES.contains(&filter.as_str());
    let unknown = request.state_filters.iter().filter(|filter| !is_known(filter));
    let ids = state.transactions.ids.iter().filter(|(id, found)| {
        state.transactions.check(call.now, call.node, id).is_ok()
            && pattern.fits(id)
            && fits(call.now, request, &found.metadata)
    });
    let states = ids.map(|(id, found)| {
        TransactionState::default()
            .with_transactional_id(TransactionalId(text(id)))
            .with_producer_id(found.metadata.producer().id.0.into())
            .with_transaction_state(text(found.metadata.phase().name()))
    });
    Ok(ListTransactionsResponse::default()
        .with_transaction_states(states.collect())
        .with_unknown_state_filters(unknown.cloned().collect()))
}

fn fits(now: Duration, request: &ListTransactionsRequest, metadata: &TransactionMetadata) -> bool {
    let name = metadata.phase().name();
    let states = &request.state_filters;
    let ids = &request.producer_id_filters;
    let is_state = states.is_empty() || states.iter().any(|state| state.as_str() == name);
    let is_id = ids.is_empty() || ids.iter().any(|id| id.0 == metadata.producer().id.0);
    is_state && is_id && is_long_enough(now, request.duration_filter, metadata)
}

/// Whether a transaction is open for longer than asked. A negative duration is no filter.
fn is_long_enough(now: Duration, milliseconds: i64, metadata: &TransactionMetadata) -> bool {
    let Ok(asked) = u64::try_from(milliseconds) else {
        return true;
    };
    match metadata.phase() {
        Phase::Ongoing(open) | Phase::Prepare { open, .. } => {
            now.saturating_sub(open.started) >= Duration::from_millis(asked)
        }
        Phase::Empty | Phase::Complete { .. } => false,
    }
}

/// Which names are wanted. Of regular expressions the model understands a name, and a name's beginning before `.*`.
enum Pattern<'a> {
    All,
    Whole(&'a str),
    Beginning(&'a str),
}

impl<'a> Pattern<'a> {
    fn read(pattern: Option<&'a StrBytes>) -> Result<Self, ErrorCode> {
        let pattern = pattern.map_or("", StrBytes::as_str);
        let is_plain = |text: &str| {
            !text.contains([
                '\\', '.', '*', '+', '?', '[', ']', '(', ')', '{', '}', '|', '^', '$',
            ])
        };
        match pattern.strip_suffix(".*") {
            _ if pattern.is_empty() => Ok(Self::All),
            Some(beginning) if is_plain(beginning) => Ok(Self::Beginning(beginning)),
            None if is_plain(pattern) => Ok(Self::Whole(pattern)),
            Some(_) | None => Err(ErrorCode::INVALID_REGULAR_EXPRESSION),
        }
    }

    fn fits(&self, id: &str) -> bool {
        match self {
            Self::All => true,
            Self::Whole(name) => id == *name,
            Self::Beginning(beginning) => id.starts_with(beginning),
        }
    }
}
