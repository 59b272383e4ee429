//! One assigned partition: where its reader stands and what it waits for (Java's `TopicPartitionState`).
//!
//! ```text
//!                 ask                 offset              ask              data
//!  ─▶ Unresolved ─────▶ Resolving ─────────▶ Fetchable ─────────▶ Fetching ──────▶ Buffered
//!     ▲   ▲  try again      │                ▲     ▲    try again     │               │
//!     │   └─────────────────┘                │     └──────────────────┤               │
//!     │                                      └────────────────────────┼── take ───────┘
//!     └──────────────────── out of range ─────────────────────────────┘
//!  any of them ── error ──▶ Failed ── take ──▶ Halted (until seek or assign)
//! ```
//! An answer counts only if the partition still waits for that very request; `seek` and `assign` put a new state in its place.

use std::time::Instant;

use sealwax_protocol::ids::TopicId;

use crate::error::Error;
use crate::machine::RequestId;
use crate::machine::fetch::isolation::Visible;
use crate::machine::retry::Backoff;

/// Where to begin to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// Where a policy says, which the partition's leader must be asked.
    Policy(ResetPolicy),
    /// At this offset.
    At(i64),
}

/// An end of the log (Java's `auto.offset.reset`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResetPolicy {
    /// The first offset that the log has.
    Earliest,
    /// Its end: the last stable offset under read_committed, else the high watermark.
    Latest,
}

/// What ListOffsets is to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    /// Where to begin.
    Start(ResetPolicy),
    /// Where the log begins, for a position that was out of range.
    LogStart(Position),
    /// Where the log ends, for the same; the start is known.
    LogEnd(Position, i64),
}

impl Question {
    /// The end of the log that is asked for.
    pub(super) const fn policy(self) -> ResetPolicy {
        match self {
            Self::Start(policy) => policy,
            Self::LogStart(_) => ResetPolicy::Earliest,
            Self::LogEnd(..) => ResetPolicy::Latest,
        }
    }

    const fn position(self) -> Option<i64> {
        match self {
            Self::Start(_) => None,
            Self::LogStart(position) | Self::LogEnd(position, _) => Some(position.offset),
        }
    }
}

/// A known position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    /// Offset of the next record to read.
    pub(super) offset: i64,
    /// The policy that it came from, as long as nothing was read from there.
    pub(super) policy: Option<ResetPolicy>,
    /// What the last fetch from here met. If the next one meets it too, it is an error.
    pub(super) suspicion: Option<Suspicion>,
}

impl Position {
    pub(super) const fn new(offset: i64, policy: Option<ResetPolicy>) -> Self {
        Self {
            offset,
            policy,
            suspicion: None,
        }
    }

    pub(super) const fn suspect(self, suspicion: Suspicion) -> Self {
        Self {
            suspicion: Some(suspicion),
            ..self
        }
    }
}

/// Trouble that a second fetch from the same position may be free of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Suspicion {
    /// The bytes were damaged.
    Corrupt,
    /// The broker said "out of range", yet the log's ends say otherwise.
    OutOfRange,
}

/// What a partition waits for.
#[derive(Debug)]
pub(super) enum State {
    /// To ask the leader something about the log's ends.
    Unresolved(Question),
    /// The answer to that.
    Resolving(Question, RequestId),
    /// To be fetched.
    Fetchable(Position),
    /// Its data.
    Fetching(Position, RequestId),
    /// The application to take what was fetched.
    Buffered(Position, Visible),
    /// The application to take the error. The position, if there is one, is where it was met.
    Failed(Option<i64>, Error),
    /// `seek` or `assign`.
    Halted(Option<i64>),
}

impl State {
    /// The first state of a reader.
    pub(super) const fn start(start: Start) -> Self {
        match start {
            Start::Policy(policy) => Self::Unresolved(Question::Start(policy)),
            Start::At(offset) => Self::Fetchable(Position::new(offset, None)),
        }
    }

