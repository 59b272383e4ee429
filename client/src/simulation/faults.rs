//! What goes wrong in a run, as data: faults of requests by API and occurrence, and acts upon the cluster, the network or a process at
//! an instant. In: a plan. Out: the fault that meets a request.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use sealwax_protocol::ApiKey;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::request::RequestBody;

/// What happens to a request and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The connection breaks before a byte leaves.
    NotSent,
    /// The connection breaks before the request arrives.
    LoseRequest,
    /// The request is carried out, then the connection breaks.
    LoseAnswer,
    /// The connection breaks for the client; the request arrives all the same after this time, when others on newer connections have
    /// passed it (KAFKA-17754).
    Late(Duration),
    /// The request takes so much longer.
    SlowRequest(Duration),
    /// The answer takes so much longer.
    SlowAnswer(Duration),
    /// From this request on the connection swallows everything, and nobody is told.
    BlackHole,
    /// The request arrives once more after this time, over another connection.
    Duplicate(Duration),
    /// It is refused with this code without effect.
    Refuse(ErrorCode),
    /// It is carried out, and the answer says this code.
    Deny(ErrorCode),
    /// It is carried out, and of each record batch in the answer a bit is turned over on its way.
    Corrupt,
}

/// A fault of some occurrences of an API, counted over all clients of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) api: ApiKey,
    /// The first occurrence; 0 is the first of all.
    pub(super) nth: u32,
    /// How many in a row.
    pub(super) times: u32,
    pub(super) fault: Fault,
}

/// What is done to the cluster, the network or a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// Another node leads this partition of the topic.
    MoveLeader(i32),
    /// Another node coordinates the n-th transactional id.
    MoveTransactionCoordinator(usize),
    /// Another node coordinates the group.
    MoveGroupCoordinator,
    /// A node dies, and comes back after this time.
    StopNode(i32, Duration),
    /// Every connection of a client breaks.
    Cut(usize),
    /// Between a client and a node nothing passes for this time.
    Partition(usize, i32, Duration),
    /// A client's process stands still for this time.
    Freeze(usize, Duration),
    /// The finalized level of `transaction.version` is set.
    SetTransactionVersion(i16),
}

/// All that goes wrong in a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Plan {
    pub(super) rules: Vec<Rule>,
    pub(super) acts: Vec<(Duration, Act)>,
}

/// Finds the fault of each request.
#[derive(Debug)]
pub(super) struct Faults {
    rules: Vec<Rule>,
    seen: BTreeMap<i16, u32>,
}

impl Faults {
    /// Starts to count.
    pub(super) const fn new(rules: Vec<Rule>) -> Self {
        Self {
            rules,
            seen: BTreeMap::new(),
        }
    }

    /// The fault that meets a request that is about to be written.
    pub(super) fn meet(&mut self, body: &RequestBody) -> Option<Fault> {
        let api = body.api_key();
        let count = self.seen.entry(api as i16).or_default();
        let nth = *count;
        *count += 1;
        let rule = self
            .rules
            .iter()
            .find(|rule| rule.api == api && rule.nth <= nth && nth - rule.nth < rule.times)?;
        Some(rule.fault)
    }

    /// From now on nothing goes wrong.
    pub(super) fn heal(&mut self) {
        self.rules.clear();
    }
}

/// With what a coordinator answers whose write to its log was not acknowledged in time, although it may stand there.
const DENIALS: [ErrorCode; 4] = [
    ErrorCode::REQUEST_TIMED_OUT,
    ErrorCode::COORDINATOR_NOT_AVAILABLE,
    ErrorCode::NOT_COORDINATOR,
    ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
];

/// With what a coordinator refuses for the moment.
const LATER: [ErrorCode; 4] = [
    ErrorCode::CONCURRENT_TRANSACTIONS,
    ErrorCode::NOT_COORDINATOR,
    ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode::COORDINATOR_NOT_AVAILABLE,
];

fn codes(codes: &'static [ErrorCode]) -> impl Strategy<Value = ErrorCode> {
    prop::sample::select(codes)
}

fn refused(api: ApiKey) -> BoxedStrategy<Fault> {
    match api {
        ApiKey::Produce => codes(&[
            ErrorCode::NOT_LEADER_OR_FOLLOWER,
            ErrorCode::NOT_ENOUGH_REPLICAS,
            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
            ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
            ErrorCode::MESSAGE_TOO_LARGE,
            ErrorCode::TRANSACTION_ABORTABLE,
        ])
        .prop_map(Fault::Refuse)
        .boxed(),
        ApiKey::FindCoordinator => codes(&[
            ErrorCode::COORDINATOR_NOT_AVAILABLE,
            ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
        ])
        .prop_map(Fault::Refuse)
        .boxed(),
        ApiKey::Fetch => codes(&[ErrorCode::UNKNOWN_SERVER_ERROR, ErrorCode::KAFKA_STORAGE_ERROR])
            .prop_map(Fault::Refuse)
            .boxed(),
        _ => codes(&LATER).prop_map(Fault::Refuse).boxed(),
    }
}

