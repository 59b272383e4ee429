//! The paths of the protocol, request by request.

use std::time::Duration;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::request::RequestBody;

use crate::config::ProducerConfig;
use crate::error::{Error, ErrorKind};
use crate::machine::testing::coordinator::Phase;
use crate::machine::testing::faults::{DENIALS, Fault};
use crate::machine::testing::harness::{Harness, config};
use crate::machine::testing::log::Status;
use crate::machine::testing::model::Model;
use crate::machine::transaction::{Resolution, Verdict};
use crate::machine::{Machine, RequestFailure};

const V1: i16 = 0;
const V2: i16 = 2;
const BOTH: [i16; 2] = [V1, V2];

fn started(version: i16) -> (Harness, u64) {
    let mut harness = Harness::transactional(version);
    harness.take_sent();
    let serial = harness.begin().unwrap();
    (harness, serial)
}

fn lasting(fault: Fault) -> Vec<Fault> {
    vec![fault; 2000]
}

#[test]
fn v1_adds_partitions_first_and_goes_on_with_sequences_in_the_same_epoch() {
    let (mut harness, serial) = started(V1);
    let first = harness.append(0, Some(serial)).unwrap();
    harness.append(1, Some(serial)).unwrap();
    harness.append(2, Some(serial)).unwrap();
    assert!(matches!(harness.commit(serial), Verdict::Committed));
    let stamps = harness.stamps();
    assert_eq!(
        harness.take_sent(),
        ["AddPartitionsToTxn", "Produce", "Produce", "EndTxn(commit)"],
        "all partitions in one request, one Produce per node"
    );
    assert_eq!(harness.in_log(first.value), [Status::Committed]);
    assert_eq!(harness.result(first).as_ref().unwrap().base_offset, Some(0));

    let serial = harness.begin().unwrap();
    harness.append(0, Some(serial)).unwrap();
    assert!(matches!(harness.commit(serial), Verdict::Committed));
    assert_eq!(harness.stamps(), [(stamps[0].0, 1)]);
    assert_eq!(
        harness.take_sent(),
        ["AddPartitionsToTxn", "Produce", "EndTxn(commit)"]
    );
}

#[test]
fn v2_adds_nothing_and_starts_each_transaction_in_an_epoch_of_its_own() {
    let (mut harness, serial) = started(V2);
    harness.append(0, Some(serial)).unwrap();
    assert!(matches!(harness.commit(serial), Verdict::Committed));
    let (producer, _) = harness.stamps()[0];
    let versions: Vec<_> = harness.sent.iter().map(|outbound| outbound.versions).collect();
    assert_eq!((versions[0].min, versions[1].min), (12, 5));
    assert_eq!(harness.take_sent(), ["Produce", "EndTxn(commit)"]);

    let serial = harness.begin().unwrap();
    harness.append(0, Some(serial)).unwrap();
    assert!(matches!(harness.abort(serial), Verdict::Aborted(_)));
    let serial = harness.begin().unwrap();
    harness.append(0, Some(serial)).unwrap();
    assert!(matches!(harness.commit(serial), Verdict::Committed));
    // The aborted transaction never left, so that it needed no EndTxn.
    assert_eq!(harness.stamps(), [((producer.0, producer.1 + 1), 0)]);
}

#[test]
fn a_transaction_without_records_needs_no_request() {
    for version in BOTH {
        let (mut harness, serial) = started(version);
        assert!(matches!(harness.commit(serial), Verdict::Committed));
        let serial = harness.begin().unwrap();
        assert!(matches!(harness.abort(serial), Verdict::Aborted(_)));
        assert_eq!(harness.take_sent(), [] as [&str; 0]);
    }
}

#[test]
fn an_abort_fails_what_was_not_sent_and_awaits_what_was() {
    for version in BOTH {
        let (mut harness, serial) = started(version);
        let sent = harness.append(0, Some(serial)).unwrap();
        if version == V1 {
            harness.run();
        }
        harness.now += Duration::from_millis(5);
        harness.collect();
        harness.take_sent();
        let unsent = harness.append(1, Some(serial)).unwrap();
        harness.machine.abort(harness.now).unwrap();
        harness.collect();
        assert_eq!(
            harness.take_sent(),
            [] as [&str; 0],
            "EndTxn waits for the batch on the wire"
        );
        let error = harness.result(unsent).as_ref().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TransactionAborted);
        assert!(!harness.results.contains_key(&sent.batch));
        assert!(matches!(harness.verdict(serial), Verdict::Aborted(_)));
        assert_eq!(harness.take_sent(), ["EndTxn(abort)"]);
        assert!(harness.result(sent).is_ok());
        assert_eq!(harness.in_log(sent.value), [Status::Aborted]);
    }
}

#[test]
fn v2_sends_an_abort_even_if_no_write_arrived() {
    let (mut harness, serial) = started(V2);
    harness.append(0, Some(serial)).unwrap();
    harness.now += Duration::from_millis(5);
    harness.faults = vec![Fault::NotSent].into();
    harness.run();
    assert!(matches!(harness.abort(serial), Verdict::Aborted(_)));
    assert_eq!(harness.take_sent(), ["Produce", "EndTxn(abort)"]);
}

