//! The way between clients and nodes: connections that keep their order, take their time and break. In: what a client writes, what a node
//! answers, faults. Out: parcels with the instant at which they arrive.
//!
//! Requests that were written before a connection broke may still arrive; answers behind the break never do.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use sealwax_devbroker::Answer;
use sealwax_protocol::ids::NodeId;
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;

use super::faults::Fault;
use super::refusal::refusal;

/// How long it takes until a client learns that a connection broke.
const BREAK: Duration = Duration::from_micros(300);

/// Something that arrives.
#[derive(Debug)]
pub(super) enum Parcel {
    /// A connection was set up.
    Connected(u64),
    /// A connection is gone, or could not be made.
    Broken(u64),
    /// A request reaches its node.
    Request {
        connection: u64,
        correlation: i32,
        version: i16,
        body: Box<RequestBody>,
    },
    /// An answer reaches its client.
    Answer {
        connection: u64,
        correlation: i32,
        body: Box<ResponseBody>,
    },
}

/// Whether bytes left the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    Yes,
    No,
}

/// How a connection is doing, as nobody can see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Open,
    /// Nothing passes, and nobody is told.
    Mute,
    /// Broken, or closed by the client: nothing more is written to or read from it.
    Gone,
}

/// What becomes of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnAnswer {
    Pass,
    Delay(Duration),
    Break,
    Replace(sealwax_protocol::error_code::ErrorCode),
    Corrupt,
}

/// A request that a node has or will get.
#[derive(Debug)]
struct Due {
    correlation: i32,
    on_answer: OnAnswer,
    /// Kept only if its answer is to be replaced.
    request: Option<(RequestBody, i16)>,
    answer: Option<ResponseBody>,
}

#[derive(Debug)]
struct Connection {
    /// Whose; `None` for the way of a doubled request, whose answer nobody reads.
    owner: Option<usize>,
    node: NodeId,
    line: Line,
    /// Nothing arrives before what was sent before it.
    to_node: Duration,
    to_client: Duration,
    /// Answers leave in the order of the requests.
    due: VecDeque<Due>,
}

/// All connections.
#[derive(Debug)]
pub(super) struct Network {
    rng: fastrand::Rng,
    connections: BTreeMap<u64, Connection>,
    last: u64,
    parcels: VecDeque<(Duration, Parcel)>,
    down: BTreeSet<NodeId>,
    /// Until when nothing passes between a client and a node.
    parted: BTreeMap<(usize, NodeId), Duration>,
}

impl Network {
    /// No connection.
    pub(super) fn new(rng: fastrand::Rng) -> Self {
        Self {
            rng,
            connections: BTreeMap::new(),
            last: 0,
            parcels: VecDeque::new(),
            down: BTreeSet::new(),
            parted: BTreeMap::new(),
        }
    }

    /// The next parcel and when it arrives.
    pub(super) fn poll(&mut self) -> Option<(Duration, Parcel)> {
        self.parcels.pop_front()
    }

    /// The client behind a connection, if it still listens.
    pub(super) fn owner(&self, connection: u64) -> Option<usize> {
        let connection = self.connections.get(&connection)?;
        connection.owner
    }

    /// Whether its client no longer listens to this connection: what still arrives over it comes late.
    pub(super) fn is_left_behind(&self, connection: u64) -> bool {
        self.connections
            .get(&connection)
            .is_none_or(|known| known.line != Line::Open || known.owner.is_none())
    }

    /// The node that a connection leads to, if it is up.
    pub(super) fn node(&self, connection: u64) -> Option<NodeId> {
        let node = self.connections.get(&connection)?.node;
        (!self.down.contains(&node)).then_some(node)
    }

    /// A client begins to connect.
    pub(super) fn open(&mut self, now: Duration, client: usize, node: NodeId) -> u64 {
        self.last += 1;
        let parted = self.parted.get(&(client, node)).is_some_and(|until| *until > now);
        let line = if parted { Line::Mute } else { Line::Open };
        self.connections
            .insert(self.last, Connection::new(Some(client), node, line, now));
        if self.down.contains(&node) {
            self.break_off(now, self.last);
        } else if !parted {
            let at = now + self.delay() + self.delay();
            self.parcels.push_back((at, Parcel::Connected(self.last)));
        }
        self.last
    }

