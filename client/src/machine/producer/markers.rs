//! Whether the markers of the transaction before are written, under TV2. In: the ends and beginnings of transactions, the coordinator's
//! description, time. Out: when to ask, and whether writes wait.
//!
//! EndTxn is answered before the markers are written, which takes a millisecond or so. A write that comes earlier is not refused: the
//! partition's leader asks the coordinator to add it, hears CONCURRENT_TRANSACTIONS, and asks again only after
//! `add.partitions.to.txn.retry.backoff.ms`, 20 ms by default. So a transaction that follows closely asks the coordinator itself
//! (DescribeTransactions, which needs no permission that a producer lacks) until the markers are there, and saves the rest of the leader's
//! pause. Nothing depends on the answer but time: without one, the write goes after the leader's pause at the latest.

use std::time::{Duration, Instant};

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::messages::EndTxnResponse;
use sealwax_protocol::response::ResponseBody;

use crate::machine::RequestFailure;

/// The leader's own pause. Later than that after the end nothing can be saved by asking.
const LEADERS_PAUSE: Duration = Duration::from_millis(20);

/// What is known of the markers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Markers {
    /// They do not matter: written, or nobody follows closely.
    Past,
    /// EndTxn was confirmed; writes of a next transaction will wait until this instant at most.
    Ended { until: Instant },
    /// The next transaction has begun: the coordinator is to be asked.
    Due { until: Instant },
    /// It was asked.
    Asked { until: Instant },
}

impl Markers {
    /// EndTxn was answered. From version 5 on (TV2) the answer has the next epoch.
    pub(super) fn ended(&mut self, now: Instant, response: &EndTxnResponse) {
        if !ErrorCode(response.error_code).is_error() && response.producer_epoch >= 0 {
            *self = Self::Ended {
                until: now + LEADERS_PAUSE,
            };
        }
    }

    /// The next transaction has begun.
    pub(super) fn begun(&mut self, now: Instant) {
        *self = match *self {
            Self::Ended { until } if until > now => Self::Due { until },
            Self::Past | Self::Ended { .. } | Self::Due { .. } | Self::Asked { .. } => Self::Past,
        };
    }

    /// Whether the coordinator is to be asked now.
    pub(super) fn ask(&mut self, now: Instant) -> bool {
        match *self {
            Self::Due { until } if until > now => {
                *self = Self::Asked { until };
                true
            }
            Self::Past | Self::Ended { .. } | Self::Due { .. } | Self::Asked { .. } => false,
        }
    }

    /// The coordinator's description, or that there is none.
    pub(super) fn answered(&mut self, result: &Result<ResponseBody, RequestFailure>) {
        if let Self::Asked { until } = *self {
            *self = if is_marking(result) {
                Self::Due { until }
            } else {
                Self::Past
            };
        }
    }

    /// Until when writes wait.
    pub(super) fn hold_until(&self, now: Instant) -> Option<Instant> {
        match *self {
            Self::Due { until } | Self::Asked { until } => Some(until).filter(|until| *until > now),
            Self::Past | Self::Ended { .. } => None,
        }
    }
}

fn is_marking(result: &Result<ResponseBody, RequestFailure>) -> bool {
    let Ok(ResponseBody::DescribeTransactions(response)) = result else {
        return false;
    };
    response.transaction_states.iter().any(|described| {
        !ErrorCode(described.error_code).is_error()
            && matches!(
                described.transaction_state.as_str(),
                "PrepareCommit" | "PrepareAbort"
            )
    })
}

#[cfg(test)]
mod tests;
