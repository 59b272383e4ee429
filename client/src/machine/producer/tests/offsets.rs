//! Offsets of consumer groups in a transaction, request by request.

use std::time::Duration;

use sealwax_protocol::error_code::ErrorCode;

use crate::error::ErrorKind;
use crate::machine::CoordinatorKind;
use crate::machine::Directive;
use crate::machine::Machine;
use crate::machine::testing::coordinator::Phase;
use crate::machine::testing::faults::Fault;
use crate::machine::testing::harness::Harness;
use crate::machine::transaction::Verdict;
use crate::offsets::{ConsumerGroupMetadata, OffsetAndMetadata};
use sealwax_protocol::ids::TopicPartition;

const V1: i16 = 0;
const V2: i16 = 2;
const BOTH: [i16; 2] = [V1, V2];

fn group() -> ConsumerGroupMetadata {
    ConsumerGroupMetadata::new("g")
}

fn started(version: i16) -> (Harness, u64) {
    let mut harness = Harness::transactional(version);
    harness.take_sent();
    let serial = harness.begin().unwrap();
    (harness, serial)
}

/// Queues offsets without waiting for them.
fn queue(harness: &mut Harness, offset: i64) -> u64 {
    let offsets = [(TopicPartition::new("in", 0), OffsetAndMetadata::new(offset))].into();
    harness
        .machine
        .send_offsets(harness.now, offsets, group())
        .unwrap()
}

#[test]
fn they_are_committed_and_aborted_with_the_transaction() {
    for (version, requests) in [
        (
            V1,
            vec![
                "AddOffsetsToTxn",
                "TxnOffsetCommit",
                "TxnOffsetCommit",
                "EndTxn(commit)",
            ],
        ),
        (V2, vec!["TxnOffsetCommit", "TxnOffsetCommit", "EndTxn(commit)"]),
    ] {
        let (mut harness, serial) = started(version);
        harness.send_offset(5, group()).unwrap();
        harness.send_offset(7, group()).unwrap();
        assert_eq!(harness.model.offsets.get("g"), None);
        assert!(matches!(harness.commit(serial), Verdict::Committed));
        assert_eq!(harness.take_sent(), requests, "the group is added once");
        assert_eq!(harness.model.offsets.get("g"), Some(&7));

        let serial = harness.begin().unwrap();
        harness.send_offset(9, group()).unwrap();
        assert!(matches!(harness.abort(serial), Verdict::Aborted(_)));
        let sent = harness.take_sent();
        assert_eq!(sent.last(), Some(&"EndTxn(abort)"), "{sent:?}");
        assert_eq!(harness.model.offsets.get("g"), Some(&7));
    }
}

#[test]
fn partitions_come_first_and_a_commit_waits_for_offsets_that_nobody_waits_for() {
    for (version, requests) in [
        (
            V1,
            vec![
                "AddPartitionsToTxn",
                "Produce",
                "AddOffsetsToTxn",
                "TxnOffsetCommit",
                "EndTxn(commit)",
            ],
        ),
        (V2, vec!["TxnOffsetCommit", "Produce", "EndTxn(commit)"]),
    ] {
        let (mut harness, serial) = started(version);
        harness.append(0, Some(serial)).unwrap();
        queue(&mut harness, 5);
        assert!(matches!(harness.commit(serial), Verdict::Committed));
        let mut sent = harness.take_sent();
        if version == V1 {
            // The record and the group go at the same time, over different connections.
            sent.sort_by_key(|name| requests.iter().position(|of| of == name));
        }
        assert_eq!(sent, requests);
        assert_eq!(harness.model.offsets.get("g"), Some(&5));
    }
}

