//! The table: which request, which fault, at which occurrence, for how long.

use std::fmt;

use xtask::kafka::Version;

/// Which requests a fault is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    InitProducerId,
    AddPartitionsToTxn,
    Produce,
    Commit,
    Abort,
    FindCoordinator,
    Metadata,
}

/// What happens to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The connection is cut before the broker sees the request.
    CutBefore,
    /// The connection is cut after the broker acted; the answer is lost.
    CutAfter,
    /// The broker never sees the request and the client hears nothing.
    HoldRequest,
    /// The broker acted and the client hears nothing.
    HoldAnswer,
    /// As `HoldRequest`, but the broker gets the request in the middle of the next transaction (KAFKA-17754).
    Late,
    /// The broker acted, but says with this code that it did not: so does a coordinator whose log write was not acknowledged in time.
    Denied(i16),
}

/// For how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// One request.
    Once,
    /// All of them until the call that caused them has returned.
    UntilReturned,
}

/// One run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) target: Target,
    pub(crate) fault: Fault,
    /// 1 is the first request of this kind.
    pub(crate) occurrence: usize,
    pub(crate) reach: Reach,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            target,
            fault,
            occurrence,
            reach,
        } = self;
        write!(f, "{target:?}#{occurrence}-{fault:?}-{reach:?}")
    }
}

const TARGETS: [Target; 7] = [
    Target::InitProducerId,
    Target::AddPartitionsToTxn,
    Target::Produce,
    Target::Commit,
    Target::Abort,
    Target::FindCoordinator,
    Target::Metadata,
];
const LOSSES: [Fault; 4] = [
    Fault::CutBefore,
    Fault::CutAfter,
    Fault::HoldRequest,
    Fault::HoldAnswer,
];
/// COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, REQUEST_TIMED_OUT.
const DENIALS: [i16; 4] = [14, 15, 16, 7];

/// The runs for a version: all of them, or those that a change is most likely to break.
pub(crate) fn cases(version: Version, all: bool) -> Vec<Case> {
    let occurrences: &[usize] = if all { &[1, 2, 3, 5] } else { &[1, 3] };
    let mut cases = Vec::new();
    for target in TARGETS {
        for &occurrence in occurrences {
            for reach in [Reach::Once, Reach::UntilReturned] {
                for fault in faults(version, target) {
                    cases.push(Case {
                        target,
                        fault,
                        occurrence,
                        reach,
                    });
                }
            }
        }
    }
    cases.retain(|case| all || is_telling(version, *case));
    cases
}

fn faults(version: Version, target: Target) -> Vec<Fault> {
    let is_v2 = version == Version::V4_4_0;
    let mut faults = match target {
        Target::AddPartitionsToTxn if is_v2 => Vec::new(),
        _ => LOSSES.to_vec(),
    };
    match target {
        Target::Commit | Target::Abort => {
            faults.push(Fault::Late);
            faults.extend(DENIALS.map(Fault::Denied));
        }
        Target::AddPartitionsToTxn if !is_v2 => faults.push(Fault::Late),
        // A broker before 3.6 does not verify writes, so that nothing protects it from a batch that was on its way for so long.
        Target::Produce if version != Version::V3_3_2 => faults.push(Fault::Late),
        // A first InitProducerId that comes late fences its own sender: nothing in it tells that it is old.
        Target::InitProducerId
        | Target::AddPartitionsToTxn
        | Target::Produce
        | Target::FindCoordinator
        | Target::Metadata => {}
    }
    faults
}

/// Whether a case is part of every test run.
fn is_telling(version: Version, case: Case) -> bool {
    let ends = matches!(case.target, Target::Commit | Target::Abort);
    let writes = matches!(case.target, Target::AddPartitionsToTxn | Target::Produce);
    match version {
        Version::V3_3_2 => ends && case.occurrence == 1,
        // The other requests are rarely asked more than twice.
        _ => ends || case.occurrence == 1 || (writes && case.reach == Reach::Once),
    }
}
