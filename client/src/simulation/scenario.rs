//! A run as data: who does what, on which cluster, and what goes wrong.

use std::time::Duration;

use super::faults::{Act, Plan};
use super::operations::Script;

/// A run as data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scenario {
    pub(super) seed: u64,
    /// The level of `transaction.version` at the start.
    pub(super) transaction_version: i16,
    /// How long it takes from the answer to EndTxn to its last marker.
    pub(super) marker_delay: Duration,
    /// `transaction.timeout.ms`.
    pub(super) transaction_timeout: Duration,
    pub(super) scripts: Vec<Script>,
    pub(super) plan: Plan,
    pub(super) readers: usize,
}

impl Scenario {
    /// Whether a coordinator of TV1 may end a transaction that takes too long, which costs its producer the epoch.
    pub(super) fn may_be_v1(&self) -> bool {
        let mut acts = self.plan.acts.iter();
        self.transaction_version < 2
            || acts.any(|(_, act)| matches!(act, Act::SetTransactionVersion(level) if *level < 2))
    }
}
