//! What is due when. Events of the same instant happen in the order in which they were planned.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use sealwax_protocol::ids::TopicPartition;

/// What happens by itself. An event that no longer fits when it is due is passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// A request that waits is to be looked at again, on its connection.
    LookAgain {
        connection: u64,
        /// Which of its requests.
        serial: u64,
    },
    /// A marker reaches the partition's leader.
    WriteMarker {
        transactional_id: Arc<str>,
        coordinator_epoch: i32,
        partition: TopicPartition,
    },
    /// A transaction without partitions ends.
    Complete {
        transactional_id: Arc<str>,
        coordinator_epoch: i32,
    },
    /// An open transaction may have timed out.
    Expire(Arc<str>),
}

/// The plan.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    events: BTreeMap<(Duration, u64), Event>,
    planned: u64,
}

impl Timers {
    pub(crate) fn plan(&mut self, at: Duration, event: Event) {
        self.events.insert((at, self.planned), event);
        self.planned += 1;
    }

    /// When the next event is due.
    pub(crate) fn next(&self) -> Option<Duration> {
        self.events.first_key_value().map(|((at, _), _)| *at)
    }

    /// The next event that is due by `now`, and when it was.
    pub(crate) fn pop(&mut self, now: Duration) -> Option<(Duration, Event)> {
        let first = self.events.first_entry()?;
        if first.key().0 > now {
            return None;
        }
        let ((at, _), event) = first.remove_entry();
        Some((at, event))
    }
}
