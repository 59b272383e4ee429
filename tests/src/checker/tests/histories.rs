//! Each anomaly in a history that has it and in a twin that has not.

use std::collections::BTreeSet;

use super::story::{events, judge};

/// Asserts which kinds of anomaly a story has.
fn expect(story: &str, kinds: &[&str]) {
    let found = judge(&events(story));
    let names: BTreeSet<&str> = found.iter().map(|anomaly| anomaly.kind()).collect();
    assert_eq!(names, kinds.iter().copied().collect(), "{found:#?}\nin{story}");
}

/// Two values in one transaction over two partitions, and a reader of both.
const TWO: &str = "
    w.0.1 begin
    w.0.1 send k/0 a @0
    w.0.1 send k/1 b @0";
const READ_BOTH: &str = "
    r assign k/0 k/1
    r poll k/0 0:a
    r poll k/1 0:b
    r drain k/0
    r drain k/1";
const READ_NONE: &str = "
    r assign k/0 k/1
    r drain k/0
    r drain k/1";
const READ_ONE: &str = "
    r assign k/0 k/1
    r poll k/0 0:a
    r drain k/0
    r drain k/1";

fn two(end: &str, reading: &str) -> String {
    format!("{TWO}\n{end}\n{reading}")
}

#[test]
fn committed_and_read() {
    expect(&two("w.0.1 commit", READ_BOTH), &[]);
}

#[test]
fn committed_and_not_read() {
    expect(&two("w.0.1 commit", READ_NONE), &["unseen"]);
}

#[test]
fn committed_and_half_read() {
    expect(&two("w.0.1 commit", READ_ONE), &["torn", "unseen"]);
}

#[test]
fn unknown_and_read() {
    expect(&two("w.0.1 commit unknown", READ_BOTH), &[]);
}

#[test]
fn unknown_and_not_read() {
    expect(&two("w.0.1 commit unknown", READ_NONE), &[]);
}

#[test]
fn unknown_and_half_read() {
    expect(&two("w.0.1 commit unknown", READ_ONE), &["torn", "unseen"]);
}

#[test]
fn half_read_by_a_reader_that_has_not_come_to_the_end() {
    let reading = "
        r assign k/0 k/1
        r poll k/0 0:a";
    expect(&two("w.0.1 commit", reading), &[]);
}

#[test]
fn aborted_and_not_read() {
    expect(&two("w.0.1 abort", READ_NONE), &[]);
}

#[test]
fn aborted_and_read() {
    expect(&two("w.0.1 abort", READ_BOTH), &["aborted read"]);
}

#[test]
fn aborted_and_half_read() {
    expect(&two("w.0.1 abort", READ_ONE), &["aborted read", "torn"]);
}

#[test]
fn an_abort_without_answer_is_an_abort() {
    expect(&two("w.0.1 abort unknown", READ_BOTH), &["aborted read"]);
}

#[test]
fn a_commit_that_failed_is_an_abort() {
    expect(&two("w.0.1 commit fail", READ_NONE), &[]);
    expect(&two("w.0.1 commit fail", READ_BOTH), &["aborted read"]);
}

#[test]
fn a_crash_before_the_commit_is_an_abort() {
    expect(&two("w.0 crash", READ_NONE), &[]);
    expect(&two("w.0 crash", READ_BOTH), &["aborted read"]);
}

#[test]
fn a_crash_within_the_commit_leaves_it_unknown() {
    expect(&two("w.0.1 commit open\nw.0 crash", READ_NONE), &[]);
    expect(&two("w.0.1 commit open\nw.0 crash", READ_BOTH), &[]);
    expect(
        &two("w.0.1 commit open\nw.0 crash", READ_ONE),
        &["torn", "unseen"],
    );
}

#[test]
fn an_unknown_commit_that_was_found_out() {
    let found_out = |told: &str| format!("w.0.1 commit unknown\nw.0.1 later commit {told}");
    expect(&two(&found_out("ok"), READ_BOTH), &[]);
    expect(&two(&found_out("ok"), READ_NONE), &["unseen"]);
    expect(&two(&found_out("fail"), READ_NONE), &[]);
    expect(&two(&found_out("fail"), READ_BOTH), &["aborted read"]);
}

#[test]
fn two_outcomes() {
    let end = "
        w.0.1 commit unknown
        w.0.1 later commit unknown
        w.0.1 later commit ok";
    expect(&two(end, READ_BOTH), &[]);
    let end = "
        w.0.1 commit fail
        w.0.1 commit ok";
    expect(&two(end, READ_BOTH), &["contradiction"]);
}

