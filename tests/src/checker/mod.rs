//! Whether a history is one that Kafka's promises allow. Pure: events in, anomalies out.
//!
//! One file per anomaly; `ledger` is what they all ask. "Unknown" is nobody's excuse: as soon as one value of an unknown
//! transaction is seen, it counts as committed and all of it must be there, once.

mod aborted_read;
mod anomaly;
mod calls;
mod contradiction;
mod cycle;
mod duplicate;
mod early_read;
mod fenced;
mod incomplete;
mod inconsistent;
mod invented;
mod ledger;
mod lost;
mod malformed;
mod offsets;
mod order;
mod polls;
mod stuck;
mod torn;
mod unseen;

#[cfg(test)]
mod tests;

use std::time::Duration;

pub use anomaly::{Anomaly, Txn};
use ledger::Ledger;

use crate::history::Event;

/// What is too long.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Longest that any act may take, and longest without any success after a heal.
    pub patience: Duration,
}

/// All anomalies of a history, by kind and place. `events` are in the order in which they happened.
#[must_use]
pub fn check(events: &[Event], limits: Limits) -> Vec<Anomaly> {
    let ledger = Ledger::new(events);
    let calls = calls::pair(events);
    [
        malformed::find(events),
        invented::find(&ledger),
        inconsistent::find(&ledger),
        duplicate::find(&ledger),
        aborted_read::find(&ledger),
        early_read::find(&ledger, events),
        torn::find(&ledger),
        lost::find(&ledger),
        unseen::find(&ledger),
        incomplete::find(&ledger),
        contradiction::find(&ledger),
        offsets::find(&ledger, events),
        order::find(&ledger),
        polls::find(&ledger, events),
        fenced::find(events, &calls),
        cycle::find(&ledger, events),
        stuck::find(events, &calls, limits),
    ]
    .concat()
}