#[test]
fn an_abort_drops_what_waits_and_awaits_what_is_on_the_wire() {
    let (mut harness, serial) = started(V2);
    queue(&mut harness, 5);
    harness.collect();
    queue(&mut harness, 6);
    harness.machine.abort(harness.now).unwrap();
    harness.collect();
    assert_eq!(harness.take_sent(), ["TxnOffsetCommit"], "EndTxn waits for it");
    assert!(matches!(harness.verdict(serial), Verdict::Aborted(_)));
    assert_eq!(harness.take_sent(), ["EndTxn(abort)"]);
    assert_ne!(harness.model.coordinator.phase, Phase::Ongoing);
}

#[test]
fn a_refusal_makes_the_transaction_abortable_and_says_what_it_means() {
    for version in BOTH {
        for (code, kind, named) in [
            (ErrorCode::ILLEGAL_GENERATION, ErrorKind::CommitFailed, "group g"),
            (ErrorCode::UNKNOWN_MEMBER_ID, ErrorKind::CommitFailed, "group g"),
            (ErrorCode::FENCED_INSTANCE_ID, ErrorKind::CommitFailed, "group g"),
            (
                ErrorCode::GROUP_AUTHORIZATION_FAILED,
                ErrorKind::Authorization,
                "--operation Read --group g",
            ),
            (
                ErrorCode::TOPIC_AUTHORIZATION_FAILED,
                ErrorKind::Authorization,
                "--operation Read --topic in",
            ),
            (
                ErrorCode::TRANSACTION_ABORTABLE,
                ErrorKind::TransactionAbortable,
                "in-0",
            ),
        ] {
            let (mut harness, serial) = started(version);
            let mut faults = vec![Fault::Says(code)];
            if version == V1 {
                faults.insert(0, Fault::None);
            }
            harness.faults = faults.into();
            let error = harness.send_offset(5, group()).unwrap_err();
            assert_eq!((error.kind(), error.code()), (kind, Some(code)));
            assert!(
                error.requires_abort() && !error.is_retriable() && !error.is_fatal(),
                "{error:?}"
            );
            assert!(error.to_string().contains(named), "{error}");
            assert!(harness.append(0, Some(serial)).unwrap_err().requires_abort());
            assert!(matches!(harness.abort(serial), Verdict::Aborted(_)));
            // The producer goes on.
            let serial = harness.begin().unwrap();
            harness.send_offset(6, group()).unwrap();
            assert!(matches!(harness.commit(serial), Verdict::Committed));
            assert_eq!(harness.model.offsets.get("g"), Some(&6));
        }
    }
}

#[test]
fn a_group_that_may_not_be_added_is_named() {
    let (mut harness, serial) = started(V1);
    harness.faults = vec![Fault::Says(ErrorCode::GROUP_AUTHORIZATION_FAILED)].into();
    let error = harness.send_offset(5, group()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Authorization);
    assert!(error.to_string().contains("User:ANONYMOUS lacks"), "{error}");
    assert!(matches!(harness.abort(serial), Verdict::Aborted(_)));
    assert_eq!(harness.take_sent(), ["AddOffsetsToTxn"], "nothing to end");
}

#[test]
fn a_groups_coordinator_that_moved_is_looked_up_again() {
    for fault in [
        Fault::Says(ErrorCode::NOT_COORDINATOR),
        Fault::Says(ErrorCode::REQUEST_TIMED_OUT),
        Fault::RequestLost,
        Fault::NotSent,
    ] {
        let (mut harness, serial) = started(V2);
        let number = queue(&mut harness, 5);
        let request = harness.machine.poll_request(harness.now).unwrap();
        harness.faults = vec![fault].into();
        let result = harness.answer(&request);
        harness.machine.handle_response(harness.now, request.id, result);
        let directives: Vec<_> = std::iter::from_fn(|| harness.machine.poll_directive()).collect();
        let forget = Directive::ForgetCoordinator(CoordinatorKind::Group, "g".into());
        assert!(directives.contains(&forget), "{fault:?}: {directives:?}");
        assert_eq!(
            harness.machine.offsets_accepted(number).map(|ok| ok.is_ok()),
            None
        );
        assert!(matches!(harness.commit(serial), Verdict::Committed));
        assert_eq!(harness.model.offsets.get("g"), Some(&5));
    }
}