#[test]
fn two_readers_of_which_one_sees_nothing() {
    let blind = READ_NONE.replace("r ", "s ");
    expect(
        &two("w.0.1 commit unknown", &(READ_BOTH.to_owned() + &blind)),
        &["unseen"],
    );
    let sees = READ_BOTH.replace("r ", "s ");
    expect(&two("w.0.1 commit unknown", &(READ_BOTH.to_owned() + &sees)), &[]);
}

#[test]
fn read_before_the_commit_was_asked_for() {
    let reading = |first: &str, second: &str| {
        format!(
            "r assign k/0 k/1\n{TWO}\n{first}\nw.0.1 commit\n{second}\nr poll k/1 0:b\nr drain k/0\nr drain k/1"
        )
    };
    expect(&reading("", "r poll k/0 0:a"), &[]);
    expect(&reading("r poll k/0 0:a", ""), &["early read"]);
}

/// Single records, one after the other.
const THREE: &str = "
    w send k/0 a @0
    w send k/0 b @1
    w send k/0 c @2
    r assign k/0";

#[test]
fn plain_records_that_are_all_there() {
    expect(&format!("{THREE}\nr poll k/0 0:a 1:b 2:c\nr drain k/0"), &[]);
}

#[test]
fn a_value_that_nobody_sent() {
    expect(&format!("{THREE}\nr poll k/0 0:a 1:b 2:c 3:d"), &["invented"]);
}

#[test]
fn a_value_in_two_places() {
    expect(&format!("{THREE}\nr poll k/0 0:a 1:b 2:c 3:a"), &["duplicate"]);
}

#[test]
fn a_place_with_two_values() {
    let story = "
        w send k/0 a @0
        w send k/0 b @0";
    expect(story, &["inconsistent offset"]);
    let story = "
        w send k/0 a @0
        w send k/1 b @0";
    expect(story, &[]);
}

#[test]
fn an_acknowledged_value_that_was_passed_over() {
    expect(&format!("{THREE}\nr poll k/0 0:a 2:c"), &["lost", "skipped poll"]);
    expect(&format!("{THREE}\nr poll k/0 0:a 1:b"), &[]);
}

#[test]
fn an_unacknowledged_value_may_be_absent() {
    let story = "
        w send k/0 a @0
        w send k/0 b unknown
        w send k/0 c @2
        r assign k/0
        r poll k/0 0:a 2:c
        r drain k/0";
    expect(story, &[]);
}

#[test]
fn a_value_that_was_certainly_not_written() {
    let story = |reading: &str| format!("w send k/0 a fail\nr assign k/0\n{reading}\nr drain k/0");
    expect(&story(""), &[]);
    expect(&story("r poll k/0 0:a"), &["aborted read"]);
}

#[test]
fn records_in_the_wrong_order() {
    let story = |first: &str, second: &str| {
        format!(
            "w send k/0 a unknown\nw send k/0 b unknown\nr assign k/0\nr poll k/0 {first} {second}\nr drain k/0"
        )
    };
    expect(&story("0:a", "1:b"), &[]);
    expect(&story("0:b", "1:a"), &["out of order"]);
}

#[test]
fn the_order_of_two_processes_is_free() {
    let story = "
        w send k/0 a unknown
        v send k/0 b unknown
        r assign k/0
        r poll k/0 0:b 1:a";
    expect(story, &[]);
}

#[test]
fn a_reader_that_goes_back() {
    expect(
        &format!("{THREE}\nr poll k/0 0:a 1:b\nr poll k/0 1:b 2:c"),
        &["non monotonic poll"],
    );
    expect(
        &format!("{THREE}\nr poll k/0 0:a 1:b\nr seek k/0\nr poll k/0 1:b 2:c"),
        &[],
    );
}

#[test]
fn a_reader_that_skips_what_another_saw() {
    let other = "s assign k/0\ns poll k/0 0:a 1:b 2:c";
    expect(
        &format!("{THREE}\nr poll k/0 0:a\nr poll k/0 2:c\n{other}"),
        &["skipped poll"],
    );
    expect(&format!("{THREE}\nr seek k/0\nr poll k/0 2:c\n{other}"), &[]);
}

#[test]
fn a_reader_passes_over_aborted_records() {
    let story = "
        w.0.1 begin
        w.0.1 send k/0 a @0
        w.0.1 abort
        w.0.2 begin
        w.0.2 send k/0 b @2
        w.0.2 commit
        r assign k/0
        r poll k/0 2:b
        r drain k/0";
    expect(story, &[]);
}

