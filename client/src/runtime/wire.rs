//! One connection's bookkeeping, without I/O: requests become bytes in order, frames become answers in order, and when the
//! connection ends each request is told whether it can have reached the broker.
//!
//! A Produce request with `acks=0` has no answer on the wire: it is over when its last byte was written, and is told an empty answer then.
//! If such a broker closes the connection, that is all that it ever says about what it could not take.
//!
//! How much may be in flight is not bounded here: the machines bound what they submit (a producer by `max.in.flight`, a
//! fetcher by one per broker, all others by one each).

use std::collections::VecDeque;
use std::io::IoSlice;
use std::time::Instant;

use bytes::{Buf, Bytes};
use sealwax_protocol::ApiKey;
use sealwax_protocol::error::{DecodeError, EncodeError};
use sealwax_protocol::ids::CorrelationId;
use sealwax_protocol::produce::ProduceResponse;
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::{self, ResponseBody};
use sealwax_protocol::version::{ApiVersions, VersionRange};
use tokio::sync::oneshot;

use crate::error::{Error, ErrorKind};
use crate::machine::RequestFailure;

/// Parts that one write call is offered.
pub(crate) const PARTS_PER_WRITE: usize = 32;

/// What a request ends with.
pub(crate) type Answer = Result<ResponseBody, RequestFailure>;

/// A request on its way to a connection. If nobody holds the other end of `answer` any more, it is not written at all, or
/// its answer is read and dropped.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) body: RequestBody,
    pub(crate) versions: VersionRange,
    pub(crate) deadline: Instant,
    pub(crate) answer: oneshot::Sender<Answer>,
}

impl Request {
    /// Ends it without having written a byte.
    pub(crate) fn refuse(self, error: Error) {
        // Nobody may be waiting any more.
        let _ = self.answer.send(Err(RequestFailure::NotSent(error)));
    }
}

/// The state of one established connection.
#[derive(Debug)]
pub(crate) struct Wire {
    peer: String,
    client_id: String,
    versions: ApiVersions,
    next_correlation: i32,
    in_flight: VecDeque<InFlight>,
    /// Requests without an answer that are not written yet.
    one_way: VecDeque<OneWay>,
    /// Whether a request without an answer was written after the last answer came.
    is_trusting: bool,
    out: VecDeque<Bytes>,
    /// Bytes that were ever put into `out`.
    queued: u64,
    /// Bytes of them that were handed to the operating system.
    written: u64,
    answered: u64,
}

#[derive(Debug)]
struct InFlight {
    correlation: CorrelationId,
    api: ApiKey,
    version: i16,
    deadline: Instant,
    /// Where the request begins among the bytes of this connection.
    begins_at: u64,
    answer: oneshot::Sender<Answer>,
}

/// A request that the broker does not answer.
#[derive(Debug)]
struct OneWay {
    deadline: Instant,
    /// Where the request begins among the bytes of this connection, and where what follows it does.
    begins_at: u64,
    ends_at: u64,
    answer: oneshot::Sender<Answer>,
}

impl Wire {
    /// A connection that has just shaken hands. `peer` is its name in messages.
    pub(crate) fn new(peer: String, client_id: String, versions: ApiVersions) -> Self {
        Self {
            peer,
            client_id,
            versions,
            next_correlation: 1,
            in_flight: VecDeque::new(),
            one_way: VecDeque::new(),
            is_trusting: false,
            out: VecDeque::new(),
            queued: 0,
            written: 0,
            answered: 0,
        }
    }

    /// Encodes a request behind those before it. What cannot be sent is refused, and the connection is none the worse.
    pub(crate) fn push(&mut self, now: Instant, request: Request) {
        if request.answer.is_closed() {
            return;
        }
        let api = request.body.api_key();
        if request.deadline <= now {
            let message = format!(
                "{api:?} to {}: its deadline passed before it could be sent",
                self.peer
            );
            return request.refuse(Error::new(ErrorKind::Timeout, message));
        }
        let Some(version) = self.negotiate(&request) else {
            let error = self.no_common_version(&request);
            return request.refuse(error);
        };
        let correlation = CorrelationId(self.next_correlation);
        let encoded = match request.body.encode(version, correlation, &self.client_id) {
            Ok(encoded) => encoded,
            Err(error) => {
                let error = cannot_encode(&self.peer, &error);
                return request.refuse(error);
            }
        };
        self.next_correlation = self.next_correlation.checked_add(1).unwrap_or(0);
        let begins_at = self.queued;
        self.queued = self.queued.saturating_add(encoded.len as u64);
        self.out.extend(encoded.parts);
        if is_answered(&request.body) {
            self.in_flight.push_back(InFlight {
                correlation,
                api,
                version,
                deadline: request.deadline,
                begins_at,
                answer: request.answer,
            });
        } else {
            self.one_way.push_back(OneWay {
                deadline: request.deadline,
                begins_at,
                ends_at: self.queued,
                answer: request.answer,
            });
        }
    }