#[test]
fn a_groups_coordinator_that_is_gone_for_too_long_makes_the_transaction_abortable() {
    for (version, fault) in [
        (V1, Fault::RequestLost),
        (V2, Fault::RequestLost),
        (V2, Fault::Says(ErrorCode::COORDINATOR_NOT_AVAILABLE)),
    ] {
        let (mut harness, serial) = started(version);
        harness.faults = vec![fault; 2000].into();
        let asked = harness.now;
        let error = harness.send_offset(5, group()).unwrap_err();
        let waited = harness.now - asked;
        assert!(
            waited >= Duration::from_secs(60) && waited < Duration::from_secs(62),
            "{waited:?}"
        );
        assert_eq!(error.kind(), ErrorKind::Timeout);
        assert!(
            error.requires_abort() && error.to_string().contains("group g"),
            "{error:?}"
        );
        harness.faults.clear();
        assert!(matches!(harness.abort(serial), Verdict::Aborted(_)));
        let serial = harness.begin().unwrap();
        harness.send_offset(6, group()).unwrap();
        assert!(matches!(harness.commit(serial), Verdict::Committed));
    }
}

#[test]
fn under_v1_offsets_of_unknown_fate_cost_the_epoch_and_under_v2_not() {
    for fault in [Fault::RequestLost, Fault::AnswerLost] {
        for lost in ["AddOffsetsToTxn", "TxnOffsetCommit"] {
            let (mut harness, serial) = started(V1);
            harness.faults = match lost {
                "AddOffsetsToTxn" => vec![fault],
                _ => vec![Fault::None, fault],
            }
            .into();
            harness.send_offset(5, group()).unwrap();
            assert!(matches!(harness.commit(serial), Verdict::Committed));
            harness.begin().unwrap();
            assert_eq!(harness.take_sent().last(), Some(&"InitProducerId"), "{lost}");
        }
        let (mut harness, serial) = started(V2);
        harness.faults = vec![fault].into();
        harness.send_offset(5, group()).unwrap();
        assert!(matches!(harness.commit(serial), Verdict::Committed));
        harness.begin().unwrap();
        assert_eq!(
            harness.take_sent(),
            ["TxnOffsetCommit", "TxnOffsetCommit", "EndTxn(commit)"]
        );
    }
}

#[test]
fn v2_sends_an_abort_even_if_no_offset_arrived() {
    let (mut harness, serial) = started(V2);
    queue(&mut harness, 5);
    harness.faults = vec![Fault::NotSent].into();
    harness.run();
    assert!(matches!(harness.abort(serial), Verdict::Aborted(_)));
    assert_eq!(harness.take_sent(), ["TxnOffsetCommit", "EndTxn(abort)"]);
}

#[test]
fn under_v2_offsets_that_are_refused_by_epoch_leave_it_to_the_coordinator_to_say_why() {
    let (mut harness, serial) = started(V2);
    harness.send_offset(5, group()).unwrap();
    harness.model.time_out();
    let error = harness.send_offset(6, group()).unwrap_err();
    assert!(error.requires_abort(), "{error:?}");
    assert!(matches!(harness.abort(serial), Verdict::Aborted(_)));

    let (mut harness, serial) = started(V2);
    harness.model.coordinator.init((-1, -1));
    assert!(harness.send_offset(5, group()).unwrap_err().requires_abort());
    let Verdict::Fenced(error) = harness.abort(serial) else {
        panic!("not fenced");
    };
    assert!(
        error.is_fatal() && error.to_string().contains("transactional id t "),
        "{error}"
    );
}

#[test]
fn without_an_open_transaction_offsets_are_refused() {
    let (mut harness, serial) = started(V2);
    assert!(matches!(harness.commit(serial), Verdict::Committed));
    let error = harness.send_offset(5, group()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidState);
}