#[test]
fn under_v1_a_commit_without_answer_costs_the_epoch() {
    let (mut harness, serial) = started(V1);
    harness.append(0, Some(serial)).unwrap();
    harness.faults = vec![Fault::None, Fault::None, Fault::AnswerLost].into();
    assert!(matches!(harness.commit(serial), Verdict::Committed));
    let (producer, _) = harness.stamps()[0];
    let serial = harness.begin().unwrap();
    assert_eq!(
        harness.take_sent(),
        [
            "AddPartitionsToTxn",
            "Produce",
            "EndTxn(commit)",
            "EndTxn(commit)",
            "InitProducerId"
        ]
    );
    harness.append(0, Some(serial)).unwrap();
    assert!(matches!(harness.commit(serial), Verdict::Committed));
    assert_eq!(harness.stamps(), [((producer.0, producer.1 + 1), 0)]);
}

#[test]
fn under_v1_an_abort_with_a_batch_of_unknown_fate_costs_the_epoch() {
    let (mut harness, serial) = started(V1);
    let lost = harness.append(0, Some(serial)).unwrap();
    harness.run();
    harness.faults = vec![Fault::RequestLost].into();
    harness.run_for(Duration::from_millis(10));
    assert!(matches!(harness.abort(serial), Verdict::Aborted(_)));
    let error = harness.result(lost).as_ref().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TransactionAborted);
    harness.begin().unwrap();
    assert_eq!(
        harness.take_sent(),
        ["AddPartitionsToTxn", "Produce", "EndTxn(abort)", "InitProducerId"]
    );
}

#[test]
fn a_commit_that_never_left_is_aborted_and_one_that_may_have_arrived_is_unknown() {
    for version in BOTH {
        for (fault, is_committed) in [
            (Fault::NotSent, false),
            (Fault::RequestLost, false),
            (Fault::AnswerLost, true),
        ] {
            let (mut harness, serial) = started(version);
            let taken = harness.append(0, Some(serial)).unwrap();
            harness.run_for(Duration::from_millis(50));
            harness.faults = lasting(fault).into();
            let asked = harness.now;
            let verdict = harness.commit(serial);
            match fault {
                Fault::NotSent => assert!(matches!(verdict, Verdict::Aborted(_)), "{verdict:?}"),
                _ => assert!(matches!(verdict, Verdict::Unknown(_)), "{verdict:?}"),
            }
            let waited = harness.now - asked;
            assert!(waited >= Duration::from_secs(60) && waited < Duration::from_secs(62));
            // The coordinator is back: the next transaction waits until the old one is cleared up.
            harness.faults.clear();
            let serial = harness.begin().unwrap();
            let status = if is_committed {
                Status::Committed
            } else {
                Status::Aborted
            };
            assert_eq!(harness.in_log(taken.value), [status]);
            harness.append(0, Some(serial)).unwrap();
            assert!(matches!(harness.commit(serial), Verdict::Committed));
        }
    }
}

#[test]
fn a_commit_that_the_coordinator_denies_may_have_taken_effect() {
    for version in BOTH {
        for (denial, code) in DENIALS.iter().enumerate() {
            let (mut harness, serial) = started(version);
            let taken = harness.append(0, Some(serial)).unwrap();
            harness.run_for(Duration::from_millis(50));
            harness.faults = lasting(Fault::Denied(denial)).into();
            let verdict = harness.commit(serial);
            assert!(matches!(verdict, Verdict::Unknown(_)), "{code}: {verdict:?}");
            harness.faults.clear();
            let serial = harness.begin().unwrap();
            assert_eq!(harness.in_log(taken.value), [Status::Committed]);
            harness.append(0, Some(serial)).unwrap();
            assert!(matches!(harness.commit(serial), Verdict::Committed));
        }
    }
}

#[test]
fn a_commit_that_meets_another_transition_to_the_end_is_unknown() {
    for version in BOTH {
        let (mut harness, serial) = started(version);
        let taken = harness.append(0, Some(serial)).unwrap();
        harness.run_for(Duration::from_millis(50));
        harness.faults = lasting(Fault::Says(ErrorCode::CONCURRENT_TRANSACTIONS)).into();
        let verdict = harness.commit(serial);
        assert!(matches!(verdict, Verdict::Unknown(_)), "{verdict:?}");
        harness.faults.clear();
        harness.begin().unwrap();
        assert_eq!(harness.in_log(taken.value), [Status::Aborted]);
    }
}

#[test]
fn a_commit_that_was_denied_and_then_fenced_is_unknown() {
    for version in BOTH {
        for (denial, code) in DENIALS.iter().enumerate() {
            let (mut harness, serial) = started(version);
            harness.append(0, Some(serial)).unwrap();
            harness.run_for(Duration::from_millis(50));
            harness.faults = vec![Fault::Denied(denial), Fault::Says(ErrorCode::PRODUCER_FENCED)].into();
            let verdict = harness.commit(serial);
            assert!(matches!(verdict, Verdict::Unknown(_)), "{code}: {verdict:?}");
        }
    }
}