fn denied(api: ApiKey) -> BoxedStrategy<Fault> {
    match api {
        ApiKey::Produce => codes(&[
            ErrorCode::REQUEST_TIMED_OUT,
            ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND,
            ErrorCode::NOT_LEADER_OR_FOLLOWER,
        ])
        .prop_map(Fault::Deny)
        .boxed(),
        ApiKey::Fetch => Just(Fault::Corrupt).boxed(),
        _ => codes(&DENIALS).prop_map(Fault::Deny).boxed(),
    }
}

fn millis(range: std::ops::Range<u64>) -> impl Strategy<Value = Duration> {
    range.prop_map(Duration::from_millis)
}

/// Whether an EndTxn may arrive twice although it was written once. No connection does that. It is one more proof of what TV2 protects from;
/// under TV1 no client can know of it, and the second would end the next transaction of the same epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doubles {
    EndTxnToo,
    NotEndTxn,
}

fn fault(api: ApiKey, doubles: Doubles) -> impl Strategy<Value = Fault> {
    let late = match (api, doubles) {
        // A late or doubled first InitProducerId of an instance fences that very instance, on every client: of no interest here.
        (ApiKey::InitProducerId, _) => Just(Fault::LoseAnswer).boxed(),
        (ApiKey::EndTxn, Doubles::NotEndTxn) => prop_oneof![
            3 => millis(1..3_000).prop_map(Fault::Late),
            2 => millis(1..2_000).prop_map(Fault::SlowRequest),
        ]
        .boxed(),
        _ => prop_oneof![
            3 => millis(1..3_000).prop_map(Fault::Late),
            2 => millis(0..1_500).prop_map(Fault::Duplicate),
            2 => millis(1..2_000).prop_map(Fault::SlowRequest),
        ]
        .boxed(),
    };
    prop_oneof![
        1 => Just(Fault::NotSent),
        2 => Just(Fault::LoseRequest),
        3 => Just(Fault::LoseAnswer),
        4 => late,
        2 => millis(1..2_000).prop_map(Fault::SlowAnswer),
        1 => Just(Fault::BlackHole),
        2 => refused(api),
        2 => denied(api),
    ]
}

fn rule(doubles: Doubles) -> impl Strategy<Value = Rule> {
    let api = prop_oneof![
        5 => Just(ApiKey::EndTxn),
        5 => Just(ApiKey::Produce),
        3 => Just(ApiKey::AddPartitionsToTxn),
        2 => Just(ApiKey::InitProducerId),
        2 => Just(ApiKey::AddOffsetsToTxn),
        2 => Just(ApiKey::TxnOffsetCommit),
        1 => Just(ApiKey::FindCoordinator),
        1 => Just(ApiKey::Metadata),
        1 => Just(ApiKey::ApiVersions),
        1 => Just(ApiKey::Fetch),
    ];
    let times = prop_oneof![8 => Just(1_u32), 2 => 2..6_u32, 1 => 6..40_u32];
    api.prop_flat_map(move |api| (Just(api), 0..12_u32, times.clone(), fault(api, doubles)))
        .prop_map(|(api, nth, times, fault)| Rule {
            api,
            nth,
            times,
            fault,
        })
}

/// What may be done besides the faults of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hands {
    /// Whatever an operator, a machine or a network does without changing the protocol.
    Rough,
    /// That, and the feature level changes.
    Upgrading,
}

fn act(clients: usize, hands: Hands) -> impl Strategy<Value = Act> {
    let level = match hands {
        Hands::Upgrading => 4,
        Hands::Rough => 0,
    };
    prop_oneof![
        4 => (0..4).prop_map(Act::MoveLeader),
        3 => (0..2_usize).prop_map(Act::MoveTransactionCoordinator),
        1 => Just(Act::MoveGroupCoordinator),
        2 => (1..=3, millis(1..2_500)).prop_map(|(node, time)| Act::StopNode(node, time)),
        2 => (0..clients).prop_map(Act::Cut),
        2 => (0..clients, 1..=3, millis(1..2_500)).prop_map(|(client, node, time)| Act::Partition(client, node, time)),
        2 => (0..clients, millis(1..2_500)).prop_map(|(client, time)| Act::Freeze(client, time)),
        level => prop::sample::select(&[1_i16, 2][..]).prop_map(Act::SetTransactionVersion),
    ]
}

/// Any plan for so many clients.
pub(super) fn plan(clients: usize, hands: Hands, doubles: Doubles) -> impl Strategy<Value = Plan> {
    let acts = prop::collection::vec((millis(0..4_000), act(clients, hands)), 0..6);
    let rules = prop::collection::vec(rule(doubles), 0..8);
    (rules, acts).prop_map(|(rules, acts)| Plan { rules, acts })
}
