//! The client's decisions, without I/O, clock, async or locks: time and answers come in, requests and events go out.
//!
//! A machine is driven in a fixed order: inputs (`handle_*` and the machine's own calls), then its outputs until each is
//! empty: [`Machine::poll_directive`], [`Machine::poll_request`], [`Machine::poll_event`], and at last [`Machine::poll_timeout`].

pub(crate) mod accumulator;
pub(crate) mod acl;
pub(crate) mod admin;
pub(crate) mod coordinator;
pub(crate) mod fetch;
pub(crate) mod metadata;
pub(crate) mod peer;
pub(crate) mod producer;
pub(crate) mod retry;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod transaction;

use std::sync::Arc;
use std::time::Instant;

use sealwax_protocol::ids::NodeId;
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;
use sealwax_protocol::version::{FinalizedFeatures, VersionRange};

use crate::error::Error;
use crate::machine::metadata::ClusterMetadata;

/// What a machine knows of the cluster: a snapshot that is replaced as a whole.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClusterView {
    /// Brokers, topics and leaders.
    pub(crate) metadata: Arc<ClusterMetadata>,
    /// When the metadata was asked for: what changed on the cluster since then it may not show.
    pub(crate) metadata_as_of: Option<Instant>,
    /// Finalized features, the newest that any broker told.
    pub(crate) features: FinalizedFeatures,
}

/// Names a request of one machine, so that its answer finds back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RequestId(pub(crate) u64);

/// Which coordinator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum CoordinatorKind {
    /// A group's.
    Group,
    /// A transactional id's.
    Transaction,
}

impl CoordinatorKind {
    /// The number on the wire (FindCoordinator's `key_type`).
    pub(crate) const fn code(self) -> i8 {
        match self {
            Self::Group => 0,
            Self::Transaction => 1,
        }
    }

    /// What the key is, for messages.
    pub(crate) const fn noun(self) -> &'static str {
        match self {
            Self::Group => "group",
            Self::Transaction => "transactional id",
        }
    }
}

/// Whom a request goes to. The shell resolves it when it sends.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Destination {
    /// Any broker.
    Any,
    /// This broker.
    Node(NodeId),
    /// The controller.
    Controller,
    /// The coordinator of this key, looked up first if it is not known.
    Coordinator(CoordinatorKind, Arc<str>),
}

/// Requests of different lanes use different connections, so that a long poll never holds up a write.
/// Requests of one lane to one broker leave in the order in which they were submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Lane {
    /// Metadata, admin, look-ups.
    General,
    /// Produce.
    Produce,
    /// Fetch.
    Fetch,
    /// Transactional and group requests.
    Coordinator,
}

/// A request that a machine wants sent.
#[derive(Debug, Clone)]
pub(crate) struct Outbound {
    /// Its name.
    pub(crate) id: RequestId,
    /// Whom it goes to.
    pub(crate) to: Destination,
    /// Over which connection.
    pub(crate) lane: Lane,
    /// What is asked.
    pub(crate) body: RequestBody,
    /// Versions that may be spoken: [`RequestBody::versions`], or less (TV1 must not use Produce 12, say).
    pub(crate) versions: VersionRange,
    /// When it fails with a timeout if no answer came.
    pub(crate) deadline: Instant,
}

/// Why a request has no answer.
#[derive(Debug, Clone)]
pub(crate) enum RequestFailure {
    /// No byte of it left: the broker cannot have acted.
    NotSent(Error),
    /// It may have reached the broker: whether the broker acted is unknown.
    Unanswered(Error),
}

impl RequestFailure {
    /// The reason.
    pub(crate) const fn error(&self) -> &Error {
        match self {
            Self::NotSent(error) | Self::Unanswered(error) => error,
        }
    }
}

/// What a machine asks of the shared cluster knowledge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Directive {
    /// Keep this topic in the metadata, and get it now if it is not there.
    NeedTopic(Arc<str>),
    /// The metadata proved stale: get it anew (the shell applies backoff).
    RefreshMetadata,
    /// The coordinator of this key has moved: look it up again.
    ForgetCoordinator(CoordinatorKind, Arc<str>),
}

/// A sans-IO machine that the one driver of `runtime/` can run.
pub(crate) trait Machine: Send + 'static {
    /// What the machine tells the public API besides its queries.
    type Event: Send;

    /// The cluster's snapshot has changed.
    fn handle_cluster(&mut self, now: Instant, view: &ClusterView);
    /// A request was answered, or will never be.
    fn handle_response(&mut self, now: Instant, id: RequestId, result: Result<ResponseBody, RequestFailure>);
    /// The instant of [`Machine::poll_timeout`] has come.
    fn handle_timeout(&mut self, now: Instant);
    /// The public handle is gone: finish or abort what is open, take no more.
    fn handle_close(&mut self, now: Instant);

    /// The next wish about the cluster knowledge.
    fn poll_directive(&mut self) -> Option<Directive>;
    /// The next request to send.
    fn poll_request(&mut self, now: Instant) -> Option<Outbound>;
    /// The next event.
    fn poll_event(&mut self) -> Option<Self::Event>;
    /// When [`Machine::handle_timeout`] wants to be called. Never in the past after it was called.
    fn poll_timeout(&self) -> Option<Instant>;

    /// After [`Machine::handle_close`]: whether nothing is left to do, so that the driver may end.
    fn is_drained(&self) -> bool;
}
