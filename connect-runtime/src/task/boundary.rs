//! When a transaction ends (KIP-618, `transaction.boundary`). Pure: events and the time in, decisions out.
//!
//! | boundary  | after a record | after a batch     | while a poll waits | at the end        |
//! |-----------|----------------|-------------------|--------------------|-------------------|
//! | poll      | –              | commit            | –                  | commit            |
//! | interval  | –              | commit when due   | commit when due    | commit            |
//! | connector | as asked       | as asked          | –                  | as asked, or drop |

use std::time::{Duration, Instant};

use crate::api::{BatchRequest, ConnectError, RecordBoundary};
use crate::config::BoundaryKind;

/// What happened in the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A record was accepted for sending; what the connector marked on it.
    Record(Option<RecordBoundary>),
    /// The batch of a poll is done, also an empty one; what the connector asked for.
    Batch(Option<BatchRequest>),
    /// Time passed while a poll waits.
    Tick,
    /// The task has to stop; what the connector asked for last.
    Stop(Option<BatchRequest>),
}

/// What to do with the open transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Keep it open.
    GoOn,
    /// Commit records and offsets.
    Commit,
    /// Drop the records, but commit the offsets: the connector asked to pass over them.
    Abort,
    /// Drop records and offsets: the connector did not finish its transaction.
    Drop,
}

/// The boundary of one task's transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionBoundary {
    /// Each batch.
    Poll,
    /// A time.
    Interval {
        /// How long a transaction may stay open.
        every: Duration,
        /// When the next commit is due.
        due: Instant,
    },
    /// The connector's requests.
    Connector,
}

impl TransactionBoundary {
    /// The boundary for a task that enters its loop now.
    pub fn new(kind: BoundaryKind, now: Instant) -> Self {
        match kind {
            BoundaryKind::Poll => Self::Poll,
            BoundaryKind::Interval(every) => Self::Interval {
                every,
                due: now + every,
            },
            BoundaryKind::Connector => Self::Connector,
        }
    }

    /// The decision on an event.
    ///
    /// # Errors
    /// The connector asked both to commit and to abort.
    pub fn decide(&self, now: Instant, event: Event) -> Result<Decision, ConnectError> {
        Ok(match (self, event) {
            (Self::Poll, Event::Batch(_) | Event::Stop(_)) => Decision::Commit,
            (Self::Poll, Event::Record(_) | Event::Tick) => Decision::GoOn,
            (Self::Interval { due, .. }, Event::Batch(_) | Event::Tick) if now >= *due => Decision::Commit,
            (Self::Interval { .. }, Event::Batch(_) | Event::Tick | Event::Record(_)) => Decision::GoOn,
            (Self::Interval { .. }, Event::Stop(_)) => Decision::Commit,
            (Self::Connector, Event::Record(mark)) => match mark {
                None => Decision::GoOn,
                Some(RecordBoundary::Commit) => Decision::Commit,
                Some(RecordBoundary::Abort) => Decision::Abort,
            },
            (Self::Connector, Event::Batch(request)) => of_request(request)?.unwrap_or(Decision::GoOn),
            (Self::Connector, Event::Stop(request)) => of_request(request)?.unwrap_or(Decision::Drop),
            (Self::Connector, Event::Tick) => Decision::GoOn,
        })
    }

    /// A transaction ended, or a commit was due and there was nothing to commit: the interval starts anew.
    pub fn restart(&mut self, now: Instant) {
        match self {
            Self::Interval { every, due } => *due = now + *every,
            Self::Poll | Self::Connector => {}
        }
    }

    /// When a [`Event::Tick`] is wanted.
    pub fn next_tick(&self) -> Option<Instant> {
        match self {
            Self::Interval { due, .. } => Some(*due),
            Self::Poll | Self::Connector => None,
        }
    }
}

fn of_request(request: Option<BatchRequest>) -> Result<Option<Decision>, ConnectError> {
    match request {
        None => Ok(None),
        Some(BatchRequest::Commit) => Ok(Some(Decision::Commit)),
        Some(BatchRequest::Abort) => Ok(Some(Decision::Abort)),
        Some(BatchRequest::Both) => Err(ConnectError::permanent(
            "the connector asked both to commit and to abort the transaction after one batch",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUESTS: [Option<BatchRequest>; 3] = [None, Some(BatchRequest::Commit), Some(BatchRequest::Abort)];

    #[test]
    fn poll_commits_each_batch_and_nothing_else() {
        let now = Instant::now();
        let boundary = TransactionBoundary::new(BoundaryKind::Poll, now);
        for request in REQUESTS {
            assert_eq!(
                boundary.decide(now, Event::Batch(request)).unwrap(),
                Decision::Commit
            );
            assert_eq!(
                boundary.decide(now, Event::Stop(request)).unwrap(),
                Decision::Commit
            );
        }
        for event in [
            Event::Record(Some(RecordBoundary::Abort)),
            Event::Record(None),
            Event::Tick,
        ] {
            assert_eq!(boundary.decide(now, event).unwrap(), Decision::GoOn);
        }
        assert_eq!(boundary.next_tick(), None);
    }

    #[test]
    fn interval_commits_when_due_also_without_data() {
        let start = Instant::now();
        let every = Duration::from_secs(5);
        let mut boundary = TransactionBoundary::new(BoundaryKind::Interval(every), start);
        let before = start + every - Duration::from_millis(1);
        for event in [Event::Batch(None), Event::Tick, Event::Record(None)] {
            assert_eq!(boundary.decide(before, event).unwrap(), Decision::GoOn);
        }
        let due = start + every;
        assert_eq!(boundary.next_tick(), Some(due));
        assert_eq!(boundary.decide(due, Event::Record(None)).unwrap(), Decision::GoOn);
        assert_eq!(
            boundary.decide(due, Event::Batch(None)).unwrap(),
            Decision::Commit
        );
        assert_eq!(boundary.decide(due, Event::Tick).unwrap(), Decision::Commit);
        boundary.restart(due);
        assert_eq!(boundary.decide(due, Event::Tick).unwrap(), Decision::GoOn);
        assert_eq!(boundary.decide(due, Event::Stop(None)).unwrap(), Decision::Commit);
    }

    #[test]
    fn connector_decides_and_an_unfinished_transaction_is_dropped_at_the_end() {
        let now = Instant::now();
        let boundary = TransactionBoundary::new(BoundaryKind::Connector, now);
        let decide = |event| boundary.decide(now, event).unwrap();
        assert_eq!(decide(Event::Record(None)), Decision::GoOn);
        assert_eq!(
            decide(Event::Record(Some(RecordBoundary::Commit))),
            Decision::Commit
        );
        assert_eq!(
            decide(Event::Record(Some(RecordBoundary::Abort))),
            Decision::Abort
        );
        assert_eq!(decide(Event::Batch(None)), Decision::GoOn);
        assert_eq!(decide(Event::Batch(Some(BatchRequest::Commit))), Decision::Commit);
        assert_eq!(decide(Event::Batch(Some(BatchRequest::Abort))), Decision::Abort);
        assert_eq!(decide(Event::Stop(None)), Decision::Drop);
        assert_eq!(decide(Event::Stop(Some(BatchRequest::Commit))), Decision::Commit);
        assert_eq!(decide(Event::Tick), Decision::GoOn);
        assert!(
            boundary
                .decide(now, Event::Batch(Some(BatchRequest::Both)))
                .is_err()
        );
    }
}
