//! What a producer lives through: features that rise and fall, brokers that lag behind, epochs, timeouts, late requests.

use std::time::Duration;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::request::RequestBody;

use crate::config::{EpochBump, ProducerConfig};
use crate::error::{Error, ErrorKind};
use crate::machine::testing::faults::Fault;
use crate::machine::testing::harness::{Harness, config};
use crate::machine::testing::log::Status;
use crate::machine::testing::model::Model;
use crate::machine::transaction::Verdict;
use crate::machine::{Machine, RequestFailure};
use crate::offsets::ConsumerGroupMetadata;

const V1: i16 = 0;
const V2: i16 = 2;

fn commit_one(harness: &mut Harness) {
    let serial = harness.begin().unwrap();
    let value = harness.append(0, Some(serial)).unwrap().value;
    assert!(matches!(harness.commit(serial), Verdict::Committed));
    assert_eq!(harness.in_log(value), [Status::Committed]);
}

#[test]
fn an_epoch_for_every_v1_transaction_is_had_for_one_request() {
    let settings = ProducerConfig {
        epoch_bump: EpochBump::EveryTransaction,
        ..config()
    };
    let mut harness = Harness::new(Model::new(V1, 4, 0), true, settings.clone(), 7);
    harness.run();
    harness.take_sent();
    for epoch in [1, 2] {
        harness.sent.clear();
        commit_one(&mut harness);
        assert_eq!(harness.stamps(), [((1000, epoch), 0)]);
        harness.run();
        assert_eq!(
            harness.take_sent(),
            [
                "AddPartitionsToTxn",
                "Produce",
                "EndTxn(commit)",
                "InitProducerId"
            ]
        );
    }
    // A transaction that the coordinator knows nothing of needs none.
    let serial = harness.begin().unwrap();
    assert!(matches!(harness.commit(serial), Verdict::Committed));
    harness.run();
    assert_eq!(harness.take_sent(), [] as [&str; 0]);

    let mut harness = Harness::new(Model::new(V2, 4, 0), true, settings, 7);
    harness.run();
    harness.take_sent();
    commit_one(&mut harness);
    harness.run();
    assert_eq!(
        harness.take_sent(),
        ["Produce", "EndTxn(commit)"],
        "V2 has it anyway"
    );
}

#[test]
fn a_feature_that_is_lowered_makes_the_next_transaction_v1_in_the_same_epoch() {
    let mut harness = Harness::transactional(V2);
    let serial = harness.begin().unwrap();
    harness.append(0, Some(serial)).unwrap();
    harness.take_sent();
    harness.model.transaction_version = V1;
    harness.machine.handle_cluster(harness.now, &harness.model.view());
    assert!(matches!(harness.commit(serial), Verdict::Committed));
    assert_eq!(
        harness.take_sent(),
        ["Produce", "EndTxn(commit)"],
        "the open transaction stays as it is"
    );
    commit_one(&mut harness);
    assert_eq!(harness.stamps(), [((1000, 2), 0)], "the epoch that EndTxn told");
    assert_eq!(
        harness.take_sent(),
        ["AddPartitionsToTxn", "Produce", "EndTxn(commit)"]
    );
}

#[test]
fn a_broker_that_lags_behind_makes_the_transaction_abortable_and_nothing_is_downgraded() {
    for with_offsets in [false, true] {
        let mut harness = Harness::transactional(V2);
        let serial = harness.begin().unwrap();
        if with_offsets {
            let offsets = [(
                sealwax_protocol::ids::TopicPartition::new("in", 0),
                crate::offsets::OffsetAndMetadata::new(1),
            )];
            let group = ConsumerGroupMetadata::new("g");
            harness
                .machine
                .send_offsets(harness.now, offsets.into(), group)
                .unwrap();
        } else {
            harness.append(0, Some(serial)).unwrap();
            harness.machine.flush();
        }
        let request = harness.machine.poll_request(harness.now).unwrap();
        assert!(matches!(
            request.body,
            RequestBody::Produce(_) | RequestBody::TxnOffsetCommit(_)
        ));
        let lacks = Error::new(ErrorKind::UnsupportedVersion, "the broker does not speak it");
        let failure = RequestFailure::NotSent(lacks);
        harness
            .machine
            .handle_response(harness.now, request.id, Err(failure));
        let error = harness.append(1, Some(serial)).unwrap_err();
        assert!(error.requires_abort(), "{error:?}");
        harness.take_sent();
        assert!(matches!(harness.abort(serial), Verdict::Aborted(_)));
        assert_eq!(harness.take_sent(), ["EndTxn(abort)"]);
        commit_one(&mut harness);
    }
}