    /// A client writes a request.
    pub(super) fn write(
        &mut self,
        now: Duration,
        connection: u64,
        correlation: i32,
        version: i16,
        body: RequestBody,
        fault: Option<Fault>,
    ) -> Written {
        let Some(line) = self.connections.get(&connection).map(|known| known.line) else {
            return Written::No;
        };
        match line {
            Line::Open => {}
            Line::Mute | Line::Gone => return Written::Yes,
        }
        let (extra, on_answer) = match fault {
            None => (Duration::ZERO, OnAnswer::Pass),
            Some(Fault::NotSent) => {
                self.break_off(now, connection);
                return Written::No;
            }
            Some(Fault::LoseRequest) => {
                self.break_off(now, connection);
                return Written::Yes;
            }
            Some(Fault::BlackHole) => {
                self.with(connection, |known| known.line = Line::Mute);
                return Written::Yes;
            }
            Some(Fault::Refuse(code)) => {
                return self.refuse(now, connection, correlation, version, body, code);
            }
            Some(Fault::LoseAnswer) => (Duration::ZERO, OnAnswer::Break),
            Some(Fault::Late(extra) | Fault::SlowRequest(extra)) => (extra, OnAnswer::Pass),
            Some(Fault::SlowAnswer(extra)) => (Duration::ZERO, OnAnswer::Delay(extra)),
            Some(Fault::Corrupt) => (Duration::ZERO, OnAnswer::Corrupt),
            Some(Fault::Deny(code)) => (Duration::ZERO, OnAnswer::Replace(code)),
            Some(Fault::Duplicate(extra)) => {
                self.double(now + extra, connection, version, body.clone());
                (Duration::ZERO, OnAnswer::Pass)
            }
        };
        self.carry(now + extra, connection, correlation, version, body, on_answer);
        if let Some(Fault::Late(_)) = fault {
            self.break_off(now, connection);
        }
        Written::Yes
    }

    /// A node has answered.
    pub(super) fn answer(&mut self, now: Duration, answer: Answer) {
        let connection = answer.to.connection;
        self.with(connection, |known| {
            let due = known
                .due
                .iter_mut()
                .find(|due| due.correlation == answer.to.correlation);
            if let Some(due) = due {
                due.answer = Some(answer.body);
            }
        });
        self.release(now, connection);
    }

    /// The client closes a connection. What was written may still arrive.
    pub(super) fn close(&mut self, connection: u64) {
        self.with(connection, |known| {
            known.line = Line::Gone;
            known.owner = None;
        });
    }

    /// The connection breaks, and its client learns of it.
    pub(super) fn break_off(&mut self, now: Duration, connection: u64) {
        let Some(known) = self.connections.get_mut(&connection) else {
            return;
        };
        if known.line != Line::Gone {
            known.line = Line::Gone;
            known.to_client = known.to_client.max(now + BREAK);
            self.parcels
                .push_back((known.to_client, Parcel::Broken(connection)));
        }
    }

    /// Every connection that `affects` breaks.
    pub(super) fn break_all(&mut self, now: Duration, affects: impl Fn(Option<usize>, NodeId) -> bool) {
        let lost: Vec<u64> = self
            .connections
            .iter()
            .filter(|(_, known)| known.line != Line::Gone && affects(known.owner, known.node))
            .map(|(connection, _)| *connection)
            .collect();
        for connection in lost {
            self.break_off(now, connection);
        }
    }

    /// Nothing passes between a client and a node until then.
    pub(super) fn part(&mut self, until: Duration, client: usize, node: NodeId) {
        self.parted.insert((client, node), until);
        for known in self.connections.values_mut() {
            if known.owner == Some(client) && known.node == node && known.line == Line::Open {
                known.line = Line::Mute;
            }
        }
    }

    /// A node dies, with all connections to it, or is back.
    pub(super) fn set_down(&mut self, now: Duration, node: NodeId, is_down: bool) {
        if is_down {
            self.down.insert(node);
            self.break_all(now, |_, of| of == node);
        } else {
            self.down.remove(&node);
        }
    }

    /// All nodes can be reached again; connections that swallow everything break.
    pub(super) fn heal(&mut self, now: Duration) {
        self.parted.clear();
        let mute: Vec<u64> = self
            .connections
            .iter()
            .filter(|(_, known)| known.line == Line::Mute)
            .map(|(connection, _)| *connection)
            .collect();
        for connection in mute {
            self.break_off(now, connection);
        }
    }

    fn refuse(
        &mut self,
        now: Duration,
        connection: u64,
        correlation: i32,
        version: i16,
        body: RequestBody,
        code: sealwax_protocol::error_code::ErrorCode,
    ) -> Written {
        let Some(answer) = refusal(&body, version, code) else {
            self.carry(now, connection, correlation, version, body, OnAnswer::Pass);
            return Written::Yes;
        };
        self.with(connection, |known| {
            known.due.push_back(Due {
                correlation,
                on_answer: OnAnswer::Pass,
                request: None,
                answer: Some(answer),
            });
        });
        self.release(now, connection);
        Written::Yes
    }