    /// The bytes to write next, as parts.
    pub(crate) fn parts(&self) -> impl Iterator<Item = IoSlice<'_>> {
        self.out
            .iter()
            .take(PARTS_PER_WRITE)
            .map(|part| IoSlice::new(part))
    }

    /// Whether there is something to write.
    pub(crate) fn has_output(&self) -> bool {
        !self.out.is_empty()
    }

    /// So many bytes were written.
    pub(crate) fn advance(&mut self, count: usize) {
        self.written = self.written.saturating_add(count as u64);
        self.tell_one_way();
        let mut left = count;
        while let Some(part) = self.out.front_mut() {
            if part.len() > left {
                part.advance(left);
                return;
            }
            left -= part.len();
            self.out.pop_front();
        }
    }

    /// Takes a frame as the answer to the oldest request.
    pub(crate) fn receive(&mut self, frame: Bytes) -> Result<(), Error> {
        let correlation = response::correlation_id(&frame).map_err(|error| self.corrupt(&error))?;
        let oldest = self.in_flight.front().map(|request| request.correlation);
        if oldest != Some(correlation) {
            return Err(self.unexpected(correlation, oldest));
        }
        let Some(request) = self.in_flight.pop_front() else {
            return Ok(());
        };
        match ResponseBody::decode(frame, request.api, request.version) {
            Ok(body) => {
                self.answered = self.answered.saturating_add(1);
                self.is_trusting = false;
                // Nobody may be waiting any more.
                let _ = request.answer.send(Ok(body));
                Ok(())
            }
            Err(error) => {
                let error = self.corrupt(&error);
                let _ = request
                    .answer
                    .send(Err(RequestFailure::Unanswered(error.clone())));
                Err(error)
            }
        }
    }

    /// When the first request in flight runs out of time.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let one_way = self.one_way.iter().map(|request| request.deadline);
        let answered = self.in_flight.iter().map(|request| request.deadline);
        answered.chain(one_way).min()
    }

    /// Whether nothing is awaited.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight.is_empty() && self.one_way.is_empty()
    }

    /// Whether something was sent that the broker does not answer, so that it may close the connection only to say that it could not take
    /// it.
    pub(crate) fn is_trusting(&self) -> bool {
        self.is_trusting
    }

    /// Whether the broker has answered anything.
    pub(crate) fn has_answered(&self) -> bool {
        self.answered > 0
    }

    /// The name of the other side.
    pub(crate) fn peer(&self) -> &str {
        &self.peer
    }

    /// The end: every request in flight fails, as unanswered if a byte of it was written, else as not sent.
    pub(crate) fn fail(self, now: Instant, reason: &Error) {
        let (peer, written) = (self.peer, self.written);
        let tell = |answer: oneshot::Sender<Answer>, api: ApiKey, deadline: Instant, begins_at: u64| {
            let error = if deadline <= now {
                let message = format!("{peer} did not answer {api:?} before its deadline");
                Error::new(ErrorKind::Timeout, message)
            } else {
                reason.clone()
            };
            let failure = if begins_at < written {
                RequestFailure::Unanswered(error)
            } else {
                RequestFailure::NotSent(error)
            };
            let _ = answer.send(Err(failure));
        };
        for request in self.in_flight {
            tell(request.answer, request.api, request.deadline, request.begins_at);
        }
        for request in self.one_way {
            tell(
                request.answer,
                ApiKey::Produce,
                request.deadline,
                request.begins_at,
            );
        }
    }

    fn tell_one_way(&mut self) {
        let written = self.written;
        let is_over = |request: &OneWay| request.ends_at <= written;
        while self.one_way.front().is_some_and(is_over) {
            let Some(request) = self.one_way.pop_front() else {
                return;
            };
            self.is_trusting = true;
            let empty = ProduceResponse {
                topics: Vec::new(),
                throttle_time_ms: 0,
                node_endpoints: Vec::new(),
            };
            // Nobody may be waiting any more.
            let _ = request.answer.send(Ok(ResponseBody::Produce(empty)));
        }
    }

    fn negotiate(&self, request: &Request) -> Option<i16> {
        self.versions.negotiate(request.body.api_key(), ours(request))
    }

    fn no_common_version(&self, request: &Request) -> Error {
        let api = request.body.api_key();
        let ours = ours(request);
        let theirs = match self.versions.range(api) {
            Some(range) => format!("offers {} to {}", range.min, range.max),
            None => "does not offer it".to_owned(),
        };
        Error::new(
            ErrorKind::UnsupportedVersion,
            format!(
                "{api:?}: this client needs version {} to {}, but {} {theirs}",
                ours.min, ours.max, self.peer
            ),
        )
    }

    fn corrupt(&self, error: &DecodeError) -> Error {
        Error::new(
            ErrorKind::Corrupt,
            format!("{} sent a damaged answer: {error}", self.peer),
        )
    }

    fn unexpected(&self, got: CorrelationId, oldest: Option<CorrelationId>) -> Error {
        let expected = oldest.map_or_else(|| "none".to_owned(), |oldest| oldest.0.to_string());
        Error::new(
            ErrorKind::Corrupt,
            format!(
                "{} sent an answer out of order: correlation id {}, expected {expected}",
                self.peer, got.0
            ),
        )
    }
}

/// Whether the broker answers such a request.
const fn is_answered(body: &RequestBody) -> bool {
    match body {
        RequestBody::Produce(request) => request.acks != 0,
        _ => true,
    }
}

fn ours(request: &Request) -> VersionRange {
    VersionRange {
        min: request.versions.min,
        max: request.versions.max.min(request.body.max_version()),
    }
}

fn cannot_encode(peer: &str, error: &EncodeError) -> Error {
    let kind = match error {
        EncodeError::Version { .. } => ErrorKind::UnsupportedVersion,
        _ => ErrorKind::Config,
    };
    Error::new(kind, format!("a request to {peer} cannot be written: {error}"))
}