#[test]
fn under_v1_a_late_adding_is_swept_away_before_the_new_epoch_is_asked_for() {
    let mut harness = Harness::transactional(V1);
    harness.take_sent();
    let serial = harness.begin().unwrap();
    harness.append(0, Some(serial)).unwrap();
    harness.collect();
    let late = harness.sent[0].clone();
    harness.faults = vec![Fault::RequestLost].into();
    assert!(matches!(harness.commit(serial), Verdict::Committed));
    // It arrives between the commit and what follows.
    harness.model.handle(&late);
    commit_one(&mut harness);
    assert_eq!(
        harness.take_sent(),
        [
            "AddPartitionsToTxn",
            "AddPartitionsToTxn",
            "Produce",
            "EndTxn(commit)",
            "EndTxn(abort)",
            "InitProducerId",
            "AddPartitionsToTxn",
            "Produce",
            "EndTxn(commit)"
        ]
    );
}

#[test]
fn under_v2_an_abort_that_meets_anothers_commit_is_a_fencing() {
    let mut harness = Harness::transactional(V2);
    let serial = harness.begin().unwrap();
    harness.append(0, Some(serial)).unwrap();
    harness.faults = vec![
        Fault::Says(ErrorCode::INVALID_RECORD),
        Fault::Says(ErrorCode::INVALID_TXN_STATE),
    ]
    .into();
    let Verdict::Fenced(error) = harness.commit(serial) else {
        panic!("not fenced");
    };
    assert!(error.to_string().contains("newer producer"), "{error}");
}

#[test]
fn a_producer_stands_back_for_another_but_not_after_its_own_timeout() {
    for overdue in [false, true] {
        let mut harness = Harness::transactional(V2);
        let serial = harness.begin().unwrap();
        harness.append(0, Some(serial)).unwrap();
        harness.run_for(Duration::from_millis(50));
        if overdue {
            harness.run_for(Duration::from_secs(61));
        }
        harness.model.time_out();
        let ended = harness.now;
        let Verdict::Aborted(error) = harness.commit(serial) else {
            panic!("not aborted");
        };
        assert_eq!(
            error.to_string().contains("the transaction was open for 61"),
            overdue,
            "{error}"
        );
        harness.begin().unwrap();
        let waited = harness.now - ended;
        assert_eq!(waited < Duration::from_millis(50), overdue, "{waited:?}");
    }
}

#[test]
fn a_v1_producer_that_was_fenced_by_its_timeout_names_the_setting() {
    let mut harness = Harness::transactional(V1);
    let serial = harness.begin().unwrap();
    harness.append(0, Some(serial)).unwrap();
    harness.run_for(Duration::from_secs(61));
    harness.model.time_out();
    let Verdict::Fenced(error) = harness.commit(serial) else {
        panic!("not fenced");
    };
    let text = error.to_string();
    assert!(text.contains("transaction.timeout.ms = 60000"), "{text}");
    assert!(text.contains("transactional id t") && error.is_fatal(), "{text}");
}

#[test]
fn a_timeout_is_waited_for_without_spinning() {
    let mut harness = Harness::transactional(V1);
    let serial = harness.begin().unwrap();
    assert_eq!(
        harness.machine.poll_timeout(),
        None,
        "the coordinator's clock does not run"
    );
    harness.append(0, Some(serial)).unwrap();
    harness.run_for(Duration::from_millis(50));
    let begun = harness.now;
    let warning = harness.machine.poll_timeout().unwrap() - begun;
    assert!(
        warning > Duration::from_secs(47) && warning <= Duration::from_secs(48),
        "four fifths of it: {warning:?}"
    );
    harness.run_for(Duration::from_secs(49));
    let strikes = harness.machine.poll_timeout().unwrap() - begun;
    assert!(
        strikes > Duration::from_secs(59) && strikes <= Duration::from_secs(60),
        "{strikes:?}"
    );
    harness.run_for(Duration::from_secs(20));
    let next = harness.machine.poll_timeout();
    assert!(next.is_none_or(|at| at > harness.now), "it would spin");
    // What was delivered in time may be committed still: the coordinator decides.
    assert!(matches!(harness.commit(serial), Verdict::Committed));
}

#[test]
fn nothing_is_said_to_be_retriable_once_the_producer_is_beyond_use() {
    let mut harness = Harness::new(Model::new(V2, 1, 0), true, config(), 7);
    harness.faults = vec![Fault::Says(ErrorCode::INVALID_TRANSACTION_TIMEOUT)].into();
    harness.run();
    let error = harness.machine.initialized().unwrap().unwrap_err();
    assert!(error.is_fatal() && !error.is_retriable());
    assert!(
        error.to_string().contains("transaction.max.timeout.ms"),
        "{error}"
    );
    assert!(harness.begin().unwrap_err().is_fatal());
}
