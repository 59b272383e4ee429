//! Sequences and epochs of a producer when numbers are lost, forgotten, in doubt, or at their end.

use std::time::Duration;

use sealwax_protocol::error_code::ErrorCode;

use crate::config::ProducerConfig;
use crate::error::ErrorKind;
use crate::machine::testing::faults::Fault;
use crate::machine::testing::harness::{Harness, config};
use crate::machine::testing::log::Status;
use crate::machine::testing::model::Model;
use crate::machine::transaction::Verdict;

fn eager() -> ProducerConfig {
    ProducerConfig {
        linger: Duration::ZERO,
        ..config()
    }
}

fn idempotent(settings: ProducerConfig) -> Harness {
    let mut harness = Harness::new(Model::new(2, 4, 0), false, settings, 7);
    harness.run();
    harness.sent.clear();
    harness
}

/// A producer of which partition 0 has a batch, so that more than one goes at a time.
fn introduced(settings: ProducerConfig) -> Harness {
    let mut harness = idempotent(settings);
    harness.append(0, None).unwrap();
    harness.run();
    harness.sent.clear();
    harness
}

#[test]
fn the_first_in_line_that_is_out_of_order_goes_again_in_a_new_epoch_of_its_partition_only() {
    let mut harness = introduced(eager());
    let other = harness.append(1, None).unwrap();
    harness.run();
    harness.sent.clear();
    harness.faults = vec![Fault::Says(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER)].into();
    let refused = harness.append(0, None).unwrap();
    harness.run();
    assert!(harness.result(refused).is_ok());
    assert_eq!(harness.stamps(), [((2, 0), 1), ((2, 1), 0)]);
    assert_eq!(harness.in_log(refused.value), [Status::Committed]);
    assert!(harness.result(other).is_ok());
    // The other partition takes the new epoch when it has nothing under the old one.
    harness.sent.clear();
    harness.append(1, None).unwrap();
    harness.run();
    assert_eq!(harness.stamps(), [((2, 1), 0)]);
}

#[test]
fn a_broker_that_is_never_in_order_is_not_asked_without_end() {
    let settings = ProducerConfig {
        delivery_timeout: Duration::from_secs(20),
        ..eager()
    };
    let mut harness = introduced(settings);
    harness.faults = vec![Fault::Says(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER); 10_000].into();
    let refused = harness.append(0, None).unwrap();
    harness.run_for(Duration::from_secs(30));
    let error = harness.result(refused).as_ref().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(
        error.to_string().contains("OUT_OF_ORDER_SEQUENCE_NUMBER"),
        "{error}"
    );
    assert!(harness.sent.len() < 40, "{} attempts", harness.sent.len());
}

#[test]
fn a_log_that_forgot_the_producer_gets_the_batch_in_a_new_epoch() {
    // By retention, or because it lost records: both are no reason to fail a batch that was refused.
    for log_start in [100, 0] {
        let mut harness = introduced(eager());
        harness.faults = vec![Fault::Forgotten(log_start)].into();
        let refused = harness.append(0, None).unwrap();
        harness.run();
        assert!(harness.result(refused).is_ok());
        assert_eq!(harness.stamps(), [((2, 0), 1), ((2, 1), 0)]);
    }
    // As long as the broker does not know where its log begins, it is asked again.
    let mut harness = introduced(eager());
    harness.faults = vec![Fault::Forgotten(-1)].into();
    harness.append(0, None).unwrap();
    harness.run_for(Duration::from_secs(1));
    assert_eq!(harness.stamps(), [((2, 0), 1), ((2, 0), 1)]);
}

#[test]
fn a_batch_that_may_be_in_a_log_that_forgot_the_producer_is_not_numbered_anew() {
    let mut harness = introduced(eager());
    harness.faults = vec![Fault::AnswerLost, Fault::Forgotten(0)].into();
    let doubtful = harness.append(0, None).unwrap();
    harness.run_for(Duration::from_secs(2));
    let error = harness.result(doubtful).as_ref().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
    assert_eq!(harness.in_log(doubtful.value).len(), 1);
}

