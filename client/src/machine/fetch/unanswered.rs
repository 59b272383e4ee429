//! Requests without an answer: reading is harmless, so it is tried again unless the reason forbids it.

use std::time::Instant;

use crate::error::{Error, ErrorKind};
use crate::machine::RequestId;
use crate::machine::fetch::failure::Damage;
use crate::machine::fetch::position::State;
use crate::machine::fetch::request::Asked;
use crate::machine::fetch::reset::Answer;
use crate::machine::fetch::response::{Verdict, suspect};
use crate::machine::fetch::{FetchMachine, Request};

/// What a request without an answer calls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unanswered {
    /// The way to the broker is blocked for the moment.
    Retry,
    /// The answer was unreadable.
    Damaged,
    /// Another try would end the same way.
    Fatal,
}

impl Unanswered {
    fn of(error: &Error) -> Self {
        match error.kind() {
            ErrorKind::Corrupt => Self::Damaged,
            _ if error.is_retriable() => Self::Retry,
            _ => Self::Fatal,
        }
    }
}

impl FetchMachine {
    /// Decides for every partition of the request.
    pub(super) fn handle_failure(&mut self, now: Instant, id: RequestId, request: &Request, error: &Error) {
        match request {
            Request::Fetch { asked, .. } => {
                for Asked { partition, .. } in asked {
                    self.settle_fetch(now, id, partition, |position| match Unanswered::of(error) {
                        Unanswered::Retry => Verdict::Again(State::Fetchable(position)),
                        Unanswered::Damaged => suspect(partition, position, &Damage::Answer(error.clone())),
                        Unanswered::Fatal => Verdict::Failed(error.clone()),
                    });
                }
            }
            Request::ListOffsets { asked, .. } => {
                for partition in asked {
                    self.settle_list_offsets(now, id, partition, |question| match Unanswered::of(error) {
                        Unanswered::Retry => Answer::Again(State::Unresolved(question)),
                        Unanswered::Damaged | Unanswered::Fatal => Answer::Failed(error.clone()),
                    });
                }
            }
        }
    }
}
