//! One good history, damaged in every place where damage can be told: each must be flagged.

use super::story::{events, judge};
use crate::history::{Event, Op, Phase};

/// Commits, an abort, a commit that nobody confirmed, offsets, two readers.
const GOOD: &str = "
    w.0.1 begin
    w.0.1 send k/0 a @0
    w.0.1 send k/0 b @1
    w.0.1 send k/1 c @0
    w.0.1 offsets g i/0 3
    w.0.1 commit
    w.0.2 begin
    w.0.2 send k/0 d @3
    w.0.2 send k/1 e @2
    w.0.2 abort
    w.0.3 begin
    w.0.3 send k/0 f @5
    w.0.3 send k/1 g @4
    w.0.3 commit unknown
    r assign k/0 k/1
    r poll k/0 0:a 1:b
    r poll k/0 5:f
    r poll k/1 0:c 4:g
    r drain k/0
    r drain k/1
    s assign k/0 k/1
    s poll k/0 0:a 1:b 5:f
    s poll k/1 0:c 4:g
    s drain k/0
    s drain k/1
    x group g i/0 3
    wait 40
    x heal";

fn assert_flagged(history: &[Event], what: &str) {
    assert!(!judge(history).is_empty(), "nobody noticed: {what}");
}

/// What no history can miss or repeat. A reader's beginning may be told twice, an end or a group's offset may remain untold.
fn is_telling(event: &Event) -> bool {
    !matches!(
        event.op,
        Op::Assign { .. } | Op::Drain { .. } | Op::GroupOffset { .. } | Op::Heal
    )
}

#[test]
fn the_history_is_good() {
    assert_eq!(judge(&events(GOOD)), Vec::new());
}

#[test]
fn an_event_that_is_missing() {
    let good = events(GOOD);
    for index in 0..good.len() {
        let mut history = good.clone();
        let gone = history.remove(index);
        if is_telling(&gone) || matches!(gone.op, Op::Assign { .. }) {
            assert_flagged(&history, &format!("without {gone:?}"));
        }
    }
}

#[test]
fn an_event_that_comes_twice() {
    let good = events(GOOD);
    for (index, event) in good.iter().enumerate() {
        let mut history = good.clone();
        history.insert(index, event.clone());
        if is_telling(event) && !is_second_answer(event) {
            assert_flagged(&history, &format!("twice {event:?}"));
        }
    }
}

/// An unknown commit may be asked about again.
fn is_second_answer(event: &Event) -> bool {
    event.op == Op::Commit && matches!(event.phase, Phase::Unknown(_))
}

#[test]
fn an_intention_behind_its_end() {
    let good = events(GOOD);
    for index in 1..good.len() {
        if good[index - 1].phase == Phase::Invoke && good[index].phase != Phase::Invoke {
            let mut history = good.clone();
            history.swap(index - 1, index);
            let at = history[index - 1].at;
            history[index - 1].at = history[index].at;
            history[index].at = at;
            assert_flagged(&history, &format!("swapped {:?}", good[index]));
        }
    }
}

/// Applies a change to the records of each poll, at each place, and hands the damaged history out.
fn for_each_record(mut change: impl FnMut(&mut Vec<(i64, String)>, usize) -> bool) {
    let good = events(GOOD);
    for index in 0..good.len() {
        let Op::Poll { records, .. } = &good[index].op else {
            continue;
        };
        for place in 0..records.len() {
            let mut history = good.clone();
            let Op::Poll { records, .. } = &mut history[index].op else {
                continue;
            };
            if change(records, place) {
                let what = format!("{:?}", history[index]);
                assert_flagged(&history, &what);
            }
        }
    }
}

#[test]
fn a_record_that_is_missing() {
    for_each_record(|records, place| {
        records.remove(place);
        true
    });
}

#[test]
fn a_record_that_comes_twice() {
    for_each_record(|records, place| {
        let (offset, value) = records[place].clone();
        records.insert(place + 1, (offset + 1000, value));
        true
    });
}

#[test]
fn two_records_in_the_wrong_order() {
    for_each_record(|records, place| {
        let is_possible = place + 1 < records.len();
        if is_possible {
            records.swap(place, place + 1);
        }
        is_possible
    });
}

#[test]
fn a_record_with_another_value() {
    for value in ["d", "x", "a"] {
        for_each_record(|records, place| {
            let is_other = records[place].1 != value;
            records[place].1 = value.to_owned();
            is_other
        });
    }
}
