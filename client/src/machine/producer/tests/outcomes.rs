//! Commits whose outcome is unknown: how it is found out, and that it is never guessed.

use std::time::Duration;

use sealwax_protocol::error_code::ErrorCode;

use crate::error::ErrorKind;
use crate::machine::Machine;
use crate::machine::testing::coordinator::Phase;
use crate::machine::testing::faults::Fault;
use crate::machine::testing::harness::Harness;
use crate::machine::testing::log::Status;
use crate::machine::transaction::{Resolution, Verdict};

const V1: i16 = 0;
const V2: i16 = 2;
const BOTH: [i16; 2] = [V1, V2];

/// A transaction of one record whose commit got no answer until its deadline.
fn unknown(version: i16, fault: Fault) -> (Harness, u64, u64) {
    let mut harness = Harness::transactional(version);
    let serial = harness.begin().unwrap();
    let value = harness.append(0, Some(serial)).unwrap().value;
    harness.run_for(Duration::from_millis(50));
    harness.faults = vec![fault; 2000].into();
    let Verdict::Unknown(error) = harness.commit(serial) else {
        panic!("not unknown");
    };
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
    assert!(error.to_string().contains("resolve()"), "{error}");
    harness.run_for(Duration::from_secs(1));
    harness.take_sent();
    harness.faults.clear();
    (harness, serial, value)
}

fn goes_on(harness: &mut Harness) {
    let serial = harness.begin().unwrap();
    let value = harness.append(0, Some(serial)).unwrap().value;
    assert!(matches!(harness.commit(serial), Verdict::Committed));
    assert_eq!(harness.in_log(value), [Status::Committed]);
}

#[test]
fn nothing_is_sent_until_somebody_wants_to_know_or_to_go_on() {
    for version in BOTH {
        let (mut harness, ..) = unknown(version, Fault::AnswerLost);
        harness.run_for(Duration::from_secs(100));
        assert_eq!(harness.take_sent(), [] as [&str; 0]);
    }
}

#[test]
fn a_commit_that_arrived_is_told_by_the_coordinator() {
    for version in BOTH {
        let (mut harness, _, value) = unknown(version, Fault::AnswerLost);
        assert!(matches!(harness.resolve(), Ok(Resolution::Committed)));
        harness.run();
        assert_eq!(harness.take_sent(), ["DescribeTransactions", "InitProducerId"]);
        assert_eq!(harness.in_log(value), [Status::Committed]);
        assert!(
            matches!(harness.resolve(), Ok(Resolution::Committed)),
            "it is known now"
        );
        goes_on(&mut harness);
    }
}

#[test]
fn a_commit_that_did_not_arrive_is_asked_for_again() {
    for version in BOTH {
        let (mut harness, _, value) = unknown(version, Fault::RequestLost);
        assert!(matches!(harness.resolve(), Ok(Resolution::Committed)));
        let sent = harness.take_sent();
        assert!(
            sent.starts_with(&["DescribeTransactions", "EndTxn(commit)"]),
            "{sent:?}"
        );
        assert_eq!(harness.in_log(value), [Status::Committed]);
        goes_on(&mut harness);
    }
}

#[test]
fn an_abort_by_timeout_is_told_under_v2_and_stays_unknown_under_v1() {
    let (mut harness, _, value) = unknown(V2, Fault::RequestLost);
    harness.model.time_out();
    assert!(matches!(harness.resolve(), Ok(Resolution::Aborted(_))));
    assert_eq!(harness.in_log(value), [Status::Aborted]);
    goes_on(&mut harness);

    // Under V1 the coordinator is at the next epoch then, as after a commit and a takeover.
    let (mut harness, ..) = unknown(V1, Fault::RequestLost);
    harness.model.time_out();
    let Ok(Resolution::Unknown(error)) = harness.resolve() else {
        panic!("not unknown");
    };
    assert!(error.to_string().contains("CompleteAbort"), "{error}");
}

#[test]
fn a_takeover_after_the_commit_leaves_it_unknown() {
    for version in BOTH {
        let (mut harness, ..) = unknown(version, Fault::AnswerLost);
        harness.model.coordinator.init((-1, -1));
        let Ok(Resolution::Unknown(error)) = harness.resolve() else {
            panic!("not unknown");
        };
        assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
        assert_eq!(harness.begin().unwrap_err().kind(), ErrorKind::Fenced);
        assert_eq!(
            harness.resolve().unwrap_err().kind(),
            ErrorKind::Fenced,
            "once fatal, every query says so"
        );
    }
}

