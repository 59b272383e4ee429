//! The table of transitions: every state against every event.

use std::time::{Duration, Instant};

use sealwax_protocol::ids::{ProducerEpoch, ProducerId, ProducerIdAndEpoch, TopicPartition};

use super::end_txn::{AbortBasis, EarlierAttempts};
use super::open::{Doubt, EpochReuse, OpenTransaction};
use super::phase::{Abort, AbortCause, Commit, EndedBefore, Fencing, Inquiry, NextProducer, Ready};
use super::state::State;
use super::version::TransactionVersion::{self, V1, V2};
use crate::error::{Error, ErrorKind};

fn producer(epoch: i16) -> ProducerIdAndEpoch {
    ProducerIdAndEpoch {
        id: ProducerId(7),
        epoch: ProducerEpoch(epoch),
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "an Instant cannot be made otherwise; only differences matter"
)]
fn later() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

fn error() -> Error {
    Error::new(ErrorKind::Broker, "x")
}

fn open(version: TransactionVersion) -> OpenTransaction {
    OpenTransaction::new(1, producer(3), version, EpochReuse::Allowed)
}

fn ready(last: Option<TransactionVersion>) -> State {
    State::Ready(Ready {
        producer: producer(3),
        last,
    })
}

fn asked(earlier: EarlierAttempts) -> Commit {
    Commit::Asked {
        earlier,
        deadline: later(),
    }
}

fn abort(cause: AbortCause) -> Abort {
    Abort {
        cause,
        ended: EndedBefore::No,
        fencing: Fencing::NotSaid,
    }
}

fn name(state: &State) -> &'static str {
    match state {
        State::Uninitialized(_) => "Uninitialized",
        State::Initializing(_) => "Initializing",
        State::Ready(_) => "Ready",
        State::InTransaction(_) => "InTransaction",
        State::CommittingTransaction(_, Commit::Delivering) => "Delivering",
        State::CommittingTransaction(_, Commit::Asked { .. }) => "Asked",
        State::AbortingTransaction(_, abort) => match abort.cause {
            AbortCause::Requested => "Aborting",
            AbortCause::CommitFailed(..) => "CommitFailed",
            AbortCause::Settling => "Settling",
        },
        State::AbortableError(..) => "AbortableError",
        State::OutcomeUnknown(_, Inquiry::NotAsked) => "OutcomeUnknown",
        State::OutcomeUnknown(_, Inquiry::Asked(_)) => "Inquiring",
        State::FatalError(_) => "FatalError",
    }
}

/// One of each, in the order of the table's rows.
fn states() -> Vec<State> {
    vec![
        State::Uninitialized(error()),
        State::Initializing(producer(3)),
        ready(None),
        State::InTransaction(open(V2)),
        State::CommittingTransaction(open(V2), Commit::Delivering),
        State::CommittingTransaction(open(V2), asked(EarlierAttempts::Answered)),
        State::AbortingTransaction(open(V2), abort(AbortCause::Requested)),
        State::AbortingTransaction(open(V2), abort(AbortCause::CommitFailed(error(), later()))),
        State::AbortingTransaction(open(V2), abort(AbortCause::Settling)),
        State::AbortableError(open(V2), error()),
        State::OutcomeUnknown(open(V2), Inquiry::NotAsked),
        State::OutcomeUnknown(open(V2), Inquiry::Asked(later())),
        State::FatalError(error()),
    ]
}

/// Each state's successor under `event`; "-" where it stays what it is.
fn successors(event: impl Fn(State) -> State) -> Vec<&'static str> {
    let step = |state: State| {
        let before = name(&state);
        let after = name(&event(state));
        if before == after { "-" } else { after }
    };
    states().into_iter().map(step).collect()
}

