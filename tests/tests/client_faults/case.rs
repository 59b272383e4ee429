//! The table: which request, which fault, how long, at which occurrence.

use std::fmt;

use sealwax::config::EpochBump;
use xtask::kafka::Version;

/// Which requests a fault is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Target {
    FindTransactionCoordinator,
    FindGroupCoordinator,
    InitProducerId,
    AddPartitionsToTxn,
    AddOffsetsToTxn,
    TxnOffsetCommit,
    Produce,
    /// EndTxn that commits.
    Commit,
    /// EndTxn that aborts.
    Abort,
    Metadata,
}

/// What happens to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Fault {
    /// The connection is cut before the broker sees the request.
    CutBefore,
    /// The connection is cut in the middle of the request.
    CutWithinRequest,
    /// The connection is cut after the broker acted; the answer is lost.
    CutAfter,
    /// The connection is cut in the middle of the answer.
    CutWithinAnswer,
    /// The broker never sees the request and the client hears nothing.
    HoldRequest,
    /// The broker acted and the client hears nothing.
    HoldAnswer,
    /// The broker sees the request after the client has given it up.
    DelayRequest,
    /// The answer takes a third of the client's patience.
    DelayAnswer,
    TrickleRequest,
    TrickleAnswer,
    /// The broker gets the request twice, over two connections.
    Twice,
    /// As `HoldRequest`, but the broker gets the request in the middle of the next transaction (KAFKA-17754).
    Late,
    /// The broker gets the request, and once more in the middle of the next transaction.
    TwiceLate,
    /// The broker acted, but says with this code that it did not: so does a coordinator whose log write was not acknowledged in time.
    Denied(i16),
    /// The broker is not asked, and the client is told this code.
    Refused(i16),
}

/// For how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Reach {
    /// One request.
    Once,
    /// All of them until the call that caused them has returned.
    UntilReturned,
}

/// One run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Case {
    pub(crate) target: Target,
    pub(crate) fault: Fault,
    pub(crate) reach: Reach,
    /// 1 is the first request of this kind.
    pub(crate) occurrence: usize,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            target,
            fault,
            reach,
            occurrence,
        } = self;
        write!(f, "{target:?}#{occurrence}-{fault:?}-{reach:?}")
    }
}

/// Losses that may last.
const LOSSES: [Fault; 4] = [
    Fault::CutBefore,
    Fault::CutAfter,
    Fault::HoldRequest,
    Fault::HoldAnswer,
];
/// What happens to one request at a time.
const HARMS: [Fault; 7] = [
    Fault::CutWithinRequest,
    Fault::CutWithinAnswer,
    Fault::DelayRequest,
    Fault::DelayAnswer,
    Fault::TrickleRequest,
    Fault::TrickleAnswer,
    Fault::Twice,
];
/// COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, REQUEST_TIMED_OUT, CONCURRENT_TRANSACTIONS.
const COORDINATOR: [i16; 5] = [14, 15, 16, 7, 51];
/// PRODUCER_FENCED, INVALID_PRODUCER_EPOCH.
const FENCED: [i16; 2] = [90, 47];
const TRANSACTION_ABORTABLE: i16 = 120;
const OCCURRENCES: usize = 5;

impl Target {
    const ALL: [Self; 10] = [
        Self::FindTransactionCoordinator,
        Self::FindGroupCoordinator,
        Self::InitProducerId,
        Self::AddPartitionsToTxn,
        Self::AddOffsetsToTxn,
        Self::TxnOffsetCommit,
        Self::Produce,
        Self::Commit,
        Self::Abort,
        Self::Metadata,
    ];

    /// Whether a client asks this of this version: with TV2 a transaction's members are no request of their own.
    fn is_asked(self, version: Version) -> bool {
        let is_v2 = version == Version::V4_4_0;
        !is_v2 || !matches!(self, Self::AddPartitionsToTxn | Self::AddOffsetsToTxn)
    }

    /// Whether it is asked only while a client starts, so that a run has to start many.
    pub(crate) const fn is_asked_at_the_start(self) -> bool {
        matches!(
            self,
            Self::FindTransactionCoordinator
                | Self::FindGroupCoordinator
                | Self::InitProducerId
                | Self::Metadata
        )
    }

    /// Whether a request that comes late or twice can do anything.
    const fn changes_anything(self) -> bool {
        !matches!(
            self,
            Self::FindTransactionCoordinator | Self::FindGroupCoordinator | Self::Metadata
        )
    }

