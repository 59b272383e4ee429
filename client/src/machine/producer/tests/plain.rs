//! Producers without producer id: nothing is asked for one, nothing is recognised, and acks decide what a result means.

use std::time::Duration;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::request::RequestBody;

use crate::config::{Acks, ProducerConfig};
use crate::error::ErrorKind;
use crate::machine::Machine;
use crate::machine::testing::faults::Fault;
use crate::machine::testing::harness::{Harness, config};

fn plain(acks: Acks) -> ProducerConfig {
    ProducerConfig {
        acks,
        enable_idempotence: Some(false),
        linger: Duration::ZERO,
        ..config()
    }
}

/// The acks of the Produce requests that left.
fn acks(harness: &Harness) -> Vec<i16> {
    let acks = harness.sent.iter().map(|outbound| match &outbound.body {
        RequestBody::Produce(request) => {
            assert_eq!(request.transactional_id, None);
            request.acks
        }
        other => panic!("a plain producer sent {other:?}"),
    });
    acks.collect()
}

#[test]
fn no_producer_id_is_asked_for_and_records_go_out_at_once() {
    for (setting, wire) in [(Acks::None, 0), (Acks::Leader, 1), (Acks::All, -1)] {
        let mut harness = Harness::plain(plain(setting));
        let taken = harness.append(0, None).unwrap();
        harness.run();
        assert_eq!(acks(&harness), [wire]);
        assert_eq!(harness.stamps(), [((-1, -1), -1)]);
        let offset = harness.result(taken).as_ref().unwrap().base_offset;
        assert_eq!(offset, (setting != Acks::None).then_some(0));
        assert_eq!(harness.in_log(taken.value).len(), 1);
    }
}

#[test]
fn without_acks_a_record_is_done_when_it_is_written_whatever_the_broker_does() {
    let mut harness = Harness::plain(plain(Acks::None));
    harness.faults = vec![Fault::Says(ErrorCode::NOT_LEADER_OR_FOLLOWER)].into();
    let lost = harness.append(0, None).unwrap();
    harness.run();
    assert_eq!(harness.result(lost).as_ref().unwrap().base_offset, None);
    assert_eq!(harness.in_log(lost.value).len(), 0);
    assert!(harness.machine.is_drained());
    // What did not leave is sent again.
    harness.faults = vec![Fault::NotSent].into();
    let again = harness.append(0, None).unwrap();
    harness.run_for(Duration::from_secs(1));
    assert!(harness.result(again).is_ok());
    assert_eq!(harness.in_log(again.value).len(), 1);
}

#[test]
fn a_batch_whose_answer_was_lost_is_sent_again_and_stands_there_twice() {
    let mut harness = Harness::plain(plain(Acks::Leader));
    harness.faults = vec![Fault::AnswerLost].into();
    let taken = harness.append(0, None).unwrap();
    harness.run_for(Duration::from_secs(1));
    assert!(harness.result(taken).is_ok());
    assert_eq!(harness.in_log(taken.value).len(), 2);
}

#[test]
fn retries_are_counted_but_not_what_never_left() {
    let limited = ProducerConfig {
        retries: 2,
        ..plain(Acks::Leader)
    };
    let not_enough = Fault::Says(ErrorCode::NOT_ENOUGH_REPLICAS);
    let mut harness = Harness::plain(limited.clone());
    harness.faults = vec![Fault::NotSent, not_enough, Fault::NotSent, not_enough].into();
    let taken = harness.append(0, None).unwrap();
    harness.run_for(Duration::from_secs(10));
    assert!(harness.result(taken).is_ok());

    let mut harness = Harness::plain(limited.clone());
    harness.faults = vec![not_enough; 3].into();
    let taken = harness.append(0, None).unwrap();
    harness.run_for(Duration::from_secs(10));
    let error = harness.result(taken).as_ref().unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::NOT_ENOUGH_REPLICAS));
    assert!(error.to_string().contains("3 attempts (retries = 2)"), "{error}");
    assert_eq!(harness.in_log(taken.value).len(), 0);

    let none = ProducerConfig {
        retries: 0,
        enable_idempotence: None,
        ..limited
    };
    let mut harness = Harness::plain(none);
    harness.faults = vec![Fault::AnswerLost].into();
    let taken = harness.append(0, None).unwrap();
    harness.run_for(Duration::from_secs(10));
    let error = harness.result(taken).as_ref().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
    assert_eq!(harness.in_log(taken.value).len(), 1);
}

#[test]
fn what_is_sent_again_may_come_behind_a_later_batch_unless_one_is_in_flight_at_a_time() {
    for (max_in_flight, is_in_order) in [(1, true), (5, false)] {
        let settings = ProducerConfig {
            max_in_flight,
            ..plain(Acks::All)
        };
        let mut harness = Harness::plain(settings);
        harness.faults = vec![Fault::Says(ErrorCode::NOT_ENOUGH_REPLICAS)].into();
        for _ in 0..3 {
            harness.append(0, None).unwrap();
            harness.collect();
        }
        harness.run_for(Duration::from_secs(10));
        let log = harness.model.logs.values().find(|log| !log.entries.is_empty());
        let entries = &log.unwrap().entries;
        assert_eq!(entries.len(), 3);
        assert_eq!(entries.is_sorted_by_key(|entry| entry.value), is_in_order);
    }
}

#[test]
fn more_than_five_may_be_in_flight() {
    let settings = ProducerConfig {
        max_in_flight: 9,
        ..plain(Acks::Leader)
    };
    let mut harness = Harness::plain(settings);
    for _ in 0..20 {
        harness.append(0, None).unwrap();
        harness.collect();
    }
    assert_eq!(harness.take_sent().len(), 9);
}

#[test]
fn what_the_broker_refuses_for_good_concerns_only_its_batch() {
    let mut harness = Harness::plain(plain(Acks::All));
    harness.faults = vec![
        Fault::Says(ErrorCode::INVALID_RECORD),
        Fault::Says(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER),
        Fault::Forgotten(0),
    ]
    .into();
    for _ in 0..3 {
        let lost = harness.append(0, None).unwrap();
        harness.run();
        assert!(harness.result(lost).is_err());
    }
    let next = harness.append(0, None).unwrap();
    harness.run();
    assert!(harness.result(next).is_ok());
    assert!(harness.take_sent().iter().all(|name| *name == "Produce"));
}

#[test]
fn a_producer_that_may_not_use_the_cluster_stops() {
    let mut harness = Harness::plain(plain(Acks::All));
    harness.faults = vec![Fault::Says(ErrorCode::CLUSTER_AUTHORIZATION_FAILED)].into();
    let lost = harness.append(0, None).unwrap();
    harness.run();
    let error = harness.result(lost).as_ref().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Authorization);
    assert_eq!(
        harness.append(0, None).unwrap_err().kind(),
        ErrorKind::Authorization
    );
}
