//! The judge itself: a good history has no anomaly, and each change that makes it bad is found by its name.

use std::collections::BTreeMap;

use super::super::check::{Anomaly, Records, Seen, check};
use super::super::history::{Delivery, Excuse, History, Outcome, Taken};

/// Values 0 and 1 are committed, 2 is aborted, 3 is committed as nobody knows, 4 is written without a transaction, 5 is in doubt and not there.
fn good() -> (History, Seen) {
    let mut history = History::default();
    let transactional = history.instance(Some(0));
    let idempotent = history.instance(None);
    let transactions = [Outcome::Committed, Outcome::Aborted, Outcome::Unknown].map(|outcome| {
        let transaction = history.begin(transactional);
        history.transactions[transaction].offset = Some(10 * (1 + i64::try_from(transaction).unwrap()));
        history.commit(transaction);
        if outcome != Outcome::Unknown {
            history.told(transaction, outcome);
        }
        transaction
    });
    let records = [
        (0, 0, transactional, Some(transactions[0])),
        (1, 1, transactional, Some(transactions[0])),
        (2, 0, transactional, Some(transactions[1])),
        (3, 0, transactional, Some(transactions[2])),
        (4, 2, idempotent, None),
        (5, 2, idempotent, None),
    ];
    for (value, partition, instance, transaction) in records {
        history.records.push(Taken {
            value,
            partition,
            instance,
            transaction,
            batch: value,
            index: 0,
        });
    }
    for (value, base) in [(0, 0), (1, 0), (2, 2), (3, 4), (4, 7)] {
        history.result(value, Delivery::Written(Some(base)));
    }
    history.result(5, Delivery::Unknown);
    let logs: Records = BTreeMap::from([
        (0, vec![(0, 0), (2, 2), (4, 3)]),
        (1, vec![(0, 1)]),
        (2, vec![(7, 4)]),
    ]);
    let committed: Records =
        BTreeMap::from([(0, vec![(0, 0), (4, 3)]), (1, vec![(0, 1)]), (2, vec![(7, 4)])]);
    let seen = Seen {
        logs,
        read: vec![committed.clone()],
        committed,
        group_offsets: BTreeMap::from([(0, Some(30))]),
    };
    (history, seen)
}

/// What is found after a change of the good history.
fn after(change: impl FnOnce(&mut History, &mut Seen)) -> Vec<Anomaly> {
    let (mut history, mut seen) = good();
    change(&mut history, &mut seen);
    check(&history, &seen)
}

/// Takes a value out of what was seen.
fn remove(records: &mut Records, value: u64) {
    for records in records.values_mut() {
        records.retain(|(_, known)| *known != value);
    }
}

#[test]
fn a_good_history_has_no_anomaly() {
    assert_eq!(after(|_, _| {}), []);
}

#[test]
fn an_unknown_outcome_may_be_none_as_well() {
    let found = after(|_, seen| {
        remove(&mut seen.committed, 3);
        remove(&mut seen.read[0], 3);
        seen.group_offsets.insert(0, Some(10));
    });
    assert_eq!(found, []);
    let found = after(|history, seen| {
        history.results.insert(3, Delivery::Unknown);
        for records in [&mut seen.logs, &mut seen.committed, &mut seen.read[0]] {
            remove(records, 3);
        }
        seen.group_offsets.insert(0, Some(10));
    });
    assert_eq!(found, []);
}

#[test]
fn what_was_confirmed_and_is_not_there_is_lost() {
    let found = after(|_, seen| {
        for records in [&mut seen.logs, &mut seen.committed, &mut seen.read[0]] {
            remove(records, 4);
        }
    });
    assert_eq!(found, [Anomaly::Lost { value: 4 }]);
}

#[test]
fn a_committed_transaction_of_which_nothing_is_seen_is_lost() {
    let found = after(|_, seen| {
        for value in [0, 1] {
            remove(&mut seen.committed, value);
            remove(&mut seen.read[0], value);
        }
    });
    assert_eq!(found, [Anomaly::Lost { value: 0 }, Anomaly::Lost { value: 1 }]);
}