    fn double(&mut self, at: Duration, connection: u64, version: i16, body: RequestBody) {
        let Some(node) = self.connections.get(&connection).map(|known| known.node) else {
            return;
        };
        self.last += 1;
        self.connections
            .insert(self.last, Connection::new(None, node, Line::Open, at));
        self.carry(at, self.last, 0, version, body, OnAnswer::Pass);
    }

    fn carry(
        &mut self,
        now: Duration,
        connection: u64,
        correlation: i32,
        version: i16,
        body: RequestBody,
        on_answer: OnAnswer,
    ) {
        let delay = self.delay();
        let Some(known) = self.connections.get_mut(&connection) else {
            return;
        };
        known.to_node = known.to_node.max(now + delay);
        let request = match on_answer {
            OnAnswer::Replace(_) => Some((body.clone(), version)),
            OnAnswer::Pass | OnAnswer::Delay(_) | OnAnswer::Break | OnAnswer::Corrupt => None,
        };
        known.due.push_back(Due {
            correlation,
            on_answer,
            request,
            answer: None,
        });
        let parcel = Parcel::Request {
            connection,
            correlation,
            version,
            body: Box::new(body),
        };
        self.parcels.push_back((known.to_node, parcel));
    }

    /// Sends the answers whose turn it is.
    fn release(&mut self, now: Duration, connection: u64) {
        loop {
            let delay = self.delay();
            let Some(known) = self.connections.get_mut(&connection) else {
                return;
            };
            if known.due.front().is_none_or(|due| due.answer.is_none()) {
                return;
            }
            let Some(due) = known.due.pop_front() else { return };
            let Some(body) = due.answer else { return };
            if known.line != Line::Open || known.owner.is_none() {
                continue;
            }
            let (extra, body) = match (due.on_answer, due.request) {
                (OnAnswer::Break, _) => {
                    self.break_off(now, connection);
                    continue;
                }
                (OnAnswer::Delay(extra), _) => (extra, body),
                (OnAnswer::Replace(code), Some((request, asked))) => {
                    (Duration::ZERO, refusal(&request, asked, code).unwrap_or(body))
                }
                (OnAnswer::Corrupt, _) => (Duration::ZERO, corrupted(body)),
                (OnAnswer::Pass | OnAnswer::Replace(_), _) => (Duration::ZERO, body),
            };
            known.to_client = known.to_client.max(now + extra + delay);
            let parcel = Parcel::Answer {
                connection,
                correlation: due.correlation,
                body: Box::new(body),
            };
            self.parcels.push_back((known.to_client, parcel));
        }
    }

    fn with(&mut self, connection: u64, change: impl FnOnce(&mut Connection)) {
        if let Some(known) = self.connections.get_mut(&connection) {
            change(known);
        }
    }

    /// One way: mostly well below a millisecond, now and then much more.
    fn delay(&mut self) -> Duration {
        let micros = match self.rng.u8(..64) {
            0 => self.rng.u64(5_000..60_000),
            1..4 => self.rng.u64(1_000..5_000),
            _ => self.rng.u64(100..600),
        };
        Duration::from_micros(micros)
    }
}

impl Connection {
    const fn new(owner: Option<usize>, node: NodeId, line: Line, now: Duration) -> Self {
        Self {
            owner,
            node,
            line,
            to_node: now,
            to_client: now,
            due: VecDeque::new(),
        }
    }
}

/// A fetched answer in which a bit of each batch's last value is turned over; only its checksum tells.
fn corrupted(mut body: ResponseBody) -> ResponseBody {
    if let ResponseBody::Fetch(response) = &mut body {
        let parts = response.topics.iter_mut().flat_map(|topic| &mut topic.partitions);
        for part in parts {
            part.records = corrupted_batches(&part.records);
        }
    }
    body
}

fn corrupted_batches(records: &Bytes) -> Bytes {
    /// Where a batch tells how long the rest of it is.
    const LENGTH: std::ops::Range<usize> = 8..12;
    let mut bytes = records.to_vec();
    let mut start = 0;
    while let Some(length) = bytes.get(start + LENGTH.start..start + LENGTH.end) {
        let length = u32::from_be_bytes(length.try_into().expect("four bytes"));
        let end = start + LENGTH.end + usize::try_from(length).expect("a length");
        // The last byte is the count of headers.
        if let Some(byte) = end.checked_sub(2).and_then(|at| bytes.get_mut(at)) {
            *byte ^= 1;
        }
        start = end;
    }
    bytes.into()
}
