//! What Produce and Fetch answers say about other leaders (KIP-951).

use crate::ids::{LeaderEpoch, NodeId};

/// A partition's leader as named in an answer (KIP-951).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaderHint {
    /// The leader.
    pub leader: NodeId,
    /// Its epoch.
    pub epoch: LeaderEpoch,
}

/// Address of a broker as named in an answer (KIP-951).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeEndpoint {
    /// The broker.
    pub node: NodeId,
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Rack, if set.
    pub rack: Option<String>,
}
