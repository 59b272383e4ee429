//! Connections, as long as a request of theirs is being worked on: a node does one at a time, in order.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
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
    /// When it is to be looked at again.
    pub(super) look_again_at: Option<Duration>,
}

/// The connections that are busy.
#[derive(Debug, Default)]
pub(super) struct Connections {
    busy: BTreeMap<u64, Busy>,
    awaiting_data: BTreeSet<u64>,
    requests_done: u64,
}

#[derive(Debug)]
struct Busy {
    node: NodeId,
    /// The request that waits for something; `None` while it is looked at.
    head: Option<Waiting>,
    /// Names the request at the head among all.
    serial: u64,
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
            serial: self.requests_done,
            behind: VecDeque::new(),
        };
        self.busy.insert(waiting.origin.connection, busy);
        Some(waiting)
    }

    /// The request that waits on a connection, to be looked at again; if a serial is given, only that request.
    pub(super) fn take(&mut self, connection: u64, serial: Option<u64>) -> Option<Waiting> {
        let busy = self.busy.get_mut(&connection)?;
        if serial.is_none_or(|serial| serial == busy.serial) {
            busy.head.take()
        } else {
            None
        }
    }

    /// It waits on. Returns its serial.
    pub(super) fn put_back(&mut self, waiting: Waiting) -> u64 {
        match self.busy.get_mut(&waiting.origin.connection) {
            Some(busy) => {
                busy.head = Some(waiting);
                busy.serial
            }
            None => u64::MAX,
        }
    }

    /// The request on a connection is to be looked at when a log has changed.
    pub(super) fn await_data(&mut self, connection: u64) {
        self.awaiting_data.insert(connection);
    }

    /// The connections with such a request.
    pub(super) fn take_awaiting(&mut self) -> BTreeSet<u64> {
        std::mem::take(&mut self.awaiting_data)
    }

    /// A request is done. The next one of its connection is handed out.
    pub(super) fn finish(&mut self, connection: u64) -> Option<Waiting> {
        self.requests_done += 1;
        let busy = self.busy.get_mut(&connection)?;
        busy.serial = self.requests_done;
        let next = busy.behind.pop_front();
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
