//! What to send next and when: the values, their number, and their rate. Pure: the time is an argument.

use std::time::{Duration, Instant};

use super::payload::Payload;
use super::throttle::Throttle;

/// The records of one run.
#[derive(Debug)]
pub(super) struct Feed {
    payload: Payload,
    throttle: Throttle,
    total: u64,
    sent: u64,
}

/// What to do now.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step<'a> {
    /// Send this value.
    Send(&'a [u8]),
    /// Ask again after this time.
    Wait(Duration),
    /// All records were sent.
    Done,
}

impl Feed {
    /// `total` values at a rate.
    pub(super) fn new(payload: Payload, throttle: Throttle, total: u64) -> Self {
        Self {
            payload,
            throttle,
            total,
            sent: 0,
        }
    }

    /// The next step. A value that is handed out counts as sent.
    pub(super) fn step(&mut self, now: Instant) -> Step<'_> {
        if self.sent >= self.total {
            return Step::Done;
        }
        if let Some(wait) = self.throttle.wait(self.sent, now) {
            return Step::Wait(wait);
        }
        self.sent += 1;
        Step::Send(self.payload.next())
    }

    /// How long until the next record is due; `None` if it is due now, or all were sent.
    pub(super) fn wait(&self, now: Instant) -> Option<Duration> {
        if self.is_done() {
            None
        } else {
            self.throttle.wait(self.sent, now)
        }
    }

    /// Whether all records were sent.
    pub(super) fn is_done(&self) -> bool {
        self.sent >= self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sends_the_total_at_the_rate() {
        let start = Instant::now();
        let mut feed = Feed::new(Payload::monotonic(), Throttle::new(Some(1.0), start), 2);
        assert_eq!(feed.step(start), Step::Send(b"0"));
        assert_eq!(feed.step(start), Step::Wait(Duration::from_secs(1)));
        assert_eq!(feed.wait(start), Some(Duration::from_secs(1)));
        let later = start + Duration::from_secs(1);
        assert_eq!(feed.wait(later), None);
        assert_eq!(feed.step(later), Step::Send(b"1"));
        assert_eq!(feed.step(later), Step::Done);
        assert!(feed.is_done());
        assert_eq!(feed.wait(start), None);
    }
}
