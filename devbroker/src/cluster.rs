//! The cluster as its clients and operators see it. In: requests at a node, time, an operator's acts. Out: answers, and when to look again.

mod connections;
mod hands;
mod view;

use std::collections::VecDeque;
use std::time::Duration;

use sealwax_protocol::ApiKey;
use sealwax_protocol::ids::NodeId;
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;

use crate::api::{self, Call, Reply};
pub use crate::settings::{Release, Settings};
use crate::state::{Event, State};
use connections::{Connections, Waiting};
pub use view::GroupOffset;

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
    /// The version that it was asked in. 0 for an ApiVersions answer that says UNSUPPORTED_VERSION (KIP-511).
    pub version: i16,
    /// What is answered.
    pub body: ResponseBody,
}

/// The cluster. Time is a duration since it was made, and never goes back.
#[derive(Debug)]
pub struct Cluster {
    state: State,
    connections: Connections,
    answers: VecDeque<Answer>,
    /// [`State::changes`] when the requests that wait for data were last looked at.
    changes_seen: u64,
}

impl Cluster {
    /// A cluster without topics.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            state: State::new(settings),
            connections: Connections::default(),
            answers: VecDeque::new(),
            changes_seen: 0,
        }
    }

    /// A request has reached a node. It is answered at once, later, or (if its node stops) never.
    pub fn handle_request(&mut self, now: Duration, origin: Origin, version: i16, body: RequestBody) {
        self.handle_timeout(now);
        if !self.state.nodes.is_up(origin.node) {
            return;
        }
        let waiting = Waiting {
            origin,
            version,
            body,
            begun: None,
            look_again_at: None,
        };
        if let Some(waiting) = self.connections.arrive(waiting) {
            self.work_on(now, waiting);
            self.wake(now);
        }
    }

    /// The instant of [`Cluster::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Duration) {
        while let Some((at, event)) = self.state.timers.pop(now) {
            self.happen(at, event);
            self.wake(at);
        }
    }

    /// The next answer, in the order in which they leave.
    pub fn poll_answer(&mut self) -> Option<Answer> {
        self.answers.pop_front()
    }

    /// When [`Cluster::handle_timeout`] wants to be called.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        self.state.timers.next()
    }

    fn happen(&mut self, now: Duration, event: Event) {
        match event {
            Event::LookAgain { connection, serial } => {
                if let Some(waiting) = self.connections.take(connection, Some(serial)) {
                    self.work_on(now, waiting);
                }
            }
            Event::WriteMarker {
                transactional_id,
                coordinator_epoch,
                partition,
            } => self
                .state
                .write_marker(now, transactional_id, coordinator_epoch, partition),
            Event::Complete {
                transactional_id,
                coordinator_epoch,
            } => self
                .state
                .complete_transaction(&transactional_id, coordinator_epoch),
            Event::Expire(transactional_id) => self.state.expire_transaction(now, &transactional_id),
        }
    }

    /// Works on the request at the head of a connection, and on those behind it as long as nothing has to wait.
    fn work_on(&mut self, now: Duration, first: Waiting) {
        let mut next = Some(first);
        while let Some(mut waiting) = next {
            let call = Call {
                now,
                begun: *waiting.begun.get_or_insert(now),
                node: waiting.origin.node,
                version: waiting.version,
            };
            let (version, reply) = self.reply(&call, &waiting.body);
            let origin = waiting.origin;
            match reply {
                Reply::Answer(body) => self.answers.push_back(Answer {
                    to: origin,
                    version,
                    body,
                }),
                Reply::Silent => {}
                Reply::LookAgain(at) => return self.postpone(waiting, at),
                Reply::AwaitData(until) => {
                    self.connections.await_data(origin.connection);
                    return self.postpone(waiting, until);
                }
            }
            next = self.connections.finish(origin.connection);
        }
    }

    /// A request waits until an instant. It is planned once, however often the request is looked at before.
    fn postpone(&mut self, mut waiting: Waiting, until: Duration) {
        let connection = waiting.origin.connection;
        let is_planned = waiting.look_again_at.replace(until) == Some(until);
        let serial = self.connections.put_back(waiting);
        if !is_planned {
            self.state
                .timers
                .plan(until, Event::LookAgain { connection, serial });
        }
    }

    /// Looks at the requests that wait for data, if any log has changed.
    fn wake(&mut self, now: Duration) {
        while self.changes_seen != self.state.changes {
            self.changes_seen = self.state.changes;
            for connection in self.connections.take_awaiting() {
                if let Some(waiting) = self.connections.take(connection, None) {
                    self.work_on(now, waiting);
                }
            }
        }
    }

    fn reply(&mut self, call: &Call, body: &RequestBody) -> (i16, Reply) {
        if self.state.nodes.speaks(call.node, body.api_key(), call.version) {
            (call.version, api::handle(&mut self.state, call, body))
        } else if body.api_key() == ApiKey::ApiVersions {
            let body = api::unsupported_api_versions(&self.state, call);
            (0, Reply::Answer(body))
        } else {
            (call.version, api::refuse(body))
        }
    }
}

#[cfg(test)]
mod tests;
