//! Which brokers take nothing although something waits for them (`partitioner.availability.timeout.ms`, KIP-794). In: that a broker had no
//! room, failed or answered. Out: whether its partitions are passed over by the sticky partitioner.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use sealwax_protocol::ids::NodeId;

/// Since when brokers take nothing.
#[derive(Debug)]
pub(crate) struct Availability {
    /// Zero: nothing is kept.
    timeout: Duration,
    stalled: BTreeMap<NodeId, Instant>,
}

impl Availability {
    /// All are available.
    pub(crate) const fn new(timeout: Duration) -> Self {
        Self {
            timeout,
            stalled: BTreeMap::new(),
        }
    }

    /// Something is ready for the broker, but it takes nothing more, or its connection failed.
    pub(crate) fn stall(&mut self, now: Instant, node: NodeId) {
        if !self.timeout.is_zero() {
            self.stalled.entry(node).or_insert(now);
        }
    }

    /// The broker has answered, or nothing waits for it any more.
    pub(crate) fn recover(&mut self, node: NodeId) {
        self.stalled.remove(&node);
    }

    /// Whether any broker is stalled.
    pub(crate) fn any_stalled(&self) -> bool {
        !self.stalled.is_empty()
    }

    /// Whether the broker gets no sticky partition.
    pub(crate) fn is_unavailable(&self, now: Instant, node: NodeId) -> bool {
        self.stalled
            .get(&node)
            .is_some_and(|since| now.saturating_duration_since(*since) > self.timeout)
    }
}