#[test]
fn partitions_whose_adding_was_denied_are_part_of_what_an_abort_ends() {
    for denial in 0..DENIALS.len() {
        let (mut harness, serial) = started(V1);
        harness.append(0, Some(serial)).unwrap();
        harness.faults = vec![Fault::Denied(denial)].into();
        harness.collect();
        harness.deliver_one();
        assert!(matches!(harness.abort(serial), Verdict::Aborted(_)));
        assert_eq!(harness.take_sent(), ["AddPartitionsToTxn", "EndTxn(abort)"]);
        assert_ne!(harness.model.coordinator.phase, Phase::Ongoing);
    }
}

#[test]
fn after_an_unknown_outcome_the_next_transaction_has_another_epoch() {
    for version in BOTH {
        let (mut harness, serial) = started(version);
        harness.append(0, Some(serial)).unwrap();
        harness.run_for(Duration::from_millis(50));
        let (producer, _) = harness.stamps()[0];
        harness.faults = lasting(Fault::AnswerLost).into();
        assert!(matches!(harness.commit(serial), Verdict::Unknown(_)));
        harness.faults.clear();
        let serial = harness.begin().unwrap();
        assert!(
            harness
                .take_sent()
                .ends_with(&["EndTxn(abort)", "InitProducerId"]),
            "the abort is refused because the commit had arrived"
        );
        harness.append(0, Some(serial)).unwrap();
        assert!(matches!(harness.commit(serial), Verdict::Committed));
        assert_eq!(harness.stamps(), [((producer.0, producer.1 + 1), 0)]);
    }
}

#[test]
fn the_older_of_two_producers_is_fenced_with_the_ids_name() {
    for version in BOTH {
        let (mut harness, serial) = started(version);
        let taken = harness.append(0, Some(serial)).unwrap();
        harness.run_for(Duration::from_millis(50));
        harness.model.coordinator.init((-1, -1));
        let Verdict::Fenced(error) = harness.commit(serial) else {
            panic!("not fenced");
        };
        assert_eq!(error.kind(), ErrorKind::Fenced);
        assert!(error.to_string().contains("transactional id t "), "{error}");
        assert_ne!(harness.in_log(taken.value), [Status::Committed]);
        assert_eq!(harness.begin().unwrap_err().kind(), ErrorKind::Fenced);
        assert_eq!(harness.append(0, None).unwrap_err().kind(), ErrorKind::Fenced);
        harness.take_sent();
        harness.run_for(Duration::from_secs(100));
        assert_eq!(harness.take_sent(), [] as [&str; 0]);
    }
}

/// A V2 coordinator has the next epoch already while it writes the markers of the transaction before, and then calls an abort
/// in that epoch fenced (KIP-890).
#[test]
fn an_abort_that_meets_the_markers_of_the_transaction_before_is_not_fenced() {
    for ahead in [0, 3] {
        let (mut harness, serial) = started(V2);
        harness.append(0, Some(serial)).unwrap();
        assert!(matches!(harness.commit(serial), Verdict::Committed));
        let serial = harness.begin().unwrap();
        let taken = harness.append(0, Some(serial)).unwrap();
        harness.take_sent();
        harness.faults = [Fault::RequestLost]
            .into_iter()
            .chain([Fault::Says(ErrorCode::PRODUCER_FENCED)])
            .chain(vec![Fault::RequestLost; ahead])
            .collect();
        harness.run_for(Duration::from_millis(50));
        assert!(matches!(harness.abort(serial), Verdict::Aborted(_)), "{ahead}");
        let sent = harness.take_sent();
        assert_eq!(sent[..3], ["Produce", "EndTxn(abort)", "DescribeTransactions"]);
        assert_eq!(*sent.last().unwrap(), "EndTxn(abort)");
        assert_ne!(harness.in_log(taken.value), [Status::Committed]);
        let serial = harness.begin().unwrap();
        harness.append(0, Some(serial)).unwrap();
        assert!(matches!(harness.commit(serial), Verdict::Committed));
    }
}

#[test]
fn a_write_that_is_refused_by_epoch_leaves_it_to_the_coordinator_to_say_why() {
    let (mut harness, serial) = started(V2);
    harness.append(0, Some(serial)).unwrap();
    harness.model.coordinator.init((-1, -1));
    let Verdict::Fenced(_) = harness.commit(serial) else {
        panic!("not fenced");
    };
    assert_eq!(
        harness.take_sent(),
        ["Produce", "EndTxn(abort)", "DescribeTransactions"]
    );

    // The same code after a timeout of the transaction is no fencing under V2.
    let (mut harness, serial) = started(V2);
    harness.append(0, Some(serial)).unwrap();
    harness.run_for(Duration::from_millis(50));
    harness.model.time_out();
    harness.append(0, Some(serial)).unwrap();
    let Verdict::Aborted(error) = harness.commit(serial) else {
        panic!("not aborted");
    };
    assert_eq!(error.kind(), ErrorKind::TransactionAbortable);
    let serial = harness.begin().unwrap();
    harness.append(0, Some(serial)).unwrap();
    assert!(matches!(harness.commit(serial), Verdict::Committed));
}