#[test]
fn every_state_against_every_event() {
    #[rustfmt::skip]
    let table: [(&str, Vec<&str>, [&str; 13]); 17] = [
        // event             successors                                              Uninit, Init, Ready, InTxn, Delivering, Asked, Aborting, CommitFailed, Settling, AbortableError, OutcomeUnknown, Inquiring, Fatal
        ("begin",            successors(|state| state.begin(2, V2, EpochReuse::Allowed).0),
                                                                                     ["Initializing", "-", "InTransaction", "-", "-", "-", "-", "-", "-", "-", "Settling", "-", "-"]),
        ("commit",           successors(|state| state.commit(later()).0),            ["-", "-", "-", "Delivering", "-", "-", "-", "-", "-", "CommitFailed", "-", "-", "-"]),
        ("abort",            successors(|state| state.abort().0),                    ["-", "-", "-", "Aborting", "-", "-", "-", "-", "-", "Aborting", "-", "-", "-"]),
        ("abortable",        successors(|state| state.abortable(error(), later())),  ["-", "-", "-", "AbortableError", "CommitFailed", "-", "-", "-", "-", "-", "-", "-", "-"]),
        ("commit_asked",     successors(|state| state.commit_asked(later())),        ["-", "-", "-", "-", "Asked", "-", "-", "-", "-", "-", "-", "-", "-"]),
        ("ending_in_doubt",  successors(State::ending_in_doubt),                     ["-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-"]),
        ("unknown",          successors(State::unknown),                             ["-", "-", "-", "-", "OutcomeUnknown", "OutcomeUnknown", "-", "-", "-", "-", "-", "-", "-"]),
        ("inquire",          successors(|state| state.inquire(Inquiry::Asked(later()))),
                                                                                     ["-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "Inquiring", "-", "-"]),
        ("inquiry over",     successors(|state| state.inquire(Inquiry::NotAsked)),   ["-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "OutcomeUnknown", "-"]),
        ("commit_again",     successors(|state| state.commit_again(later())),        ["-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "Asked", "Asked", "-"]),
        ("settle",           successors(|state| state.settle(AbortCause::Settling, EndedBefore::Maybe)),
                                                                                     ["-", "-", "-", "-", "Settling", "Settling", "-", "-", "-", "-", "Settling", "Settling", "-"]),
        ("verdict_given",    successors(State::verdict_given),                       ["-", "-", "-", "-", "-", "-", "Settling", "Settling", "-", "-", "-", "-", "-"]),
        ("ended",            successors(|state| state.ended(NextProducer::Told(producer(4)))),
                                                                                     ["-", "-", "-", "-", "Ready", "Ready", "Ready", "Ready", "Ready", "-", "Ready", "Ready", "-"]),
        ("initialized",      successors(|state| state.initialized(producer(4))),     ["-", "Ready", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-"]),
        ("refused",          successors(|state| state.refused(error())),             ["-", "Uninitialized", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-"]),
        ("prepare",          successors(|state| state.prepare(V2)),                  ["-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-"]),
        ("fatal",            successors(|state| state.fatal(error())),               ["FatalError", "FatalError", "FatalError", "FatalError", "FatalError", "FatalError", "FatalError", "FatalError", "FatalError", "FatalError", "FatalError", "FatalError", "-"]),
    ];
    for (event, seen, expected) in table {
        assert_eq!(seen, expected, "{event}");
    }
}

#[test]
fn a_call_that_is_not_allowed_is_refused_and_changes_nothing() {
    for state in states() {
        let before = name(&state);
        let is_open = matches!(state, State::InTransaction(_) | State::AbortableError(..));
        let (after, result) = state.commit(later());
        assert_eq!(result.is_ok(), is_open, "{before}");
        assert_eq!(name(&after) == before, !is_open, "{before}");
    }
    for state in states() {
        let before = name(&state);
        let (_, result) = state.begin(2, V2, EpochReuse::Allowed);
        match before {
            "Ready" => assert!(result.unwrap()),
            "Initializing" | "Delivering" | "Asked" | "Aborting" | "CommitFailed" | "Settling"
            | "OutcomeUnknown" | "Inquiring" => {
                assert!(!result.unwrap(), "{before} is waited for");
            }
            _ => assert!(result.is_err(), "{before}"),
        }
    }
}

#[test]
fn an_answer_that_leaves_a_commit_open_is_remembered() {
    let state = State::CommittingTransaction(open(V1), asked(EarlierAttempts::Answered));
    let State::CommittingTransaction(open, Commit::Asked { earlier, .. }) = state.ending_in_doubt() else {
        panic!("another state");
    };
    assert_eq!(earlier, EarlierAttempts::Indefinite);
    assert!(open.needs_new_epoch());
}

#[test]
fn the_epoch_after_a_transaction() {
    let ended =
        |open: OpenTransaction, next| State::CommittingTransaction(open, Commit::Delivering).ended(next);
    let spoiled = |version| {
        let mut open = open(version);
        open.forbid_reuse();
        open
    };
    for (open, next, claim, epoch) in [
        (open(V1), NextProducer::Same, None, 3),
        (spoiled(V1), NextProducer::Same, Some(3), 3),
        (spoiled(V2), NextProducer::Same, None, 3),
        (open(V2), NextProducer::Told(producer(4)), None, 4),
        (open(V2), NextProducer::ToBeAsked, Some(3), 3),
        (
            open(V2),
            NextProducer::Told(producer(i16::MAX - 1)),
            Some(i16::MAX - 1),
            0,
        ),
    ] {
        match (ended(open, next), claim) {
            (State::Ready(ready), None) => assert_eq!(ready.producer, producer(epoch)),
            (State::Initializing(held), Some(claim)) => assert_eq!(held, producer(claim)),
            (other, _) => panic!("{next:?} led to {other:?}"),
        }
    }
}

#[test]
fn a_plain_producers_bump_is_of_the_epoch_that_lost_numbers_and_no_other() {
    let bumped = |state: State, lost| match state.bump_epoch(producer(lost)) {
        State::Ready(ready) => Some(ready.producer.epoch.0),
        State::Initializing(claim) => {
            assert_eq!(claim, ProducerIdAndEpoch::NONE);
            None
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(bumped(ready(None), 3), Some(4));
    assert_eq!(bumped(ready(None), 2), Some(3), "a failure of an older epoch");
    let last = State::Ready(Ready {
        producer: producer(i16::MAX),
        last: None,
    });
    assert_eq!(bumped(last, i16::MAX), None);
}

#[test]
fn a_v2_transaction_after_v1_needs_a_new_epoch_and_no_other_change_does() {
    for (last, next, is_outdated) in [
        (None, V2, false),
        (Some(V1), V1, false),
        (Some(V1), V2, true),
        (Some(V2), V1, false),
        (Some(V2), V2, false),
    ] {
        let prepared = name(&ready(last).prepare(next));
        assert_eq!(prepared == "Initializing", is_outdated, "{last:?} {next:?}");
        let (_, begun) = ready(last).begin(1, next, EpochReuse::Allowed);
        assert_eq!(begun.unwrap(), !is_outdated, "{last:?} {next:?}");
    }
}

#[test]
fn what_there_is_to_end() {
    let partition = TopicPartition::new("t", 0);
    let mut v1 = open(V1);
    v1.use_partition(partition.clone());
    assert_eq!(v1.basis(), None, "only wished for");
    assert!(!v1.may_write(&partition));
    v1.adding_in_doubt(Doubt::Denied);
    assert!(!v1.adding_may_arrive());
    v1.adding_in_doubt(Doubt::Unanswered);
    v1.adding_in_doubt(Doubt::Denied);
    assert!(v1.adding_may_arrive());
    assert_eq!(v1.basis(), Some(AbortBasis::Doubtful));
    v1.partitions_added([partition.clone()]);
    assert_eq!(v1.basis(), Some(AbortBasis::Registered));
    assert!(v1.may_write(&partition));
    assert!(v1.pending().is_none());
    v1.use_partition(partition.clone());
    assert!(v1.pending().is_none(), "it is part of the transaction already");

    let mut v2 = open(V2);
    v2.use_partition(partition.clone());
    assert_eq!(v2.basis(), None);
    assert!(v2.may_write(&partition));
    v2.write_attempted();
    assert_eq!(v2.basis(), Some(AbortBasis::Registered));
    let settling = Abort {
        cause: AbortCause::Settling,
        ended: EndedBefore::Maybe,
        fencing: Fencing::NotSaid,
    };
    assert_eq!(settling.basis(&v2), Some(AbortBasis::Doubtful));
}
