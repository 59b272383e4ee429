//! When to get new metadata: at once for a new topic, after a pause when it proved stale or incomplete, and by age.
//!
//! Wishes and answers in; the request, the snapshot and the next wake-up out. One request is under way at a time.
//!
//! ```text
//!   Idle { next } --poll_request at next--> Asking { again } --handle_response--> Idle { next }
//! ```

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sealwax_protocol::StrBytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::messages::metadata_request::MetadataRequestTopic;
use sealwax_protocol::messages::{MetadataRequest, MetadataResponse, TopicName};

use super::ClusterMetadata;
use super::merge::merge;
use crate::machine::retry::Backoff;

/// Keeps the snapshot of the cluster current.
#[derive(Debug)]
pub(crate) struct MetadataMachine {
    backoff: Backoff,
    max_age: Duration,
    rng: fastrand::Rng,
    tracked: BTreeSet<Arc<str>>,
    snapshot: Arc<ClusterMetadata>,
    phase: Phase,
    /// When the last request was sent.
    last_asked: Option<Instant>,
    /// Rounds in a row that failed, left something open, or brought nothing new.
    fruitless: u32,
    audience: Audience,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Idle { next: Instant },
    Asking { again: Again },
}

/// What was wished for while a request was under way. The later the variant the stronger the wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Again {
    No,
    AfterPause,
    AtOnce,
}

/// What a usable answer brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum News {
    Changed,
    Same,
}

/// Who is to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Any broker.
    Any,
    /// The bootstrap addresses: the brokers asked for it (KIP-1102).
    Bootstrap,
}

impl MetadataMachine {
    /// Starts from a first answer, got while bootstrapping.
    pub(crate) fn new(
        now: Instant,
        first: &MetadataResponse,
        backoff: Backoff,
        max_age: Duration,
        rng: fastrand::Rng,
    ) -> Self {
        let tracked = BTreeSet::new();
        Self {
            backoff,
            max_age,
            rng,
            snapshot: Arc::new(merge(&ClusterMetadata::default(), first, &tracked)),
            tracked,
            phase: Phase::Idle { next: now + max_age },
            last_asked: Some(now),
            fruitless: 0,
            audience: Audience::Any,
        }
    }

    /// Keeps a topic in the snapshot from now on, and gets it at once if it was not kept before.
    pub(crate) fn need_topic(&mut self, now: Instant, name: Arc<str>) {
        if self.snapshot.topic(&name).is_some() {
            return;
        }
        if self.tracked.insert(name) {
            self.ask_again(now, Again::AtOnce);
        } else {
            self.refresh(now);
        }
    }

    /// The snapshot proved stale.
    pub(crate) fn refresh(&mut self, now: Instant) {
        self.ask_again(now, Again::AfterPause);
    }

    /// The answer to the request that was polled last; `Err` if there is none. Whether it could be used.
    pub(crate) fn handle_response(&mut self, now: Instant, answer: Result<&MetadataResponse, ()>) -> bool {
        let again = match self.phase {
            Phase::Asking { again } => again,
            Phase::Idle { .. } => return false,
        };
        let news = answer.ok().and_then(|response| self.take(response));
        self.fruitless = match news {
            Some(News::Changed) => 0,
            Some(News::Same) | None => self.fruitless.saturating_add(1),
        };
        let next = if news.is_some() && self.is_complete() {
            now + self.max_age
        } else {
            now + self.backoff.delay(self.fruitless.max(1), &mut self.rng)
        };
        self.phase = Phase::Idle { next };
        self.ask_again(now, again);
        news.is_some()
    }

    /// The next request, if one is due.
    pub(crate) fn poll_request(&mut self, now: Instant) -> Option<(Audience, MetadataRequest)> {
        match self.phase {
            Phase::Idle { next } if next <= now => {}
            Phase::Idle { .. } | Phase::Asking { .. } => return None,
        }
        self.phase = Phase::Asking { again: Again::No };
        self.last_asked = Some(now);
        Some((
            self.audience,
            request(self.tracked.iter().map(|name| &**name), true),
        ))
    }

    /// When [`MetadataMachine::poll_request`] will have a request; `None` while one is under way.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        match self.phase {
            Phase::Idle { next } => Some(next),
            Phase::Asking { .. } => None,
        }
    }

    /// When the last request was sent. Right after a usable answer it is the one that brought the snapshot.
    pub(crate) const fn last_asked(&self) -> Option<Instant> {
        self.last_asked
    }

    /// The snapshot.
    pub(crate) fn snapshot(&self) -> &Arc<ClusterMetadata> {
        &self.snapshot
    }

    fn ask_again(&mut self, now: Instant, wish: Again) {
        let pause = self.backoff.delay(self.fruitless.max(1), &mut self.rng);
        match &mut self.phase {
            Phase::Asking { again } => *again = (*again).max(wish),
            Phase::Idle { next } => {
                let wanted = match wish {
                    Again::No => return,
                    Again::AtOnce => now,
                    Again::AfterPause => self.last_asked.map_or(now, |asked| now.max(asked + pause)),
                };
                *next = wanted.min(*next);
            }
        }
    }

    /// Takes an answer in; `None` if it is of no use.
    fn take(&mut self, response: &MetadataResponse) -> Option<News> {
        let code = ErrorCode(response.error_code);
        self.audience = if code == ErrorCode::REBOOTSTRAP_REQUIRED {
            Audience::Bootstrap
        } else {
            Audience::Any
        };
        // A broker that is starting may not know a single one yet: what was known is better.
        if code.is_error() || response.brokers.is_empty() {
            return None;
        }
        let snapshot = merge(&self.snapshot, response, &self.tracked);
        if snapshot == *self.snapshot {
            return Some(News::Same);
        }
        self.snapshot = Arc::new(snapshot);
        Some(News::Changed)
    }

    /// Whether nothing is left that asking again soon could mend.
    fn is_complete(&self) -> bool {
        self.tracked.iter().all(|name| {
            self.snapshot.topics.get(name).is_some_and(|topic| {
                if topic.error_code.is_error() {
                    return !topic.error_code.is_retriable();
                }
                topic
                    .partitions
                    .iter()
                    .all(|partition| partition.leader.is_some())
            })
        })
    }
}

/// A Metadata request for these topics. An empty list asks for the brokers only.
pub(crate) fn request<'a>(
    names: impl Iterator<Item = &'a str>,
    allow_auto_topic_creation: bool,
) -> MetadataRequest {
    let topics = names
        .map(|name| {
            MetadataRequestTopic::default().with_name(Some(TopicName(StrBytes::from_string(name.to_owned()))))
        })
        .collect();
    MetadataRequest::default()
        .with_topics(Some(topics))
        .with_allow_auto_topic_creation(allow_auto_topic_creation)
}

#[cfg(test)]
pub(crate) mod tests;