#[test]
fn a_value_at_two_offsets_is_a_duplicate() {
    let found = after(|_, seen| seen.logs.get_mut(&2).unwrap().push((8, 4)));
    assert!(found.contains(&Anomaly::Duplicate { value: 4 }), "{found:?}");
    let found = after(|_, seen| seen.logs.get_mut(&0).unwrap().push((9, 4)));
    assert!(found.contains(&Anomaly::Duplicate { value: 4 }), "{found:?}");
}

#[test]
fn an_aborted_value_that_is_seen_is_an_aborted_read() {
    let show = |seen: &mut Seen| {
        for records in [&mut seen.committed, &mut seen.read[0]] {
            records.get_mut(&0).unwrap().insert(1, (2, 2));
        }
    };
    let found = after(|_, seen| show(seen));
    assert_eq!(found, [Anomaly::AbortedRead { value: 2 }]);
    for outcome in [Outcome::Fenced, Outcome::Fatal] {
        let found = after(|history, seen| {
            history.transactions[1].outcome = outcome;
            show(seen);
        });
        assert_eq!(found, [Anomaly::AbortedRead { value: 2 }]);
    }
    let found = after(|history, seen| {
        history.transactions[1].outcome = Outcome::Unknown;
        show(seen);
    });
    assert_eq!(found, [], "nobody had said that it was aborted");
}

#[test]
fn a_transaction_that_is_seen_in_part_is_torn() {
    let found = after(|history, seen| {
        history.transactions[0].outcome = Outcome::Unknown;
        remove(&mut seen.committed, 1);
        remove(&mut seen.read[0], 1);
    });
    assert_eq!(found, [Anomaly::Torn { transaction: 0 }]);
}

#[test]
fn what_was_said_not_to_be_written_must_not_be_there() {
    let found = after(|history, _| {
        history.results.insert(4, Delivery::Unwritten);
    });
    assert_eq!(found, [Anomaly::WrittenAllTheSame { value: 4 }]);
    let found = after(|history, _| {
        history.results.insert(5, Delivery::Unwritten);
    });
    assert_eq!(found, []);
    let found = after(|history, _| {
        history.results.insert(4, Delivery::Unknown);
    });
    assert_eq!(found, []);
}

#[test]
fn a_record_stands_where_it_was_said_to() {
    let found = after(|history, _| {
        history.results.insert(4, Delivery::Written(Some(6)));
    });
    assert_eq!(found, [Anomaly::Misplaced { value: 4 }]);
    let found = after(|history, _| {
        history.results.insert(4, Delivery::Written(None));
    });
    assert_eq!(found, [], "the offset may be forgotten");
    let found = after(|history, _| {
        history.records[4].partition = 3;
        history.results.insert(4, Delivery::Written(None));
    });
    assert_eq!(found, [Anomaly::Misplaced { value: 4 }]);
}

#[test]
fn records_of_one_producer_keep_their_order() {
    let found = after(|history, seen| {
        history.records[4].partition = 0;
        history.records[4].instance = 0;
        history.results.insert(4, Delivery::Written(Some(3)));
        for records in [&mut seen.logs, &mut seen.committed, &mut seen.read[0]] {
            remove(records, 4);
            let records = records.get_mut(&0).unwrap();
            records.push((3, 4));
            records.sort_unstable();
        }
    });
    assert_eq!(found, [Anomaly::Disorder { earlier: 3, later: 4 }]);
}

#[test]
fn an_offset_holds_one_value() {
    let found = after(|_, seen| seen.logs.get_mut(&2).unwrap().push((7, 5)));
    assert_eq!(
        found,
        [Anomaly::InconsistentOffset {
            partition: 2,
            offset: 7
        }]
    );
}

#[test]
fn a_reader_skips_nothing() {
    let found = after(|_, seen| remove(&mut seen.read[0], 0));
    assert_eq!(found, [Anomaly::Skipped { reader: 0, value: 0 }]);
}