#[test]
fn a_commit_of_a_transaction_that_timed_out_is_aborted_under_v2() {
    let (mut harness, serial) = started(V2);
    harness.append(0, Some(serial)).unwrap();
    harness.run_for(Duration::from_millis(50));
    harness.model.time_out();
    harness.faults = vec![Fault::Says(ErrorCode::INVALID_TXN_STATE)].into();
    let Verdict::Aborted(error) = harness.commit(serial) else {
        panic!("not aborted");
    };
    assert!(error.to_string().contains("transaction.timeout.ms"), "{error}");
    let serial = harness.begin().unwrap();
    harness.append(0, Some(serial)).unwrap();
    assert!(matches!(harness.commit(serial), Verdict::Committed));
}

/// Someone has fenced off and aborted the open transaction, and asks again as long as that takes: only then has it taken over.
#[test]
fn a_v2_producer_whose_transaction_was_ended_lets_a_newer_one_go_first() {
    for write_again in [false, true] {
        let (mut harness, serial) = started(V2);
        harness.append(0, Some(serial)).unwrap();
        harness.run_for(Duration::from_millis(50));
        harness.model.time_out();
        if write_again {
            harness.append(0, Some(serial)).unwrap();
            harness.run_for(Duration::from_millis(50));
        }
        let ended = harness.now;
        harness.faults = match write_again {
            true => vec![],
            false => vec![Fault::Says(ErrorCode::INVALID_TXN_STATE)],
        }
        .into();
        assert!(matches!(harness.commit(serial), Verdict::Aborted(_)));
        harness.take_sent();
        harness.begin().unwrap();
        let waited = harness.now - ended;
        assert!(
            waited > Duration::from_millis(200) && waited < Duration::from_millis(500),
            "{waited:?}"
        );
    }
}

#[test]
fn a_batch_that_fails_for_good_makes_the_commit_an_abort() {
    for version in BOTH {
        let (mut harness, serial) = started(version);
        let good = harness.append(0, Some(serial)).unwrap();
        harness.run_for(Duration::from_millis(50));
        let bad = harness.append(1, Some(serial)).unwrap();
        if version == V1 {
            harness.run();
        }
        harness.faults = vec![Fault::Says(ErrorCode::MESSAGE_TOO_LARGE)].into();
        let Verdict::Aborted(error) = harness.commit(serial) else {
            panic!("not aborted");
        };
        assert_eq!(error.kind(), ErrorKind::TransactionAbortable);
        assert_eq!(error.code(), Some(ErrorCode::MESSAGE_TOO_LARGE));
        assert!(harness.result(bad).is_err());
        assert_eq!(harness.in_log(good.value), [Status::Aborted]);
        let serial = harness.begin().unwrap();
        harness.append(1, Some(serial)).unwrap();
        assert!(matches!(harness.commit(serial), Verdict::Committed));
    }
}

#[test]
fn after_a_failure_sends_are_refused_until_the_abort() {
    let (mut harness, serial) = started(V2);
    harness.append(0, Some(serial)).unwrap();
    harness.faults = vec![Fault::Says(ErrorCode::INVALID_RECORD)].into();
    harness.run_for(Duration::from_millis(50));
    let error = harness.append(0, Some(serial)).unwrap_err();
    assert!(error.requires_abort(), "{error:?}");
    assert!(matches!(harness.abort(serial), Verdict::Aborted(_)));
    assert!(harness.begin().is_ok());
}

#[test]
fn a_batch_that_is_late_makes_the_commit_an_abort() {
    let settings = |delivery, transaction| ProducerConfig {
        delivery_timeout: Duration::from_secs(delivery),
        transaction_timeout: Duration::from_secs(transaction),
        ..config()
    };
    for (settings, named) in [
        (settings(30, 60), "delivery.timeout.ms"),
        (settings(120, 60), "longer than transaction.timeout.ms = 60000"),
    ] {
        let mut harness = Harness::new(Model::new(V1, 4, 0), true, settings, 7);
        harness.run();
        let serial = harness.begin().unwrap();
        harness.append(0, Some(serial)).unwrap();
        harness.run();
        harness.faults = vec![Fault::RequestLost; 1500].into();
        let Verdict::Aborted(error) = harness.commit(serial) else {
            panic!("not aborted");
        };
        assert!(error.requires_abort());
        assert!(error.to_string().contains(named), "{error}");
    }
}

#[test]
fn a_transaction_whose_handle_is_dropped_is_aborted_before_the_next_begins() {
    for version in BOTH {
        let (mut harness, serial) = started(version);
        let taken = harness.append(0, Some(serial)).unwrap();
        harness.run_for(Duration::from_millis(50));
        harness.machine.abandon(harness.now, serial);
        assert!(harness.machine.begin(harness.now).is_none());
        let next = harness.begin().unwrap();
        assert_ne!(next, serial);
        assert_eq!(harness.in_log(taken.value), [Status::Aborted]);
        // The old handle has no hold on the new transaction.
        harness.machine.abandon(harness.now, serial);
        harness.append(0, Some(next)).unwrap();
        assert!(matches!(harness.commit(next), Verdict::Committed));
    }
}

