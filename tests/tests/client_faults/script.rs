//! The proxy's rule that carries out one case, and what it saw.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kafka_protocol::messages::ApiKey;
use sealwax_tests::proxy::{Request, Rule, Verdict, deliver};

use crate::case::{Case, Fault, Reach, Target};

/// A case being carried out.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    case: Case,
    /// The brokers' own addresses.
    bootstrap: String,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    /// Number of the transaction that is open.
    transaction: u64,
    /// Requests of the case's kind.
    count: usize,
    phase: Phase,
    /// EndTxn(commit) requests of the open transaction.
    commits: usize,
    held: Option<(u64, Request)>,
    delivered: Option<String>,
}

/// How far the fault is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Phase {
    #[default]
    Ahead,
    Lasting,
    Over,
}

impl Script {
    pub(crate) fn new(case: Case, bootstrap: String) -> Self {
        Self {
            case,
            bootstrap,
            seen: Arc::default(),
        }
    }

    /// A transaction is about to begin.
    pub(crate) fn enter(&self, transaction: u64) {
        let mut seen = self.seen();
        seen.transaction = transaction;
        seen.commits = 0;
    }

    /// The call that caused the requests has returned.
    pub(crate) fn calm(&self) {
        let mut seen = self.seen();
        if seen.phase == Phase::Lasting {
            seen.phase = Phase::Over;
        }
    }

    /// Whether the client asked for the open transaction's commit.
    pub(crate) fn saw_commit(&self) -> bool {
        self.seen().commits > 0
    }

    /// What came of the case.
    pub(crate) fn account(&self) -> String {
        let seen = self.seen();
        match (&seen.phase, &seen.delivered) {
            (Phase::Ahead, _) => "no such request".to_owned(),
            (_, Some(delivered)) => format!("late, {delivered}"),
            (_, None) => "done".to_owned(),
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_meant(&self, request: &Request) -> bool {
        let Some(api) = request.api else { return false };
        match self.case.target {
            Target::InitProducerId => api == ApiKey::InitProducerId,
            Target::AddPartitionsToTxn => api == ApiKey::AddPartitionsToTxn,
            Target::Produce => api == ApiKey::Produce,
            Target::Commit => api == ApiKey::EndTxn && commits(request),
            Target::Abort => api == ApiKey::EndTxn && !commits(request),
            Target::FindCoordinator => api == ApiKey::FindCoordinator,
            Target::Metadata => api == ApiKey::Metadata,
        }
    }

    /// Whether the fault strikes this request.
    fn strikes(&self, request: &Request) -> bool {
        if !self.is_meant(request) {
            return false;
        }
        let mut seen = self.seen();
        seen.count += 1;
        match (seen.phase, self.case.reach) {
            (Phase::Lasting, _) => true,
            (Phase::Ahead, reach) if seen.count == self.case.occurrence => {
                seen.phase = match reach {
                    Reach::Once => Phase::Over,
                    Reach::UntilReturned => Phase::Lasting,
                };
                true
            }
            (Phase::Ahead | Phase::Over, _) => false,
        }
    }

    fn deliver_what_was_held(&self) {
        let held = {
            let mut seen = self.seen();
            let now = seen.transaction;
            seen.held.take_if(|(then, _)| *then < now)
        };
        if let Some((_, request)) = held {
            let outcome = match deliver(&self.bootstrap, &request) {
                Ok(answer) => match (request.api, answer.get(9..11)) {
                    (Some(ApiKey::EndTxn), Some([high, low])) => {
                        format!("answered {}", i16::from_be_bytes([*high, *low]))
                    }
                    _ => "answered".to_owned(),
                },
                Err(error) => format!("{error:#}"),
            };
            self.seen().delivered = Some(outcome);
        }
    }
}

impl Rule for Script {
    fn request(&self, request: &Request) -> Verdict {
        if request.api == Some(ApiKey::EndTxn) && commits(request) {
            self.seen().commits += 1;
        }
        match self.case.fault {
            Fault::CutBefore if self.strikes(request) => Verdict::Cut,
            Fault::HoldRequest if self.strikes(request) => Verdict::Hold,
            Fault::Late if self.strikes(request) => {
                let mut seen = self.seen();
                if seen.held.is_none() && seen.delivered.is_none() {
                    seen.held = Some((seen.transaction, request.clone()));
                }
                Verdict::Hold
            }
            _ => Verdict::Pass,
        }
    }

    fn answer(&self, request: &Request) -> Verdict {
        if request.api == Some(ApiKey::Produce) {
            self.deliver_what_was_held();
        }
        match self.case.fault {
            Fault::CutAfter if self.strikes(request) => Verdict::Cut,
            Fault::HoldAnswer if self.strikes(request) => Verdict::Hold,
            Fault::Denied(code) if self.strikes(request) => Verdict::Code(code),
            _ => Verdict::Pass,
        }
    }
}

/// Whether an EndTxn of version 3 or above commits: the byte in front of the (absent) tagged fields at its end.
fn commits(request: &Request) -> bool {
    let frame = &request.frame;
    frame
        .len()
        .checked_sub(2)
        .and_then(|place| frame.get(place))
        .is_some_and(|byte| *byte == 1)
}
