//! The book of a call over several items: which are settled, which are open and why. Verdicts in, results in order out.

use crate::error::{Error, ErrorKind, Result};
use crate::machine::admin::Verdict;

/// The items of one call.
#[derive(Debug)]
pub(crate) struct Items<T> {
    slots: Vec<Slot<T>>,
}

#[derive(Debug)]
enum Slot<T> {
    /// Not settled; the last reason, if there was an attempt.
    Open(Option<Error>),
    Settled(Result<T>),
}

impl<T> Items<T> {
    /// So many open items.
    pub(crate) fn new(count: usize) -> Self {
        Self {
            slots: std::iter::repeat_with(|| Slot::Open(None)).take(count).collect(),
        }
    }

    /// The open items' places.
    pub(crate) fn open(&self) -> Vec<usize> {
        let open = |(index, slot): (usize, &Slot<T>)| match slot {
            Slot::Open(_) => Some(index),
            Slot::Settled(_) => None,
        };
        self.slots.iter().enumerate().filter_map(open).collect()
    }

    /// Takes the verdict on an item.
    pub(crate) fn settle(&mut self, index: usize, verdict: Verdict<T>) {
        if let Some(slot) = self.slots.get_mut(index) {
            *slot = match verdict {
                Verdict::Done(value) => Slot::Settled(Ok(value)),
                Verdict::Failed(error) => Slot::Settled(Err(error)),
                Verdict::Again(error) => Slot::Open(Some(error)),
            };
        }
    }

    /// All open items wait for the same reason.
    pub(crate) fn postpone(&mut self, reason: &Error) {
        for slot in &mut self.slots {
            if let Slot::Open(why) = slot {
                *why = Some(reason.clone());
            }
        }
    }

    /// Why an item is still open, if there was an attempt.
    pub(crate) fn reason(&self, index: usize) -> Option<&Error> {
        match self.slots.get(index)? {
            Slot::Open(reason) => reason.as_ref(),
            Slot::Settled(_) => None,
        }
    }

    /// The reason of the first open item.
    pub(crate) fn last_reason(&self) -> Option<&Error> {
        self.slots.iter().find_map(|slot| match slot {
            Slot::Open(reason) => reason.as_ref(),
            Slot::Settled(_) => None,
        })
    }

    /// Whether not a single item is settled.
    pub(crate) fn is_untouched(&self) -> bool {
        self.slots.iter().all(|slot| matches!(slot, Slot::Open(_)))
    }

    /// The results in order. What is still open has run out of time.
    pub(crate) fn finish(self, what: &str) -> Vec<Result<T>> {
        let finish = |slot| match slot {
            Slot::Settled(result) => result,
            Slot::Open(reason) => Err(out_of_time(what, reason.as_ref())),
        };
        self.slots.into_iter().map(finish).collect()
    }
}

/// A call ran out of time.
pub(crate) fn out_of_time(what: &str, reason: Option<&Error>) -> Error {
    let why = reason.map_or_else(String::new, |reason| format!("; the last attempt: {reason}"));
    Error::new(
        ErrorKind::Timeout,
        format!("{what} did not come to an end within default.api.timeout.ms{why}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_and_what_is_open_has_run_out_of_time() {
        let error = Error::new(ErrorKind::Broker, "busy");
        let mut items = Items::new(3);
        assert!(items.is_untouched());
        items.settle(2, Verdict::Done('c'));
        items.settle(0, Verdict::Again(error.clone()));
        assert_eq!(items.open(), [0, 1]);
        items.settle(1, Verdict::Failed(error));
        assert_eq!(
            items.last_reason().map(ToString::to_string).as_deref(),
            Some("busy")
        );
        let results = items.finish("the call");
        let first = results[0].as_ref().unwrap_err();
        assert_eq!(first.kind(), ErrorKind::Timeout);
        assert!(first.to_string().contains("busy"), "{first}");
        assert_eq!(results[1].as_ref().unwrap_err().kind(), ErrorKind::Broker);
        assert_eq!(results[2].as_ref().unwrap(), &'c');
    }
}