#[test]
fn closing_aborts_what_is_open_and_ends() {
    for version in BOTH {
        let (mut harness, serial) = started(version);
        let taken = harness.append(0, Some(serial)).unwrap();
        harness.run_for(Duration::from_millis(50));
        harness.machine.handle_close(harness.now);
        assert!(!harness.machine.is_drained());
        harness.run();
        assert!(harness.machine.is_drained());
        assert_eq!(harness.in_log(taken.value), [Status::Aborted]);
    }
}

#[test]
fn closing_ends_in_time_although_nobody_answers() {
    let (mut harness, serial) = started(V2);
    harness.append(0, Some(serial)).unwrap();
    harness.run_for(Duration::from_millis(50));
    harness.faults = lasting(Fault::RequestLost).into();
    harness.machine.handle_close(harness.now);
    harness.run_for(Duration::from_secs(61));
    assert!(harness.machine.is_drained());
}

#[test]
fn an_exhausted_epoch_is_left_before_a_transaction_runs_in_it() {
    for version in BOTH {
        let mut harness = Harness::new(Model::new(version, 1, i16::MAX - 2), true, config(), 7);
        let serial = harness.begin().unwrap();
        assert_eq!(harness.take_sent(), ["InitProducerId", "InitProducerId"]);
        harness.append(0, Some(serial)).unwrap();
        assert!(matches!(harness.commit(serial), Verdict::Committed));
        assert_eq!(harness.stamps(), [((1001, 0), 0)]);
    }
}

#[test]
fn a_cluster_that_is_upgraded_in_between_gets_a_new_epoch_first() {
    let (mut harness, serial) = started(V1);
    harness.append(0, Some(serial)).unwrap();
    harness.model.transaction_version = V2;
    harness.machine.handle_cluster(harness.now, &harness.model.view());
    assert!(matches!(harness.commit(serial), Verdict::Committed));
    assert_eq!(
        harness.take_sent(),
        [
            "AddPartitionsToTxn",
            "Produce",
            "EndTxn(commit)",
            "InitProducerId"
        ],
        "the open transaction stays as it is"
    );
    let serial = harness.begin().unwrap();
    harness.append(0, Some(serial)).unwrap();
    assert!(matches!(harness.commit(serial), Verdict::Committed));
    assert_eq!(harness.stamps(), [((1000, 2), 0)]);
    assert_eq!(harness.take_sent(), ["Produce", "EndTxn(commit)"]);
}

#[test]
fn concurrent_transactions_are_asked_about_at_once_and_then_in_short_pauses() {
    for (refusals, least, most) in [(4, 0, 0), (7, 5, 12)] {
        let (mut harness, serial) = started(V1);
        harness.append(0, Some(serial)).unwrap();
        harness.faults = vec![Fault::Says(ErrorCode::CONCURRENT_TRANSACTIONS); refusals].into();
        let asked = harness.now;
        assert!(matches!(harness.commit(serial), Verdict::Committed));
        let waited = harness.now - asked;
        assert!(
            waited >= Duration::from_millis(least) && waited <= Duration::from_millis(most),
            "four times at once, then 1 + 2 + 4 ms and jitter, not {waited:?}"
        );
    }
}

#[test]
fn a_write_that_meets_the_end_of_the_transaction_before_is_sent_again_after_a_short_pause() {
    let (mut harness, serial) = started(V2);
    let taken = harness.append(0, Some(serial)).unwrap();
    harness.faults = vec![Fault::Says(ErrorCode::CONCURRENT_TRANSACTIONS); 3].into();
    let asked = harness.now;
    assert!(matches!(harness.commit(serial), Verdict::Committed));
    assert_eq!(harness.in_log(taken.value), [Status::Committed]);
    let waited = harness.now - asked;
    assert!(
        waited >= Duration::from_millis(5) && waited <= Duration::from_millis(12),
        "1 + 2 + 4 ms and jitter, not {waited:?}"
    );
}

#[test]
fn only_a_v2_transaction_close_behind_another_asks_for_the_markers() {
    for (version, expected) in [(V1, [0, 0, 0]), (V2, [0, 1, 1])] {
        let (mut harness, mut serial) = started(version);
        for (nth, expected) in expected.into_iter().enumerate() {
            if nth > 0 {
                serial = harness.begin().unwrap();
            }
            harness.append(0, Some(serial)).unwrap();
            assert!(matches!(harness.commit(serial), Verdict::Committed));
            assert_eq!(harness.described, expected, "{version:?}, transaction {nth}");
            if nth == 1 {
                harness.run_for(Duration::from_millis(20));
            }
        }
    }
}

#[test]
fn an_unauthorized_topic_makes_the_transaction_abortable_under_v1() {
    let (mut harness, serial) = started(V1);
    harness.append(0, Some(serial)).unwrap();
    harness.faults = vec![Fault::Says(ErrorCode::TOPIC_AUTHORIZATION_FAILED)].into();
    let Verdict::Aborted(error) = harness.commit(serial) else {
        panic!("not aborted");
    };
    assert!(error.to_string().contains("out-0"), "{error}");
    assert_eq!(harness.take_sent(), ["AddPartitionsToTxn"], "nothing to end");
    assert_eq!(harness.model.coordinator.phase, Phase::Empty);
}

