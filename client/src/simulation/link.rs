//! One lane of a client to one node, as `runtime/link` and `runtime/wire` do it: connects when there is something to send, shakes hands,
//! negotiates versions, keeps deadlines, and starts over after the end with a pause. In: requests, arrivals, time. Out: what becomes of each
//! request, and news about the connection.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use sealwax_protocol::ApiKey;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::NodeId;
use sealwax_protocol::messages::ApiVersionsRequest;
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;
use sealwax_protocol::version::{ApiVersions, VersionRange};

use super::network::Written;
use super::uplink::Uplink;
use crate::error::{Error, ErrorKind};
use crate::machine::coordinator::CoordinatorKey;
use crate::machine::peer::LinkState;
use crate::machine::retry::Backoff;
use crate::machine::{RequestFailure, RequestId};

/// `reconnect.backoff.ms` and its maximum.
const RECONNECT: Backoff = Backoff {
    initial: Duration::from_millis(50),
    max: Duration::from_secs(1),
};

/// `socket.connection.setup.timeout.ms`.
const SETUP: Duration = Duration::from_millis(500);

/// Who waits for an answer.
#[derive(Debug, Clone)]
pub(super) enum Asker {
    Machine(RequestId),
    Metadata,
    Search(CoordinatorKey),
}

/// A request on its way to a connection.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) asker: Asker,
    pub(super) body: RequestBody,
    pub(super) versions: VersionRange,
    pub(super) deadline: Instant,
}

/// What a link tells.
#[derive(Debug)]
pub(super) enum Notice {
    /// A node has shaken hands.
    Connected(ApiVersions),
    /// A connection broke, or none could be made.
    Failed(NodeId),
    /// A request has ended.
    Ended(Asker, Result<ResponseBody, RequestFailure>),
}

#[derive(Debug)]
struct InFlight {
    asker: Asker,
    correlation: i32,
    deadline: Instant,
    written: Written,
}

#[derive(Debug)]
enum Phase {
    Idle,
    Pausing {
        until: Instant,
        waiting: VecDeque<Request>,
    },
    Connecting {
        connection: u64,
        until: Instant,
        waiting: VecDeque<Request>,
    },
    Up {
        connection: u64,
        versions: ApiVersions,
        next: i32,
        in_flight: VecDeque<InFlight>,
        has_answered: bool,
    },
}

/// A lane to a node.
#[derive(Debug)]
pub(super) struct Link {
    node: NodeId,
    phase: Phase,
    failures: u32,
    not_before: Option<Instant>,
    status: LinkState,
}

impl Link {
    pub(super) const fn new(node: NodeId) -> Self {
        Self {
            node,
            phase: Phase::Idle,
            failures: 0,
            not_before: None,
            status: LinkState::Idle,
        }
    }

    pub(super) const fn status(&self) -> LinkState {
        self.status
    }

    /// Nothing is held against it any more.
    pub(super) const fn forgive(&mut self) {
        if let LinkState::Failing(_) = self.status {
            self.status = LinkState::Idle;
        }
    }

    /// The connection that it has or tries to have.
    pub(super) const fn connection(&self) -> Option<u64> {
        match &self.phase {
            Phase::Connecting { connection, .. } | Phase::Up { connection, .. } => Some(*connection),
            Phase::Idle | Phase::Pausing { .. } => None,
        }
    }

    /// Takes a request behind those before it.
    pub(super) fn enqueue(&mut self, up: &mut Uplink<'_>, request: Request, out: &mut Vec<Notice>) {
        match &mut self.phase {
            Phase::Idle => self.start(up, VecDeque::from([request])),
            Phase::Pausing { waiting, .. } | Phase::Connecting { waiting, .. } => waiting.push_back(request),
            Phase::Up { .. } => self.push(up, request, out),
        }
    }

    /// The connection stands: shakes hands.
    pub(super) fn connected(&mut self, up: &mut Uplink<'_>) {
        if let Phase::Connecting { connection, .. } = &self.phase {
            let body = RequestBody::from(ApiVersionsRequest::default());
            let version = body.versions().max;
            up.write(*connection, 0, version, body);
        }
    }

    /// An answer has arrived.
    pub(super) fn answered(
        &mut self,
        up: &mut Uplink<'_>,
        correlation: i32,
        body: ResponseBody,
        out: &mut Vec<Notice>,
    ) {
        match (&mut self.phase, body) {
            (Phase::Connecting { connection, .. }, ResponseBody::ApiVersions(answer)) => {
                let connection = *connection;
                let versions = ApiVersions::from_response(&answer);
                let ours = RequestBody::from(ApiVersionsRequest::default()).versions();
                if ErrorCode(answer.error_code) == ErrorCode::UNSUPPORTED_VERSION && correlation == 0 {
                    let version = versions.negotiate(ApiKey::ApiVersions, ours).unwrap_or(ours.min);
                    up.write(connection, 1, version, ApiVersionsRequest::default().into());
                } else {
                    self.shaken(up, versions, out);
                }
            }
            (
                Phase::Up {
                    in_flight,
                    has_answered,
                    ..
                },
                body,
            ) => {
                let request = in_flight.pop_front().expect("an answer without a request");
                assert_eq!(request.correlation, correlation, "answers out of order");
                *has_answered = true;
                out.push(Notice::Ended(request.asker, Ok(body)));
            }
            (phase, body) => panic!("{body:?} arrived in {phase:?}"),
        }
    }

