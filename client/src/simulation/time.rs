//! Virtual time and what is to happen in it. In: events with the instant at which they are due. Out: the next one, and the clock moved to
//! it. Events of one instant come in the order in which they were put in, so that a run depends on nothing else.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The clock and the events to come.
#[derive(Debug)]
pub(super) struct Agenda<E> {
    epoch: Instant,
    now: Duration,
    serial: u64,
    events: BTreeMap<(Duration, u64), E>,
}

impl<E> Agenda<E> {
    /// An empty agenda at time zero.
    pub(super) fn new() -> Self {
        #[allow(
            clippy::disallowed_methods,
            reason = "an Instant cannot be made otherwise; only differences matter"
        )]
        let epoch = Instant::now();
        Self {
            epoch,
            now: Duration::ZERO,
            serial: 0,
            events: BTreeMap::new(),
        }
    }

    /// Time since the start.
    pub(super) const fn now(&self) -> Duration {
        self.now
    }

    /// Time zero as the machines' clock shows it.
    pub(super) const fn epoch(&self) -> Instant {
        self.epoch
    }

    /// Puts an event in; one that is due in the past is due now.
    pub(super) fn at(&mut self, at: Duration, event: E) {
        self.serial += 1;
        self.events.insert((at.max(self.now), self.serial), event);
    }

    /// Takes the next event that is due no later than `until`, and moves the clock to it; without one the clock moves to `until`.
    pub(super) fn next(&mut self, until: Duration) -> Option<E> {
        match self.events.first_entry() {
            Some(entry) if entry.key().0 <= until => {
                self.now = self.now.max(entry.key().0);
                Some(entry.remove())
            }
            _ => {
                self.now = self.now.max(until);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_then_by_the_order_of_their_entry() {
        let mut agenda = Agenda::new();
        let at = Duration::from_millis;
        for (due, event) in [(5, "c"), (1, "a"), (5, "d"), (3, "b")] {
            agenda.at(at(due), event);
        }
        let mut seen = Vec::new();
        while let Some(event) = agenda.next(at(5)) {
            seen.push((event, agenda.now()));
        }
        assert_eq!(seen, [("a", at(1)), ("b", at(3)), ("c", at(5)), ("d", at(5))]);
        agenda.at(at(9), "later");
        assert_eq!(agenda.next(at(8)), None);
        assert_eq!(agenda.now(), at(8));
        agenda.at(at(2), "late");
        assert_eq!(agenda.next(at(8)), Some("late"), "the past is now");
        assert_eq!(agenda.now(), at(8));
    }
}