#[test]
fn a_question_that_is_not_permitted_is_said_so_and_can_be_asked_again() {
    let (mut harness, ..) = unknown(V2, Fault::AnswerLost);
    harness.faults = vec![Fault::Says(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED)].into();
    let Ok(Resolution::Unknown(error)) = harness.resolve() else {
        panic!("not unknown");
    };
    assert!(
        error
            .to_string()
            .contains("--operation Describe --transactional-id t"),
        "{error}"
    );
    assert!(matches!(harness.resolve(), Ok(Resolution::Committed)));
}

#[test]
fn a_coordinator_that_stays_silent_leaves_it_unknown_in_time() {
    for fault in [
        Fault::RequestLost,
        Fault::NotSent,
        Fault::Says(ErrorCode::NOT_COORDINATOR),
    ] {
        let (mut harness, ..) = unknown(V2, Fault::AnswerLost);
        harness.faults = vec![fault; 2000].into();
        let asked = harness.now;
        assert!(matches!(harness.resolve(), Ok(Resolution::Unknown(_))));
        let waited = harness.now - asked;
        assert!(
            waited >= Duration::from_secs(59) && waited < Duration::from_secs(62),
            "{fault:?}: {waited:?}"
        );
        harness.faults.clear();
        assert!(matches!(harness.resolve(), Ok(Resolution::Committed)));
    }
}

#[test]
fn whoever_goes_on_without_asking_learns_it_from_the_abort() {
    for version in BOTH {
        for (fault, is_committed) in [(Fault::AnswerLost, true), (Fault::RequestLost, false)] {
            let (mut harness, _, value) = unknown(version, fault);
            let serial = harness.begin().unwrap();
            let resolution = harness.resolve().unwrap();
            assert_eq!(
                matches!(resolution, Resolution::Committed),
                is_committed,
                "{resolution:?}"
            );
            assert_eq!(
                matches!(resolution, Resolution::Aborted(_)),
                !is_committed,
                "{resolution:?}"
            );
            let status = if is_committed {
                Status::Committed
            } else {
                Status::Aborted
            };
            assert_eq!(harness.in_log(value), [status]);
            // An aborted transaction in between does not count.
            harness.append(0, Some(serial)).unwrap();
            assert!(matches!(harness.abort(serial), Verdict::Aborted(_)));
            let resolution = harness.resolve().unwrap();
            assert_eq!(matches!(resolution, Resolution::Committed), is_committed);
            goes_on(&mut harness);
            assert!(
                matches!(harness.resolve(), Ok(Resolution::Committed)),
                "that of the last commit"
            );
        }
    }
}

#[test]
fn a_begin_that_is_dropped_has_settled_it() {
    for version in BOTH {
        let (mut harness, ..) = unknown(version, Fault::AnswerLost);
        assert!(harness.machine.begin(harness.now).is_none());
        assert!(matches!(harness.resolve(), Ok(Resolution::Committed)));
        let sent = harness.take_sent();
        assert!(
            sent.starts_with(&["EndTxn(abort)"]) && !sent.contains(&"DescribeTransactions"),
            "{sent:?}"
        );
        goes_on(&mut harness);
    }
}

#[test]
fn a_commit_that_nobody_waited_for_is_told() {
    for version in BOTH {
        let mut harness = Harness::transactional(version);
        let serial = harness.begin().unwrap();
        harness.append(0, Some(serial)).unwrap();
        harness.machine.commit(harness.now).unwrap();
        assert!(matches!(harness.resolve(), Ok(Resolution::Committed)));

        let serial = harness.begin().unwrap();
        harness.append(0, Some(serial)).unwrap();
        harness.faults = vec![Fault::Says(ErrorCode::INVALID_RECORD); 2].into();
        harness.machine.commit(harness.now).unwrap();
        let resolution = harness.resolve();
        assert!(
            matches!(resolution, Ok(Resolution::Aborted(_)) | Err(_)),
            "{resolution:?}"
        );
    }
}

#[test]
fn without_a_commit_there_is_nothing_to_tell() {
    let mut harness = Harness::transactional(V2);
    let serial = harness.begin().unwrap();
    assert!(matches!(harness.abort(serial), Verdict::Aborted(_)));
    assert_eq!(harness.resolve().unwrap_err().kind(), ErrorKind::InvalidState);
}

#[test]
fn closing_puts_an_end_to_it() {
    for version in BOTH {
        let (mut harness, ..) = unknown(version, Fault::RequestLost);
        assert!(!harness.machine.is_idle());
        harness.machine.handle_close(harness.now);
        harness.run_for(Duration::from_secs(2));
        assert!(harness.machine.is_drained());
        assert_eq!(
            harness.model.coordinator.phase,
            if version == V1 {
                Phase::Empty
            } else {
                Phase::CompleteAbort
            }
        );
    }
}