    /// The offset of the next record that the application gets.
    pub(super) const fn position(&self) -> Option<i64> {
        match self {
            Self::Unresolved(question) | Self::Resolving(question, _) => question.position(),
            Self::Fetchable(position) | Self::Fetching(position, _) | Self::Buffered(position, _) => {
                Some(position.offset)
            }
            Self::Failed(offset, _) | Self::Halted(offset) => *offset,
        }
    }

    /// The request whose answer is awaited.
    pub(super) const fn awaited(&self) -> Option<RequestId> {
        match self {
            Self::Resolving(_, request) | Self::Fetching(_, request) => Some(*request),
            Self::Unresolved(_)
            | Self::Fetchable(_)
            | Self::Buffered(..)
            | Self::Failed(..)
            | Self::Halted(_) => None,
        }
    }

    /// Whether a request is to be made, or is under way: whether the leader matters.
    pub(super) const fn needs_leader(&self) -> bool {
        match self {
            Self::Unresolved(_) | Self::Resolving(..) | Self::Fetchable(_) | Self::Fetching(..) => true,
            Self::Buffered(..) | Self::Failed(..) | Self::Halted(_) => false,
        }
    }
}

/// When the partition may be asked for again.
#[derive(Debug, Default)]
pub(super) struct Retry {
    failures: u32,
    not_before: Option<Instant>,
}

impl Retry {
    /// Counts a failure and waits.
    pub(super) fn fail(&mut self, now: Instant, backoff: &Backoff, rng: &mut fastrand::Rng) {
        self.failures = self.failures.saturating_add(1);
        self.not_before = Some(now + backoff.delay(self.failures, rng));
    }

    /// Forgets the failures.
    pub(super) fn succeed(&mut self) {
        *self = Self::default();
    }

    /// Ends the wait if its time has come.
    pub(super) fn expire(&mut self, now: Instant) {
        self.not_before = self.not_before.filter(|at| *at > now);
    }

    /// When the wait ends, if there is one.
    pub(super) const fn not_before(&self) -> Option<Instant> {
        self.not_before
    }
}

/// What the last answer told about the log.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Watermarks {
    /// End of what is replicated.
    pub(super) high_watermark: Option<i64>,
    /// End of what belongs to no open transaction.
    pub(super) last_stable_offset: Option<i64>,
}

/// Whether the log is known to hold more than the last answer brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Backlog {
    /// A fetch has something to bring at once.
    More,
    /// The reader was at the end, or nothing is known.
    Unknown,
}

/// An assigned partition.
#[derive(Debug)]
pub(super) struct Partition {
    /// What it waits for.
    pub(super) state: State,
    /// Id of the topic that the position belongs to, once known.
    pub(super) topic_id: Option<TopicId>,
    /// When it may be asked for again.
    pub(super) retry: Retry,
    /// Since when the cluster says that there is no such partition.
    pub(super) unknown_since: Option<Instant>,
    /// What the last answer told about the log.
    pub(super) watermarks: Watermarks,
    /// Whether more is there.
    pub(super) backlog: Backlog,
    /// When it brought data last, counted in data of all partitions: who waits longest comes first.
    pub(super) served: u64,
}

impl Partition {
    pub(super) fn new(start: Start) -> Self {
        Self {
            state: State::start(start),
            topic_id: None,
            retry: Retry::default(),
            unknown_since: None,
            watermarks: Watermarks::default(),
            backlog: Backlog::Unknown,
            served: 0,
        }
    }

    /// Begins anew elsewhere, in whatever topic now has the name.
    pub(super) fn seek(&mut self, start: Start) {
        let watermarks = self.watermarks;
        let served = self.served;
        *self = Self {
            watermarks,
            served,
            ..Self::new(start)
        };
    }

    /// Whether a request may be made now as far as the partition itself is concerned.
    pub(super) const fn is_due(&self) -> bool {
        self.retry.not_before().is_none()
    }
}
