//! What can go wrong with a request.

use proptest::prelude::*;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::request::RequestBody;

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing.
    None,
    /// It is not sent.
    NotSent,
    /// It is lost on the way.
    RequestLost,
    /// It is carried out, its answer is lost.
    AnswerLost,
    /// There is no answer, and it is carried out much later, when other requests have passed it (KAFKA-17754).
    Delayed,
    /// It is refused with the n-th of the codes that fit it, without effect.
    Refused(usize),
    /// It is refused with this code, without effect.
    Says(ErrorCode),
    /// The logs have dropped all records, and with them what they knew of the producer; the request is refused for that. They begin at
    /// this offset now.
    Forgotten(i64),
    /// It is carried out, but the answer says with the n-th of [`DENIALS`] that it was not.
    Denied(usize),
}

/// With what a coordinator answers whose write to its log was not acknowledged in time, although it may stand there.
pub(crate) const DENIALS: [ErrorCode; 4] = [
    ErrorCode::REQUEST_TIMED_OUT,
    ErrorCode::COORDINATOR_NOT_AVAILABLE,
    ErrorCode::NOT_COORDINATOR,
    ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
];

impl Fault {
    /// The code of a refusal of `body`.
    pub(crate) fn code(nth: usize, body: &RequestBody) -> ErrorCode {
        let codes: &[ErrorCode] = match body {
            RequestBody::Produce(_) => &[
                ErrorCode::NOT_LEADER_OR_FOLLOWER,
                ErrorCode::NOT_ENOUGH_REPLICAS,
                ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
            ],
            _ => &[
                ErrorCode::CONCURRENT_TRANSACTIONS,
                ErrorCode::NOT_COORDINATOR,
                ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
                ErrorCode::COORDINATOR_NOT_AVAILABLE,
            ],
        };
        codes[nth % codes.len()]
    }
}

/// A fault plan: what happens to the n-th request; nothing to those beyond. Some faults last for a while.
pub(crate) fn plan() -> impl Strategy<Value = Vec<Fault>> {
    let fault = prop_oneof![
        6 => Just(Fault::None),
        1 => Just(Fault::NotSent),
        1 => Just(Fault::RequestLost),
        1 => Just(Fault::AnswerLost),
        1 => Just(Fault::Delayed),
        1 => (0_usize..4).prop_map(Fault::Refused),
        1 => (0..DENIALS.len()).prop_map(Fault::Denied),
    ];
    let lasts = prop_oneof![8 => Just(1_usize), 1 => 5..40_usize];
    prop::collection::vec((fault, lasts), 0..40).prop_map(|runs| {
        let faults = runs.into_iter().flat_map(|(fault, count)| vec![fault; count]);
        faults.collect()
    })
}
