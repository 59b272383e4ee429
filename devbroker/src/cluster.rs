//! The cluster as its clients and operators see it. In: requests at a node, time, an operator's acts. Out: answers, and when to look again.

use std::time::Duration;

use sealwax_protocol::ids::NodeId;
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;

/// How a cluster is made.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// Nodes, numbered from 1; each is broker and controller. Default 3.
    pub nodes: i32,
    /// The finalized level of `transaction.version`: 0 or 1 is TV1, 2 is TV2. Default 2.
    pub transaction_version: i16,
    /// How long the coordinator takes from PREPARE (when EndTxn is answered) to the last marker (when the next may begin). Default 2 ms.
    pub marker_delay: Duration,
    /// `transaction.max.timeout.ms`. Default 15 minutes.
    pub transaction_max_timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            nodes: 3,
            transaction_version: 2,
            marker_delay: Duration::from_millis(2),
            transaction_max_timeout: Duration::from_secs(15 * 60),
        }
    }
}

/// Where a request came from, and so where its answer goes. A node works on one request of a connection at a time, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin {
    /// The node that it reached.
    pub node: NodeId,
    /// Names the connection, over all nodes and time.
    pub connection: u64,
    /// Names the request on its connection.
    pub correlation: i32,
}

/// An answer that leaves a node.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The request's origin.
    pub to: Origin,
    /// The version that it was asked in.
    pub version: i16,
    /// What is answered.
    pub body: ResponseBody,
}

/// The cluster. Time is a duration since it was made, and never goes back.
#[derive(Debug)]
pub struct Cluster {
    settings: Settings,
}

impl Cluster {
    /// A cluster without topics.
    #[must_use]
    pub const fn new(settings: Settings) -> Self {
        Self { settings }
    }

    /// A request has reached a node. It is answered at once, later, or (if its node stops) never.
    pub fn handle_request(&mut self, now: Duration, origin: Origin, version: i16, body: RequestBody) {
        let _ = (now, origin, version, body, &self.settings);
    }

    /// The instant of [`Cluster::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Duration) {
        let _ = now;
    }

    /// The next answer, in the order in which they leave.
    pub fn poll_answer(&mut self) -> Option<Answer> {
        None
    }

    /// When [`Cluster::handle_timeout`] wants to be called.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        None
    }
}