    /// Codes with which a broker that acted may say that it did not.
    fn denials(self) -> &'static [i16] {
        match self {
            Self::FindTransactionCoordinator | Self::FindGroupCoordinator => &[14, 15],
            Self::InitProducerId | Self::AddOffsetsToTxn => &COORDINATOR,
            Self::AddPartitionsToTxn => &[14, 15, 16, 7, 51, 3],
            Self::TxnOffsetCommit => &[14, 15, 16, 7, 3],
            // UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE, NOT_LEADER_OR_FOLLOWER, REQUEST_TIMED_OUT, NOT_ENOUGH_REPLICAS,
            // NOT_ENOUGH_REPLICAS_AFTER_APPEND, CORRUPT_MESSAGE, OUT_OF_ORDER_SEQUENCE_NUMBER, DUPLICATE_SEQUENCE_NUMBER.
            Self::Produce => &[3, 5, 6, 7, 19, 20, 2, 45, 46],
            // … and UNKNOWN_SERVER_ERROR.
            Self::Commit | Self::Abort => &[14, 15, 16, 7, 51, -1],
            Self::Metadata => &[3, 5],
        }
    }

    /// Codes with which a broker may refuse to act.
    fn refusals(self) -> Vec<i16> {
        let mut codes = match self {
            // A refusal of Metadata cannot be forged; its denial says the same.
            Self::Metadata => return Vec::new(),
            Self::Produce => vec![3, 6, 7, 19, 45, 47, 59, 87],
            Self::TxnOffsetCommit => vec![14, 15, 16, 7, 3, 22, 25],
            _ => self.denials().to_vec(),
        };
        if !matches!(
            self,
            Self::FindTransactionCoordinator | Self::FindGroupCoordinator | Self::InitProducerId
        ) {
            codes.push(TRANSACTION_ABORTABLE);
        }
        if !matches!(
            self,
            Self::FindTransactionCoordinator | Self::FindGroupCoordinator | Self::Produce
        ) {
            codes.extend(FENCED);
        }
        codes.retain(|code| *code != -1);
        codes
    }
}

impl Case {
    /// Whether the producer may be told that it is fenced or beyond use.
    pub(crate) fn may_lose_the_producer(self) -> bool {
        match (self.target, self.fault) {
            (_, Fault::Refused(code)) if FENCED.contains(&code) => true,
            // KAFKA-19250: an abort that must be aborted.
            (Target::Abort, Fault::Refused(TRANSACTION_ABORTABLE)) => true,
            // A first InitProducerId that comes late fences its own sender: nothing in it tells that it is old.
            (Target::InitProducerId, Fault::DelayRequest | Fault::Twice | Fault::Late | Fault::TwiceLate) => {
                true
            }
            _ => false,
        }
    }

    /// A copy that the broker gets long after its original was answered is nothing that the client can know of. Under the older protocol
    /// only an epoch for every transaction helps; TCP itself duplicates nothing, but a middlebox might.
    pub(crate) fn epoch_bump(self) -> EpochBump {
        match self.fault {
            Fault::TwiceLate => EpochBump::EveryTransaction,
            _ => EpochBump::WhenNeeded,
        }
    }

    /// How many transactions a run needs for the request to be asked so often, and two more for what follows.
    pub(crate) const fn transactions(self) -> u64 {
        let needed = match self.target {
            Target::Commit | Target::Abort => 2 * self.occurrence,
            Target::AddOffsetsToTxn | Target::TxnOffsetCommit => self.occurrence + self.occurrence / 2,
            _ => self.occurrence,
        };
        let transactions = needed as u64 + 2;
        if transactions < 6 { 6 } else { transactions }
    }
}

/// The runs for a version: all of them, or each request with each fault once.
pub(crate) fn cases(version: Version, all: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for target in Target::ALL.into_iter().filter(|target| target.is_asked(version)) {
        for (fault, reach) in faults(version, target) {
            if all {
                cases.extend((1..=OCCURRENCES).map(|occurrence| Case {
                    target,
                    fault,
                    reach,
                    occurrence,
                }));
            } else {
                cases.extend(sample(target, fault, reach, cases.len()));
            }
        }
    }
    if version == Version::V3_3_2 {
        // A broker that verifies nothing: what ends a transaction is what it gets wrong.
        cases.retain(|case| matches!(case.target, Target::Commit | Target::Abort));
    }
    cases
}

/// The part of the table that belongs to every test run: one occurrence each, the first and the second in turn.
fn sample(target: Target, fault: Fault, reach: Reach, index: usize) -> Vec<Case> {
    let is_end = matches!(target, Target::Commit | Target::Abort);
    let is_late = matches!(fault, Fault::Late | Fault::TwiceLate);
    let occurrences = match reach {
        Reach::Once if is_end && is_late => vec![1, 2, 3],
        Reach::Once => vec![1 + index % 2],
        Reach::UntilReturned if is_end => vec![1],
        Reach::UntilReturned => Vec::new(),
    };
    occurrences
        .into_iter()
        .map(|occurrence| Case {
            target,
            fault,
            reach,
            occurrence,
        })
        .collect()
}

fn faults(version: Version, target: Target) -> Vec<(Fault, Reach)> {
    let denials = target.denials().iter().map(|code| Fault::Denied(*code));
    let lasting: Vec<Fault> = LOSSES.into_iter().chain(denials.clone()).collect();
    let refusals = target.refusals().into_iter().map(Fault::Refused);
    let mut once: Vec<Fault> = LOSSES.into_iter().chain(HARMS).collect();
    if target.changes_anything() {
        // A broker before 3.6 does not verify writes, so that nothing protects it from a batch that was on its way for so long.
        if target != Target::Produce || version != Version::V3_3_2 {
            once.push(Fault::Late);
        }
        once.push(Fault::TwiceLate);
    }
    once.extend(denials.chain(refusals));
    let once = once.into_iter().map(|fault| (fault, Reach::Once));
    once.chain(lasting.into_iter().map(|fault| (fault, Reach::UntilReturned)))
        .collect()
}