    /// The connection is gone, or could not be made.
    pub(super) fn broken(&mut self, up: &mut Uplink<'_>, out: &mut Vec<Notice>) {
        let error = Error::new(
            ErrorKind::Unreachable,
            format!("the connection to {} broke", self.node),
        );
        match std::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Up {
                in_flight,
                has_answered,
                ..
            } => {
                self.failures = if has_answered { 0 } else { self.failures + 1 };
                self.status = match has_answered {
                    true => LinkState::Idle,
                    false => LinkState::Failing(1),
                };
                // A connection that ends while nothing is in flight is no failure.
                if !in_flight.is_empty() {
                    out.push(Notice::Failed(self.node));
                }
                let now = up.now();
                out.extend(in_flight.into_iter().map(|request| ended(now, request, &error)));
            }
            Phase::Connecting { waiting, .. } => {
                self.failures += 1;
                self.status = LinkState::Failing(self.failures);
                out.push(Notice::Failed(self.node));
                out.extend(waiting.into_iter().map(|request| refused(request, error.clone())));
            }
            phase @ (Phase::Idle | Phase::Pausing { .. }) => self.phase = phase,
        }
        let pause = (self.failures > 0).then(|| RECONNECT.delay(self.failures, up.rng()));
        self.not_before = pause.map(|pause| up.now() + pause);
    }

    /// Time has passed.
    pub(super) fn handle_timeout(&mut self, up: &mut Uplink<'_>, out: &mut Vec<Notice>) {
        let now = up.now();
        match &mut self.phase {
            Phase::Idle => {}
            Phase::Pausing { until, waiting } => {
                expire(now, waiting, out);
                if *until <= now {
                    let waiting = std::mem::take(waiting);
                    self.connect(up, waiting);
                }
            }
            Phase::Connecting {
                connection,
                until,
                waiting,
            } => {
                expire(now, waiting, out);
                if *until <= now {
                    up.close(*connection);
                    self.broken(up, out);
                }
            }
            Phase::Up {
                connection,
                in_flight,
                ..
            } => {
                if in_flight.iter().any(|request| request.deadline <= now) {
                    up.close(*connection);
                    self.broken(up, out);
                }
            }
        }
    }

    /// When [`Link::handle_timeout`] wants to be called.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Idle => None,
            Phase::Pausing { until, waiting } | Phase::Connecting { until, waiting, .. } => {
                let deadlines = waiting.iter().map(|request| request.deadline);
                deadlines.chain([*until]).min()
            }
            Phase::Up { in_flight, .. } => in_flight.iter().map(|request| request.deadline).min(),
        }
    }

    fn start(&mut self, up: &mut Uplink<'_>, waiting: VecDeque<Request>) {
        self.status = LinkState::Connecting;
        match self.not_before.filter(|at| *at > up.now()) {
            Some(until) => self.phase = Phase::Pausing { until, waiting },
            None => self.connect(up, waiting),
        }
    }

    fn connect(&mut self, up: &mut Uplink<'_>, waiting: VecDeque<Request>) {
        self.phase = Phase::Connecting {
            connection: up.open(self.node),
            until: up.now() + SETUP,
            waiting,
        };
    }

    fn shaken(&mut self, up: &mut Uplink<'_>, versions: ApiVersions, out: &mut Vec<Notice>) {
        let Phase::Connecting {
            connection, waiting, ..
        } = std::mem::replace(&mut self.phase, Phase::Idle)
        else {
            return;
        };
        self.status = LinkState::Up;
        out.push(Notice::Connected(versions.clone()));
        self.phase = Phase::Up {
            connection,
            versions,
            next: 2,
            in_flight: VecDeque::new(),
            has_answered: false,
        };
        for request in waiting {
            self.push(up, request, out);
        }
    }

    fn push(&mut self, up: &mut Uplink<'_>, request: Request, out: &mut Vec<Notice>) {
        let Phase::Up {
            connection,
            versions,
            next,
            in_flight,
            ..
        } = &mut self.phase
        else {
            return;
        };
        let api = request.body.api_key();
        if request.deadline <= up.now() {
            let error = Error::new(
                ErrorKind::Timeout,
                format!("{api:?}: the deadline passed before it was sent"),
            );
            return out.push(refused(request, error));
        }
        let ours = VersionRange {
            min: request.versions.min,
            max: request.versions.max.min(request.body.max_version()),
        };
        let Some(version) = versions.negotiate(api, ours) else {
            let error = Error::new(
                ErrorKind::UnsupportedVersion,
                format!("{api:?}: no common version with {}", self.node),
            );
            return out.push(refused(request, error));
        };
        let correlation = *next;
        *next += 1;
        let written = up.write(*connection, correlation, version, request.body);
        in_flight.push_back(InFlight {
            asker: request.asker,
            correlation,
            deadline: request.deadline,
            written,
        });
    }
}

fn ended(now: Instant, request: InFlight, reason: &Error) -> Notice {
    let error = if request.deadline <= now {
        Error::new(ErrorKind::Timeout, "no answer before the deadline")
    } else {
        reason.clone()
    };
    let failure = match request.written {
        Written::Yes => RequestFailure::Unanswered(error),
        Written::No => RequestFailure::NotSent(error),
    };
    Notice::Ended(request.asker, Err(failure))
}

fn refused(request: Request, error: Error) -> Notice {
    Notice::Ended(request.asker, Err(RequestFailure::NotSent(error)))
}

fn expire(now: Instant, waiting: &mut VecDeque<Request>, out: &mut Vec<Notice>) {
    for request in std::mem::take(waiting) {
        if request.deadline > now {
            waiting.push_back(request);
        } else {
            let error = Error::new(ErrorKind::Timeout, "no connection before the deadline");
            out.push(refused(request, error));
        }
    }
}