#[test]
fn an_adding_in_doubt_is_aborted_and_costs_the_epoch() {
    for fault in [Fault::RequestLost, Fault::AnswerLost] {
        let (mut harness, serial) = started(V1);
        harness.append(0, Some(serial)).unwrap();
        harness.faults = vec![fault].into();
        harness.run();
        assert!(matches!(harness.abort(serial), Verdict::Aborted(_)));
        harness.begin().unwrap();
        assert_eq!(
            harness.take_sent(),
            ["AddPartitionsToTxn", "EndTxn(abort)", "InitProducerId"]
        );
        assert_ne!(harness.model.coordinator.phase, Phase::Ongoing);
    }
}

#[test]
fn a_transactional_id_that_is_not_permitted_is_said_so() {
    let mut harness = Harness::new(Model::new(V2, 1, 0), true, config(), 7);
    harness.faults = vec![Fault::Says(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED)].into();
    harness.run();
    let error = harness.machine.initialized().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Authorization);
    // The permission may be granted later.
    assert!(harness.begin().is_err());
    assert!(harness.begin().is_ok());
}

#[test]
fn a_timeout_that_the_broker_does_not_allow_is_named() {
    let mut harness = Harness::new(Model::new(V2, 1, 0), true, config(), 7);
    harness.faults = vec![Fault::Says(ErrorCode::INVALID_TRANSACTION_TIMEOUT)].into();
    harness.run();
    let error = harness.machine.initialized().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(
        error.to_string().contains("transaction.timeout.ms = 60000"),
        "{error}"
    );
}

#[test]
fn a_leaders_hint_refreshes_the_metadata() {
    let mut harness = Harness::idempotent();
    harness.append(0, None).unwrap();
    harness.now += Duration::from_millis(5);
    let request = harness.machine.poll_request(harness.now).unwrap();
    let answer = crate::machine::testing::model::refusal(&request.body, ErrorCode::NOT_LEADER_OR_FOLLOWER);
    assert!(
        harness
            .machine
            .poll_directive()
            .is_none_or(|directive| directive != crate::machine::Directive::RefreshMetadata)
    );
    harness
        .machine
        .handle_response(harness.now, request.id, Ok(answer));
    assert_eq!(
        harness.machine.poll_directive(),
        Some(crate::machine::Directive::RefreshMetadata)
    );
}

#[test]
fn without_transactions_a_batch_that_may_be_in_the_log_is_never_called_lost() {
    for (fault, kind) in [
        (Fault::RequestLost, ErrorKind::OutcomeUnknown),
        (Fault::AnswerLost, ErrorKind::OutcomeUnknown),
        (Fault::NotSent, ErrorKind::Timeout),
    ] {
        let mut harness = Harness::idempotent();
        let lost = harness.append(0, None).unwrap();
        harness.faults = lasting(fault).into();
        harness.run_for(Duration::from_secs(130));
        assert_eq!(harness.result(lost).as_ref().unwrap_err().kind(), kind);
        // The producer goes on in the next epoch.
        harness.faults.clear();
        harness.sent.clear();
        let next = harness.append(0, None).unwrap();
        harness.run_for(Duration::from_millis(10));
        assert!(harness.result(next).is_ok());
        assert_eq!(harness.stamps(), [((2, 1), 0)]);
    }
}

#[test]
fn without_transactions_batches_behind_a_refused_one_are_numbered_anew() {
    let mut harness = Harness::idempotent();
    let taken: Vec<_> = (0..30).map(|_| harness.append(0, None).unwrap()).collect();
    harness.faults = vec![Fault::Says(ErrorCode::INVALID_RECORD)].into();
    harness.run_for(Duration::from_secs(5));
    let first = taken[0].batch;
    assert!(taken.last().unwrap().batch >= first + 3, "several batches");
    for record in taken {
        assert_eq!(harness.result(record).is_err(), record.batch == first);
        let copies = usize::from(record.batch != first);
        assert_eq!(harness.in_log(record.value).len(), copies);
    }
}

#[test]
fn a_batch_waits_for_its_linger_unless_it_is_full_or_flushed() {
    let mut harness = Harness::idempotent();
    harness.take_sent();
    harness.append(0, None).unwrap();
    harness.run();
    assert_eq!(harness.take_sent(), [] as [&str; 0]);
    harness.run_for(Duration::from_millis(4));
    assert_eq!(harness.take_sent(), [] as [&str; 0]);
    harness.run_for(Duration::from_millis(1));
    assert_eq!(harness.take_sent(), ["Produce"]);

    harness.append(0, None).unwrap();
    let ticket = harness.machine.flush();
    assert_eq!(harness.machine.is_flushed(ticket), None);
    harness.run();
    assert_eq!(harness.take_sent(), ["Produce"]);
    assert!(harness.machine.is_flushed(ticket).is_some());

    let first = harness.append(0, None).unwrap().batch;
    while harness.append(0, None).unwrap().batch == first {}
    harness.run();
    assert_eq!(harness.take_sent(), ["Produce"], "the full one, not the open one");
}