#[test]
fn in_a_transaction_retention_is_harmless_and_a_lost_log_is_not() {
    for (log_start, is_committed) in [(100, true), (0, false)] {
        let mut harness = Harness::transactional(0);
        let serial = harness.begin().unwrap();
        harness.append(0, Some(serial)).unwrap();
        assert!(matches!(harness.commit(serial), Verdict::Committed));
        let serial = harness.begin().unwrap();
        harness.append(0, Some(serial)).unwrap();
        harness.sent.clear();
        // AddPartitionsToTxn comes first.
        harness.faults = vec![Fault::None, Fault::Forgotten(log_start)].into();
        let verdict = harness.commit(serial);
        assert_eq!(matches!(verdict, Verdict::Committed), is_committed, "{verdict:?}");
        if is_committed {
            let stamps = harness.stamps();
            assert_eq!(stamps[0].0, stamps[1].0, "the same epoch");
            assert_eq!((stamps[0].1, stamps[1].1), (1, 0));
        }
        let serial = harness.begin().unwrap();
        harness.append(0, Some(serial)).unwrap();
        assert!(matches!(harness.commit(serial), Verdict::Committed));
    }
}

#[test]
fn in_a_transaction_only_the_first_write_of_a_partition_is_sent_again_when_it_is_out_of_order() {
    let out_of_order = Fault::Says(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
    // The broker could not verify the partition in time (KAFKA-14920).
    let mut harness = Harness::transactional(2);
    let serial = harness.begin().unwrap();
    harness.append(0, Some(serial)).unwrap();
    harness.faults = vec![out_of_order; 2].into();
    assert!(matches!(harness.commit(serial), Verdict::Committed));
    // It never can.
    let serial = harness.begin().unwrap();
    harness.append(0, Some(serial)).unwrap();
    harness.faults = vec![out_of_order; 6].into();
    assert!(matches!(harness.commit(serial), Verdict::Aborted(_)));
    // A later write is refused because records are lost.
    harness.faults.clear();
    let serial = harness.begin().unwrap();
    harness.append(0, Some(serial)).unwrap();
    harness.run_for(Duration::from_millis(50));
    harness.append(0, Some(serial)).unwrap();
    harness.faults = vec![out_of_order].into();
    assert!(matches!(harness.commit(serial), Verdict::Aborted(_)));
}

#[test]
fn what_expired_on_the_wire_costs_no_epoch_if_a_later_batch_shows_that_it_was_written() {
    for (fault, epoch) in [(Fault::AnswerLost, 0), (Fault::RequestLost, 1)] {
        let settings = ProducerConfig {
            delivery_timeout: Duration::from_secs(1),
            ..eager()
        };
        let mut harness = introduced(settings);
        let expiring = harness.append(0, None).unwrap();
        harness.collect();
        harness.now += Duration::from_millis(950);
        let behind = harness.append(0, None).unwrap();
        harness.collect();
        harness.faults = vec![fault].into();
        harness.deliver_one();
        // The first is to be sent again but out of time, the second is on the wire.
        harness.now += Duration::from_millis(50);
        harness.collect();
        let error = harness.result(expiring).as_ref().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
        harness.sent.clear();
        harness.append(0, None).unwrap();
        harness.collect();
        assert_eq!(harness.sent.len(), 0, "it is not known yet");
        harness.run();
        let next = harness.append(0, None).unwrap();
        harness.run_for(Duration::from_secs(2));
        assert!(harness.result(next).is_ok());
        assert_eq!(
            harness.stamps().last().unwrap().0,
            (2, epoch),
            "{:?} {:?}",
            harness.stamps(),
            harness.result(behind)
        );
        for record in &harness.taken {
            let written = harness.in_log(record.value).len();
            match harness.result(*record) {
                Ok(_) => assert_eq!(written, 1),
                Err(error) if error.kind() == ErrorKind::OutcomeUnknown => assert!(written <= 1),
                Err(_) => assert_eq!(written, 0),
            }
        }
    }
}

#[test]
fn what_expired_without_being_sent_leaves_no_gap() {
    let settings = ProducerConfig {
        max_in_flight: 1,
        delivery_timeout: Duration::from_millis(50),
        ..eager()
    };
    let mut harness = introduced(settings);
    harness.append(0, None).unwrap();
    harness.collect();
    let never_sent = harness.append(0, None).unwrap();
    harness.now += Duration::from_millis(60);
    harness.collect();
    let error = harness.result(never_sent).as_ref().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    harness.run();
    harness.sent.clear();
    harness.append(0, None).unwrap();
    harness.run();
    assert_eq!(harness.stamps(), [((2, 0), 2)]);
}

#[test]
fn a_partition_without_writes_for_an_hour_gets_a_new_epoch() {
    let mut harness = introduced(eager());
    harness.run_for(Duration::from_secs(59 * 60));
    harness.append(0, None).unwrap();
    harness.run();
    assert_eq!(harness.stamps(), [((2, 0), 1)]);
    harness.sent.clear();
    harness.run_for(Duration::from_secs(60 * 60));
    let late = harness.append(0, None).unwrap();
    harness.run();
    assert!(harness.result(late).is_ok());
    assert_eq!(harness.stamps(), [((2, 1), 0)]);
}

#[test]
fn at_the_end_of_the_epochs_there_is_a_new_producer_id() {
    let mut model = Model::new(2, 4, 0);
    model.plain_epoch = i16::MAX - 2;
    let mut harness = Harness::new(model, false, eager(), 7);
    harness.append(0, None).unwrap();
    harness.run();
    for _ in 0..3 {
        harness.append(0, None).unwrap();
        harness.collect();
        harness.faults = vec![Fault::Says(ErrorCode::INVALID_RECORD)].into();
        harness.run();
    }
    let next = harness.append(0, None).unwrap();
    harness.run();
    assert!(harness.result(next).is_ok());
    let max = i16::MAX;
    assert_eq!(
        harness.stamps(),
        [
            ((2, max - 2), 0),
            ((2, max - 2), 1),
            ((2, max - 1), 0),
            ((2, max), 0),
            ((3, 0), 0)
        ]
    );
    let sent = harness.take_sent();
    assert_eq!(sent[..1], ["InitProducerId"]);
    assert_eq!(sent[5..], ["InitProducerId", "Produce"]);
}

#[test]
fn a_repeat_that_the_broker_recognises_is_a_success_without_offset() {
    let mut harness = introduced(eager());
    harness.faults = vec![
        Fault::AnswerLost,
        Fault::Says(ErrorCode::DUPLICATE_SEQUENCE_NUMBER),
    ]
    .into();
    let taken = harness.append(0, None).unwrap();
    harness.run_for(Duration::from_secs(1));
    assert_eq!(harness.result(taken).as_ref().unwrap().base_offset, None);
    let next = harness.append(0, None).unwrap();
    harness.run();
    assert_eq!(harness.result(next).as_ref().unwrap().base_offset, Some(2));
}

#[test]
fn a_log_that_may_still_have_a_record_of_unknown_offset_is_not_taken_for_emptied() {
    let mut harness = Harness::transactional(2);
    let serial = harness.begin().unwrap();
    harness.append(0, Some(serial)).unwrap();
    harness.run_for(Duration::from_millis(50));
    harness.append(0, Some(serial)).unwrap();
    harness.faults = vec![
        Fault::AnswerLost,
        Fault::Says(ErrorCode::DUPLICATE_SEQUENCE_NUMBER),
    ]
    .into();
    harness.run_for(Duration::from_secs(1));
    harness.append(0, Some(serial)).unwrap();
    // The first record's offset is below, that of the second is not known.
    harness.faults = vec![Fault::Forgotten(1)].into();
    let verdict = harness.commit(serial);
    assert!(matches!(verdict, Verdict::Aborted(_)), "{verdict:?}");
}