#[test]
fn success_after_fencing() {
    let story = |rest: &str| format!("w.0.1 begin\nw.0.1 send k/0 a open\nw.0 fenced\n{rest}");
    expect(&story("w.0.1 later send k/0 a @0\nw.0.1 commit fail"), &[]);
    expect(&story("w.0.1 commit"), &["success after fenced"]);
    expect(&story("w.1.1 begin\nw.1.1 send k/0 b @1\nw.1.1 commit"), &[]);
}

#[test]
fn a_commit_without_one_of_its_records() {
    let story = |end: &str| format!("w.0.1 begin\nw.0.1 send k/0 a fail\nw.0.1 send k/0 b @0\n{end}");
    expect(&story("w.0.1 commit fail"), &[]);
    expect(&story("w.0.1 commit"), &["incomplete commit"]);
}

#[test]
fn a_commit_without_its_offsets() {
    let story = |end: &str| format!("w.0.1 begin\nw.0.1 offsets g k/0 5 fail\n{end}");
    expect(&story("w.0.1 abort"), &[]);
    expect(&story("w.0.1 commit"), &["incomplete commit"]);
}

/// Offset 5 in a committed transaction, 6 in one that ended otherwise.
fn offsets(end: &str, found: &str) -> String {
    format!(
        "w.0.1 begin
        w.0.1 offsets g k/0 5
        w.0.1 commit
        w.0.2 begin
        w.0.2 offsets g k/0 6
        {end}
        x group g k/0 {found}"
    )
}

#[test]
fn offsets_of_a_group() {
    expect(&offsets("w.0.2 commit", "6"), &[]);
    expect(&offsets("w.0.2 commit", "5"), &["offset mismatch"]);
    expect(&offsets("w.0.2 abort", "5"), &[]);
    expect(&offsets("w.0.2 abort", "6"), &["offset mismatch"]);
    expect(&offsets("w.0.2 commit unknown", "5"), &[]);
    expect(&offsets("w.0.2 commit unknown", "6"), &[]);
    expect(&offsets("w.0.2 commit unknown", "none"), &["offset mismatch"]);
}

#[test]
fn offsets_and_records_go_together() {
    let story = |read: &str, found: &str| {
        format!(
            "w.0.1 begin
            w.0.1 send k/0 a @0
            w.0.1 offsets g i/0 5
            w.0.1 commit unknown
            r assign k/0
            {read}
            r drain k/0
            x group g i/0 {found}"
        )
    };
    expect(&story("r poll k/0 0:a", "5"), &[]);
    expect(&story("", "none"), &[]);
    expect(&story("r poll k/0 0:a", "none"), &["offset mismatch"]);
    expect(&story("", "5"), &["offset mismatch"]);
}

/// Two transactions that are open at the same time.
fn crossed(first: &str, second: &str) -> String {
    format!(
        "v.0.1 begin
        w.0.1 begin
        v.0.1 send k/0 a @0
        w.0.1 send k/1 b @0
        {first}
        {second}
        v.0.1 commit
        w.0.1 commit"
    )
}

#[test]
fn transactions_that_read_each_other() {
    expect(&crossed("", ""), &[]);
    expect(&crossed("v.0.1 poll k/1 0:b", ""), &["early read"]);
    expect(
        &crossed("v.0.1 poll k/1 0:b", "w.0.1 poll k/0 0:a"),
        &["cycle", "early read"],
    );
    expect(&crossed("v.0.1 poll k/0 0:a", ""), &["cycle", "early read"]);
}

#[test]
fn an_act_that_takes_too_long() {
    expect("w.0.1 begin open\nwait 10\nw.0.1 later begin ok", &[]);
    expect("w.0.1 begin open\nwait 30\nw.0.1 later begin ok", &["stuck"]);
    expect("w.0.1 begin open\nwait 30\nr assign k/0", &["stuck"]);
    expect("w.0.1 begin open\nw.0 crash\nwait 30\nr assign k/0", &[]);
}

#[test]
fn silence_after_a_heal() {
    let story = |within: &str| {
        format!(
            "x heal
            w send k/0 a unknown
            w send k/0 b {within}
            wait 30
            w send k/0 c"
        )
    };
    expect(&story("ok"), &[]);
    expect(&story("unknown"), &["stuck"]);
    expect("x heal\nwait 30\nr assign k/0", &[]);
}

#[test]
fn a_history_that_nobody_can_have_written() {
    expect("w.0.1 commit", &["malformed"]);
    expect("w.0.1 begin\nw.0.1 later commit ok", &["malformed"]);
    expect("w send k/0 a @0\nw send k/0 a @0", &["malformed"]);
    expect("r seek k/0\nr drain k/0", &["malformed"]);
    expect("w.0.1 begin open\nw.0.1 begin", &["malformed"]);
}