#[test]
fn at_most_max_in_flight_requests_go_to_a_node() {
    let settings = ProducerConfig {
        max_in_flight: 2,
        linger: Duration::ZERO,
        ..config()
    };
    let mut harness = Harness::new(Model::new(V2, 4, 0), false, settings, 7);
    harness.append(0, None).unwrap();
    harness.append(1, None).unwrap();
    harness.run();
    harness.take_sent();
    for _ in 0..4 {
        harness.append(0, None).unwrap();
        harness.collect();
        harness.append(1, None).unwrap();
        harness.collect();
    }
    let nodes: Vec<_> = harness.sent.iter().map(|outbound| outbound.to.clone()).collect();
    assert_eq!(nodes.len(), 4, "two for each of two nodes: {nodes:?}");
}

#[test]
fn while_a_batch_is_retried_only_the_lowest_sequence_goes() {
    let settings = ProducerConfig {
        linger: Duration::ZERO,
        ..config()
    };
    let mut harness = Harness::new(Model::new(V2, 4, 0), false, settings, 7);
    harness.append(0, None).unwrap();
    harness.run();
    harness.sent.clear();
    for _ in 0..3 {
        harness.append(0, None).unwrap();
        harness.collect();
    }
    assert_eq!(harness.take_sent().len(), 3);
    // The first is lost; the two behind it are refused for that.
    harness.faults = vec![Fault::RequestLost].into();
    harness.run();
    assert_eq!(harness.take_sent(), [] as [&str; 0]);
    harness.append(0, None).unwrap();
    harness.now += Duration::from_secs(2);
    harness.collect();
    assert_eq!(harness.stamps(), [((2, 0), 1)]);
    harness.run();
    let sequences: Vec<_> = harness.stamps().iter().map(|(_, sequence)| *sequence).collect();
    assert_eq!(sequences, [1, 2, 3, 4]);
}

#[test]
fn no_batch_overtakes_the_first_one_that_a_log_gets_of_a_producer() {
    let settings = ProducerConfig {
        linger: Duration::ZERO,
        ..config()
    };
    let mut harness = Harness::new(Model::new(V2, 4, 0), false, settings, 7);
    harness.run();
    harness.faults = vec![Fault::RequestLost].into();
    let mut taken = Vec::new();
    for _ in 0..3 {
        taken.push(harness.append(0, None).unwrap());
        harness.collect();
    }
    harness.run_for(Duration::from_secs(2));
    for record in taken {
        assert!(harness.result(record).is_ok());
        assert_eq!(harness.in_log(record.value), [Status::Committed]);
    }
}

#[test]
fn a_produce_request_stays_below_its_largest_size() {
    let settings = ProducerConfig {
        batch_size: 200,
        max_request_size: 300,
        ..config()
    };
    let mut harness = Harness::new(Model::new(V2, 8, 0), false, settings, 7);
    harness.run();
    harness.take_sent();
    for _ in 0..4 {
        for partition in 0..8 {
            harness.append(partition, None).unwrap();
        }
    }
    harness.run_for(Duration::from_millis(5));
    for outbound in &harness.sent {
        let RequestBody::Produce(request) = &outbound.body else {
            panic!("only Produce is sent");
        };
        let parts = request.topics.iter().flat_map(|topic| &topic.partitions);
        let sizes: Vec<_> = parts.map(|part| part.records.len()).collect();
        assert!(sizes.iter().sum::<usize>() <= 300, "{sizes:?}");
    }
    assert!(harness.sent.len() >= 4);
}

#[test]
fn a_record_that_could_not_be_taken_makes_the_commit_an_abort() {
    for version in BOTH {
        let (mut harness, serial) = started(version);
        let taken = harness.append(0, Some(serial)).unwrap();
        harness.run_for(Duration::from_millis(50));
        let refusal = Error::new(ErrorKind::RecordTooLarge, "too large");
        let told = harness.machine.not_taken(harness.now, &refusal);
        assert!(told.requires_abort() && told.kind() == ErrorKind::RecordTooLarge);
        assert!(harness.append(0, Some(serial)).unwrap_err().requires_abort());
        let Verdict::Aborted(error) = harness.commit(serial) else {
            panic!("not aborted");
        };
        assert_eq!(error.kind(), ErrorKind::RecordTooLarge);
        assert_eq!(harness.in_log(taken.value), [Status::Aborted]);
        // Nothing is open: the refusal is only that call's.
        let told = harness.machine.not_taken(harness.now, &refusal);
        assert!(!told.requires_abort() && !told.is_fatal());
        let serial = harness.begin().unwrap();
        harness.append(0, Some(serial)).unwrap();
        assert!(matches!(harness.commit(serial), Verdict::Committed));
    }
}

#[test]
fn under_v1_an_abort_of_what_a_late_adding_has_opened_does_not_make_a_commit_an_abort() {
    let (mut harness, serial) = started(V1);
    let taken = harness.append(0, Some(serial)).unwrap();
    harness.faults = vec![Fault::RequestLost].into();
    harness.run_for(Duration::from_secs(2));
    let adding = harness.sent[0].clone();
    assert!(matches!(&adding.body, RequestBody::AddPartitionsToTxn(_)));
    harness.faults = lasting(Fault::AnswerLost).into();
    assert!(matches!(harness.commit(serial), Verdict::Unknown(_)));
    assert_eq!(harness.in_log(taken.value), [Status::Committed]);
    harness.faults.clear();
    harness.model.handle(&adding);
    assert_eq!(harness.model.coordinator.phase, Phase::Ongoing);
    harness.begin().unwrap();
    let resolution = harness.resolve().unwrap();
    assert!(matches!(resolution, Resolution::Unknown(_)), "{resolution:?}");
}

