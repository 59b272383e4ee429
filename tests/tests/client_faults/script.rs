//! The proxy's rule that carries out one case, and what it saw.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kafka_protocol::messages::ApiKey;
use sealwax_tests::proxy::{Request, Rule, Verdict, deliver};

use crate::case::{Case, Fault, Reach, Target};

/// Behind the request's timeout, and well within it.
const LONG: Duration = Duration::from_millis(1500);
const SHORT: Duration = Duration::from_millis(300);

/// A case being carried out.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    case: Case,
    /// The consumer group whose coordinator is looked up.
    group: String,
    /// The brokers' own addresses.
    bootstrap: String,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    /// Number of the transaction that is open.
    transaction: u64,
    /// Frames of the case's kind.
    count: usize,
    phase: Phase,
    struck: Option<Instant>,
    /// EndTxn(commit) requests of the open transaction.
    commits: usize,
    kept: Option<(u64, Request)>,
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
    pub(crate) fn new(case: Case, group: String, bootstrap: String) -> Self {
        Self {
            case,
            group,
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

    /// When the fault struck first.
    pub(crate) fn struck(&self) -> Option<Instant> {
        self.seen().struck
    }

    /// What came of the case.
    pub(crate) fn account(&self) -> String {
        let seen = self.seen();
        match (&seen.phase, &seen.delivered, &seen.kept) {
            (Phase::Ahead, ..) => "no such request".to_owned(),
            (_, Some(delivered), _) => format!("late, {delivered}"),
            (_, None, Some(_)) => "kept for ever".to_owned(),
            (_, None, None) => "done".to_owned(),
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_meant(&self, request: &Request) -> bool {
        let Some(api) = request.api else { return false };
        match self.case.target {
            Target::FindTransactionCoordinator => {
                api == ApiKey::FindCoordinator && !request.mentions(&self.group)
            }
            Target::FindGroupCoordinator => api == ApiKey::FindCoordinator && request.mentions(&self.group),
            Target::InitProducerId => api == ApiKey::InitProducerId,
            Target::AddPartitionsToTxn => api == ApiKey::AddPartitionsToTxn,
            Target::AddOffsetsToTxn => api == ApiKey::AddOffsetsToTxn,
            Target::TxnOffsetCommit => api == ApiKey::TxnOffsetCommit,
            Target::Produce => api == ApiKey::Produce,
            Target::Commit => api == ApiKey::EndTxn && commits(request),
            Target::Abort => api == ApiKey::EndTxn && !commits(request),
            Target::Metadata => api == ApiKey::Metadata,
        }
    }

    /// Whether the fault strikes this frame.
    fn strikes(&self, request: &Request) -> bool {
        if !self.is_meant(request) {
            return false;
        }
        let mut seen = self.seen();
        seen.count += 1;
        match (seen.phase, self.case.reach) {
            (Phase::Lasting, _) => true,
            (Phase::Ahead, reach) if seen.count == self.case.occurrence => {
                seen.struck = Some(Instant::now());
                seen.phase = match reach {
                    Reach::Once => Phase::Over,
                    Reach::UntilReturned => Phase::Lasting,
                };
                true
            }
            (Phase::Ahead | Phase::Over, _) => false,
        }
    }

    fn keep(&self, request: &Request) {
        let mut seen = self.seen();
        seen.kept = Some((seen.transaction, request.clone()));
    }

    fn deliver_what_was_kept(&self) {
        let kept = {
            let mut seen = self.seen();
            let now = seen.transaction;
            seen.kept.take_if(|(then, _)| *then < now)
        };
        if let Some((_, request)) = kept {
            let outcome = match deliver(&self.bootstrap, &request) {
                Ok(answer) => match end_txn_code(&request, &answer) {
                    Some(code) => format!("answered {code}"),
                    None => "answered".to_owned(),
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
        let verdict = match self.case.fault {
            Fault::CutBefore => Verdict::Cut,
            Fault::CutWithinRequest => Verdict::CutWithin,
            Fault::HoldRequest | Fault::Late => Verdict::Hold,
            Fault::DelayRequest => Verdict::Delay(LONG),
            Fault::TrickleRequest => Verdict::Trickle,
            Fault::Twice => Verdict::Twice,
            Fault::TwiceLate => Verdict::Pass,
            Fault::Refused(code) => Verdict::Refuse(code),
            Fault::CutAfter
            | Fault::CutWithinAnswer
            | Fault::HoldAnswer
            | Fault::DelayAnswer
            | Fault::TrickleAnswer
            | Fault::Denied(_) => return Verdict::Pass,
        };
        if !self.strikes(request) {
            return Verdict::Pass;
        }
        if matches!(self.case.fault, Fault::Late | Fault::TwiceLate) {
            self.keep(request);
        }
        verdict
    }

    fn answer(&self, request: &Request) -> Verdict {
        if request.api == Some(ApiKey::Produce) {
            self.deliver_what_was_kept();
        }
        let verdict = match self.case.fault {
            Fault::CutAfter => Verdict::Cut,
            Fault::CutWithinAnswer => Verdict::CutWithin,
            Fault::HoldAnswer => Verdict::Hold,
            Fault::DelayAnswer => Verdict::Delay(SHORT),
            Fault::TrickleAnswer => Verdict::Trickle,
            Fault::Denied(code) => Verdict::Code(code),
            Fault::CutBefore
            | Fault::CutWithinRequest
            | Fault::HoldRequest
            | Fault::DelayRequest
            | Fault::TrickleRequest
            | Fault::Twice
            | Fault::Late
            | Fault::TwiceLate
            | Fault::Refused(_) => return Verdict::Pass,
        };
        if self.strikes(request) {
            verdict
        } else {
            Verdict::Pass
        }
    }
}

/// Whether an EndTxn commits: the last byte, before the (absent) tagged fields that version 3 has added.
fn commits(request: &Request) -> bool {
    let behind = if request.version >= 3 { 2 } else { 1 };
    let place = request.frame.len().checked_sub(behind);
    place
        .and_then(|place| request.frame.get(place))
        .is_some_and(|byte| *byte == 1)
}

/// The code of EndTxn's answer: behind the correlation id, the (absent) tagged fields of version 3, and the throttle time.
fn end_txn_code(request: &Request, answer: &[u8]) -> Option<i16> {
    let place = if request.version >= 3 { 9 } else { 8 };
    match answer.get(place..place + 2) {
        Some([high, low]) if request.api == Some(ApiKey::EndTxn) => Some(i16::from_be_bytes([*high, *low])),
        _ => None,
    }
}