#[test]
fn a_reader_gets_nothing_twice_and_nothing_that_is_not_committed() {
    let invented = Anomaly::Invented { reader: 0, value: 2 };
    let found = after(|_, seen| seen.read[0].get_mut(&0).unwrap().insert(1, (2, 2)));
    assert_eq!(found, std::slice::from_ref(&invented));
    let found = after(|_, seen| {
        seen.read[0].insert(3, vec![(0, 2)]);
    });
    assert_eq!(found, [invented]);
    let found = after(|_, seen| seen.read[0].get_mut(&0).unwrap().insert(0, (0, 0)));
    assert!(
        found.contains(&Anomaly::Invented { reader: 0, value: 0 }),
        "{found:?}"
    );
}

#[test]
fn a_reader_does_not_go_back() {
    let found = after(|_, seen| seen.read[0].get_mut(&0).unwrap().reverse());
    assert_eq!(
        found,
        [Anomaly::WentBack {
            reader: 0,
            partition: 0
        }]
    );
}

#[test]
fn each_record_has_a_result() {
    let found = after(|history, _| {
        history.results.remove(&5);
    });
    assert_eq!(found, [Anomaly::NoResult { value: 5 }]);
}

#[test]
fn a_commit_with_a_failed_record_is_none() {
    let found = after(|history, _| {
        history.results.insert(1, Delivery::Unwritten);
    });
    assert_eq!(found, [Anomaly::CommittedWithFailure { transaction: 0 }]);
}

#[test]
fn who_is_fenced_succeeds_in_nothing_any_more() {
    let found = after(|history, _| {
        history.instance(Some(0));
        history.instances[0].over = Some(0);
    });
    assert_eq!(found, [Anomaly::FencedThenSuccess { instance: 0 }]);
    let found = after(|history, _| {
        history.instance(Some(0));
        history.over(0);
    });
    assert_eq!(found, [], "it was fenced later");
}

#[test]
fn nobody_is_fenced_without_a_rival_or_a_coordinator_without_patience() {
    let unexplained = [Anomaly::FencedWithoutReason { instance: 0 }];
    assert_eq!(after(|history, _| history.over(0)), unexplained);
    let successor = |history: &mut History| {
        history.over(0);
        history.instance(Some(0));
    };
    let found = after(|history, _| successor(history));
    assert_eq!(found, unexplained, "who comes later is no rival");
    for excuse in [Excuse::Patience, Excuse::LateAdding] {
        let found = after(|history, _| {
            history.excuse(0, excuse);
            history.over(0);
        });
        assert_eq!(found, [], "{excuse:?}");
    }
    let found = after(|history, _| {
        history.over(0);
        history.excuse(0, Excuse::LateAdding);
    });
    assert_eq!(found, unexplained, "what comes later explains nothing");
}

#[test]
fn the_groups_offset_is_that_of_the_last_transaction_that_is_seen() {
    for offset in [None, Some(10), Some(20)] {
        let found = after(|_, seen| {
            seen.group_offsets.insert(0, offset);
        });
        assert_eq!(found, [Anomaly::WrongGroupOffset], "{offset:?}");
    }
    let found = after(|history, seen| {
        history.records.retain(|taken| taken.value != 3);
        for records in [&mut seen.logs, &mut seen.committed, &mut seen.read[0]] {
            remove(records, 3);
        }
        seen.group_offsets.insert(0, Some(10));
    });
    assert_eq!(found, [], "a transaction of unknown outcome without records");
}

#[test]
fn who_cannot_write_when_everything_is_healed_is_stuck() {
    let found = after(|history, _| history.healed = vec![0, 1]);
    assert_eq!(
        found,
        [Anomaly::Stuck { instance: 0 }, Anomaly::Stuck { instance: 1 }],
        "the last outcome is unknown, the last record in doubt"
    );
    let found = after(|history, _| {
        history.healed = vec![0, 1];
        history.transactions[2].outcome = Outcome::Committed;
        history.records.pop();
    });
    assert_eq!(found, []);
}

#[test]
fn a_value_that_nobody_sent_is_found() {
    let found = after(|_, seen| seen.logs.get_mut(&2).unwrap().push((8, 77)));
    assert_eq!(found, [Anomaly::Unknown { value: 77 }]);
}

#[test]
fn a_result_is_given_once() {
    let twice = std::panic::catch_unwind(|| {
        let (mut history, _) = good();
        history.result(5, Delivery::Unwritten);
    });
    assert!(twice.is_err());
}