#[test]
fn under_v1_a_late_commit_of_what_a_late_adding_has_opened_does_not_make_an_abort_a_commit() {
    let (mut harness, serial) = started(V1);
    let taken = harness.append(0, Some(serial)).unwrap();
    harness.faults = vec![Fault::RequestLost].into();
    harness.run_for(Duration::from_secs(2));
    let adding = harness.sent[0].clone();
    harness.faults = lasting(Fault::RequestLost).into();
    harness.sent.clear();
    assert!(matches!(harness.commit(serial), Verdict::Unknown(_)));
    let commit = harness.sent[0].clone();
    // The abort takes effect, but its answer is lost.
    harness.faults = vec![Fault::AnswerLost].into();
    assert!(harness.machine.begin(harness.now).is_none());
    harness.collect();
    harness.deliver_one();
    assert_eq!(harness.in_log(taken.value), [Status::Aborted]);
    harness.model.handle(&adding);
    harness.model.handle(&commit);
    assert_eq!(harness.model.coordinator.phase, Phase::CompleteCommit);
    harness.begin().unwrap();
    let resolution = harness.resolve().unwrap();
    assert!(matches!(resolution, Resolution::Unknown(_)), "{resolution:?}");
}

#[test]
fn a_producer_that_ends_while_a_commit_is_out_does_not_say_that_nothing_is_committed() {
    for version in BOTH {
        let (mut harness, serial) = started(version);
        harness.append(0, Some(serial)).unwrap();
        harness.run_for(Duration::from_millis(50));
        harness.machine.commit(harness.now).unwrap();
        harness.collect();
        harness.machine.close_within(harness.now, Duration::ZERO);
        harness.machine.handle_timeout(harness.now);
        let verdict = harness.machine.verdict(serial).unwrap();
        let Verdict::Unknown(error) = verdict else {
            panic!("{verdict:?}");
        };
        assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
    }
}

/// Who takes all errors for the same still sees by the kind that the outcome is open; and is not sent to a producer that is beyond use.
#[test]
fn what_ends_a_producer_with_a_commit_in_doubt_leaves_an_unknown_outcome_by_kind() {
    for version in BOTH {
        for code in [
            ErrorCode::PRODUCER_FENCED,
            ErrorCode::INVALID_PRODUCER_ID_MAPPING,
            ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ] {
            let (mut harness, serial) = started(version);
            harness.append(0, Some(serial)).unwrap();
            harness.run_for(Duration::from_millis(50));
            harness.faults = vec![Fault::AnswerLost, Fault::Says(code)].into();
            let verdict = harness.commit(serial);
            let Verdict::Unknown(error) = verdict else {
                panic!("{code}: {verdict:?}");
            };
            assert_eq!(
                (error.kind(), error.code()),
                (ErrorKind::OutcomeUnknown, Some(code))
            );
            assert!(
                error.is_fatal() && !error.to_string().contains("resolve()"),
                "{error}"
            );
            assert!(harness.resolve().unwrap_err().is_fatal());
        }
        // The coordinator cannot be looked up any more.
        let (mut harness, serial) = started(version);
        harness.append(0, Some(serial)).unwrap();
        harness.run_for(Duration::from_millis(50));
        harness.machine.commit(harness.now).unwrap();
        let mut send = |failure: fn(Error) -> RequestFailure, kind| {
            let end = loop {
                match harness.machine.poll_request(harness.now) {
                    Some(outbound) => break outbound,
                    None => harness.now += Duration::from_millis(50),
                }
            };
            let answer = Err(failure(Error::new(kind, "x")));
            harness.machine.handle_response(harness.now, end.id, answer);
        };
        send(RequestFailure::Unanswered, ErrorKind::Unreachable);
        send(RequestFailure::NotSent, ErrorKind::Authorization);
        let verdict = harness.machine.verdict(serial);
        let Some(Verdict::Unknown(error)) = verdict else {
            panic!("{verdict:?}");
        };
        assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
    }
}

#[test]
fn a_commit_under_way_goes_on_when_the_producer_is_dropped_however_short_its_sends_may_wait() {
    for version in BOTH {
        let settings = ProducerConfig {
            max_block: Duration::from_millis(1),
            ..config()
        };
        let patience = Duration::from_secs(30);
        let mut harness =
            Harness::with_request_timeout(Model::new(version, 4, 0), true, settings, patience, 7);
        harness.run();
        let serial = harness.begin().unwrap();
        let taken = harness.append(0, Some(serial)).unwrap();
        harness.machine.commit(harness.now).unwrap();
        harness.faults = vec![Fault::NotSent; 3].into();
        harness.machine.handle_close(harness.now);
        harness.run_for(Duration::from_secs(10));
        assert_eq!(harness.in_log(taken.value), [Status::Committed]);
        assert!(harness.machine.is_drained());
    }
}
