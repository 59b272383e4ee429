//! Connections, as long as a request of theirs is being worked on: a node does one at a time, in order.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use sealwax_protocol::ids::NodeId;
use sealwax_protocol::request::RequestBody;

use super::Origin;

/// A request that reached its node.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) origin: Origin,
    pub(super) version: i16,
    pub(super) body: RequestBody,
    /// When the node first looked at it.
    pub(super) begun: Option<Duration>,
}

/// The connections that are busy.
#[derive(Debug, Default)]
pub(super) struct Connections {
    busy: BTreeMap<u64, Busy>,
}

#[derive(Debug)]
struct Busy {
    node: NodeId,
    /// The request that waits for something; `None` while it is looked at.
    head: Option<Waiting>,
    behind: VecDeque<Waiting>,
}

impl Connections {
    /// A request arrives. It is handed back if it is to be worked on now.
    pub(super) fn arrive(&mut self, waiting: Waiting) -> Option<Waiting> {
        if let Some(busy) = self.busy.get_mut(&waiting.origin.connection) {
            busy.behind.push_back(waiting);
            return None;
        }
        let busy = Busy {
            node: waiting.origin.node,
            head: None,
            behind: VecDeque::new(),
        };
        self.busy.insert(waiting.origin.connection, busy);
        Some(waiting)
    }

    /// The request that waits on a connection, to be looked at again.
    pub(super) fn take(&mut self, connection: u64) -> Option<Waiting> {
        self.busy.get_mut(&connection)?.head.take()
    }

    /// It waits on.
    pub(super) fn put_back(&mut self, waiting: Waiting) {
        if let Some(busy) = self.busy.get_mut(&waiting.origin.connection) {
            busy.head = Some(waiting);
        }
    }

    /// A request is done. The next one of its connection is handed out.
    pub(super) fn finish(&mut self, connection: u64) -> Option<Waiting> {
        let next = self.busy.get_mut(&connection)?.behind.pop_front();
        if next.is_none() {
            self.busy.remove(&connection);
        }
        next
    }

    /// A node is gone, and all its connections with what waits on them.
    pub(super) fn drop_node(&mut self, node: NodeId) {
        self.busy.retain(|_, busy| busy.node != node);
    }
}
