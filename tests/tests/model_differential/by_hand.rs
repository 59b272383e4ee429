//! Scripts with a purpose each.

use crate::script::{Op, Script, Seq, Who};
use Who::{A, B};

const LONG: i32 = 600_000;
/// Long enough for the steps before it, short enough to wait for.
const SHORT: i32 = 4_000;

fn script(name: &str, timeout_ms: i32, ops: &[Op]) -> Script {
    Script {
        name: name.to_owned(),
        timeout_ms,
        ops: ops.to_vec(),
    }
}

const fn init(who: Who) -> Op {
    Op::Init { who, again: false }
}

const fn again(who: Who) -> Op {
    Op::Init { who, again: true }
}

const fn add(partition: i32) -> Op {
    Op::Add {
        who: A,
        partition,
        shift: 0,
    }
}

const fn write(partition: i32, seq: Seq) -> Op {
    Op::Produce {
        who: A,
        partition,
        seq,
        records: 1,
        shift: 0,
    }
}

const fn commit() -> Op {
    Op::End {
        who: A,
        commit: true,
        shift: 0,
    }
}

const fn abort() -> Op {
    Op::End {
        who: A,
        commit: false,
        shift: 0,
    }
}

const fn end(who: Who, commit: bool, shift: i16) -> Op {
    Op::End { who, commit, shift }
}

const fn fetch(partition: i32) -> Op {
    Op::Fetch {
        partition,
        committed: true,
    }
}

const fn fetch_all(partition: i32) -> Op {
    Op::Fetch {
        partition,
        committed: false,
    }
}

const fn offsets(offset: i64) -> Op {
    Op::CommitOffsets {
        who: A,
        offset,
        shift: 0,
        member: "",
        generation: -1,
    }
}

const PRODUCERS: Op = Op::Producers { partition: 0 };
const STABLE: Op = Op::Offsets { stable: true };
const ANY: Op = Op::Offsets { stable: false };

/// All of them.
pub(crate) fn scripts() -> Vec<Script> {
    let mut scripts = whole();
    scripts.extend(epochs());
    scripts.extend(sequences());
    scripts.extend(groups());
    scripts.extend(timeouts());
    scripts
}

fn whole() -> Vec<Script> {
    let look = Op::Describe;
    vec![
        script(
            "nothing is known",
            LONG,
            &[
                look,
                add(0),
                write(0, Seq::Next),
                commit(),
                abort(),
                again(A),
                offsets(1),
                STABLE,
                Op::InitShifted { who: A, shift: 0 },
                look,
                PRODUCERS,
                fetch(0),
                Op::List { state: "Ongoing" },
            ],
        ),
        script(
            "commit and abort",
            LONG,
            &[
                init(A),
                look,
                add(0),
                look,
                write(0, Seq::Next),
                write(0, Seq::Next),
                PRODUCERS,
                fetch(0),
                fetch_all(0),
                Op::List { state: "Ongoing" },
                Op::List { state: "Nonsense" },
                Op::EndOfLog {
                    partition: 0,
                    committed: true,
                },
                Op::EndOfLog {
                    partition: 0,
                    committed: false,
                },
                commit(),
                look,
                PRODUCERS,
                fetch(0),
                add(0),
                add(1),
                write(0, Seq::Next),
                write(1, Seq::Next),
                abort(),
                look,
                fetch(0),
                fetch_all(0),
                fetch(1),
                PRODUCERS,
                Op::List {
                    state: "CompleteAbort",
                },
                Op::EndOfLog {
                    partition: 0,
                    committed: true,
                },
            ],
        ),
        script(
            "ends of nothing",
            LONG,
            &[
                init(A),
                commit(),
                look,
                abort(),
                look,
                abort(),
                commit(),
                add(0),
                commit(),
                look,
                commit(),
                abort(),
                look,
                abort(),
                commit(),
            ],
        ),
        script(
            "double and opposite ends",
            LONG,
            &[
                init(A),
                add(0),
                write(0, Seq::Next),
                commit(),
                end(A, true, -1),
                end(A, false, -1),
                commit(),
                abort(),
                look,
                add(0),
                write(0, Seq::Next),
                abort(),
                end(A, false, -1),
                end(A, true, -1),
                abort(),
                commit(),
                look,
                fetch(0),
            ],
        ),
        script(
            "added and not written",
            LONG,
            &[
                init(A),
                add(0),
                add(1),
                write(1, Seq::Next),
                look,
                commit(),
                fetch_all(0),
                fetch_all(1),
                PRODUCERS,
            ],
        ),
        script(
            "written and not added",
            LONG,
            &[
                init(A),
                write(0, Seq::Next),
                look,
                add(1),
                write(0, Seq::Next),
                look,
                write(1, Seq::Next),
                commit(),
                fetch(0),
                fetch(1),
            ],
        ),
        script(
            "late writes",
            LONG,
            &[
                init(A),
                add(0),
                write(0, Seq::Next),
                commit(),
                write(0, Seq::Next),
                look,
                Op::Produce {
                    who: A,
                    partition: 0,
                    seq: Seq::Repeat,
                    records: 1,
                    shift: -1,
                },
                fetch_all(0),
                abort(),
                look,
                fetch_all(0),
            ],
        ),
        script(
            "unknown partitions",
            LONG,
            &[
                init(A),
                Op::AddUnknown { who: A },
                look,
                write(99, Seq::Next),
                add(0),
                Op::AddUnknown { who: A },
                look,
                abort(),
                fetch(99),
                Op::EndOfLog {
                    partition: 99,
                    committed: true,
                },
                Op::Producers { partition: 99 },
            ],
        ),
        script(
            "the other mode's end",
            LONG,
            &[
                init(A),
                add(0),
                write(0, Seq::Next),
                Op::EndOtherMode { who: A, commit: true },
                look,
                fetch(0),
                Op::EndOtherMode { who: A, commit: true },
                again(A),
                look,
                add(0),
                write(0, Seq::Next),
                commit(),
                fetch(0),
                PRODUCERS,
            ],
        ),
        script(
            "plain writes with a transactional id",
            LONG,
            &[
                init(A),
                Op::ProducePlain {
                    who: A,
                    partition: 0,
                    seq: Seq::Next,
                },
                PRODUCERS,
                add(0),
                write(0, Seq::Next),
                Op::ProducePlain {
                    who: A,
                    partition: 0,
                    seq: Seq::Next,
                },
                commit(),
                Op::ProducePlain {
                    who: A,
                    partition: 0,
                    seq: Seq::Next,
                },
                Op::ProducePlain {
                    who: A,
                    partition: 0,
                    seq: Seq::Gap,
                },
                fetch(0),
            ],
        ),
        script(
            "a marker by hand",
            LONG,
            &[
                init(A),
                add(0),
                write(0, Seq::Next),
                Op::WriteAbort { who: A, partition: 0 },
                look,
                fetch(0),
                PRODUCERS,
                write(0, Seq::Next),
                commit(),
                fetch(0),
                PRODUCERS,
                Op::WriteAbort { who: A, partition: 1 },
                Op::Producers { partition: 1 },
                fetch_all(1),
                Op::WriteAbort {
                    who: A,
                    partition: 99,
                },
            ],
        ),
    ]
}

fn epochs() -> Vec<Script> {
    let look = Op::Describe;
    let shifted = |shift| Op::Add {
        who: A,
        partition: 0,
        shift,
    };
    let write_shifted = |shift| Op::Produce {
        who: A,
        partition: 0,
        seq: Seq::At(0),
        records: 1,
        shift,
    };
    vec![
        script(
            "init again",
            LONG,
            &[
                init(A),
                again(A),
                again(A),
                Op::InitShifted { who: A, shift: -1 },
                look,
                Op::InitShifted { who: A, shift: -2 },
                Op::InitShifted { who: A, shift: 1 },
                init(A),
                Op::InitShifted { who: A, shift: -1 },
                look,
            ],
        ),
        script(
            "init with an open transaction",
            LONG,
            &[
                init(A),
                add(0),
                write(0, Seq::Next),
                init(B),
                look,
                fetch(0),
                PRODUCERS,
                init(B),
                look,
                write(0, Seq::Next),
                add(0),
                commit(),
                abort(),
                again(A),
                Op::Add {
                    who: B,
                    partition: 0,
                    shift: 0,
                },
                Op::Produce {
                    who: B,
                    partition: 0,
                    seq: Seq::Next,
                    records: 2,
                    shift: 0,
                },
                write(0, Seq::Next),
                end(B, true, 0),
                fetch(0),
                commit(),
                PRODUCERS,
            ],
        ),
        script(
            "init with one's own open transaction",
            LONG,
            &[
                init(A),
                add(0),
                write(0, Seq::Next),
                again(A),
                look,
                again(A),
                look,
                again(A),
                add(0),
                write(0, Seq::Next),
                commit(),
                fetch(0),
            ],
        ),
        script(
            "wrong epochs",
            LONG,
            &[
                init(A),
                again(A),
                shifted(1),
                shifted(-1),
                write_shifted(1),
                write_shifted(-1),
                end(A, true, 1),
                end(A, true, -1),
                end(A, false, 1),
                end(A, false, -1),
                add(0),
                write(0, Seq::Next),
                shifted(1),
                shifted(-1),
                write_shifted(1),
                write_shifted(-1),
                end(A, true, 1),
                end(A, true, -1),
                end(A, false, 1),
                end(A, false, -1),
                look,
                Op::InitShifted { who: A, shift: 1 },
                look,
            ],
        ),
        script(
            "a zombie ends and writes",
            LONG,
            &[
                init(A),
                add(0),
                write(0, Seq::Next),
                commit(),
                init(B),
                abort(),
                commit(),
                write(0, Seq::Next),
                add(0),
                again(A),
                look,
                Op::Add {
                    who: B,
                    partition: 0,
                    shift: 0,
                },
                Op::Produce {
                    who: B,
                    partition: 0,
                    seq: Seq::At(0),
                    records: 1,
                    shift: 0,
                },
                write(0, Seq::Next),
                abort(),
                commit(),
                add(0),
                end(B, true, 0),
                fetch(0),
                PRODUCERS,
            ],
        ),
    ]
}

fn sequences() -> Vec<Script> {
    vec![
        script(
            "sequences",
            LONG,
            &[
                init(A),
                add(0),
                write(0, Seq::At(0)),
                write(0, Seq::Repeat),
                write(0, Seq::Gap),
                write(0, Seq::At(1)),
                write(0, Seq::At(0)),
                write(0, Seq::At(2)),
                write(0, Seq::At(3)),
                write(0, Seq::At(4)),
                write(0, Seq::At(5)),
                write(0, Seq::At(0)),
                write(0, Seq::At(1)),
                Op::Produce {
                    who: A,
                    partition: 0,
                    seq: Seq::At(4),
                    records: 2,
                    shift: 0,
                },
                write(0, Seq::At(5)),
                commit(),
                add(0),
                write(0, Seq::Next),
                write(0, Seq::At(5)),
                write(0, Seq::At(6)),
                PRODUCERS,
                fetch(0),
                abort(),
                PRODUCERS,
            ],
        ),
        script(
            "a first sequence that is not 0",
            LONG,
            &[
                init(A),
                add(0),
                write(0, Seq::At(3)),
                PRODUCERS,
                write(0, Seq::At(0)),
                write(0, Seq::At(4)),
                write(0, Seq::At(3)),
                write(0, Seq::At(2)),
                commit(),
                fetch(0),
                again(A),
                add(0),
                write(0, Seq::At(7)),
                write(0, Seq::At(0)),
                write(0, Seq::At(1)),
                commit(),
                fetch(0),
                PRODUCERS,
            ],
        ),
        script(
            "a first attempt that was refused",
            LONG,
            &[
                init(A),
                write(0, Seq::At(0)),
                add(0),
                write(0, Seq::At(4)),
                write(0, Seq::At(0)),
                write(0, Seq::At(4)),
                commit(),
                fetch(0),
                write(1, Seq::At(2)),
                add(1),
                write(1, Seq::At(3)),
                write(1, Seq::At(2)),
                commit(),
                fetch(1),
            ],
        ),
        script(
            "sequences go round",
            LONG,
            &[
                init(A),
                add(0),
                write(0, Seq::At(0)),
                write(0, Seq::At(i32::MAX)),
                Op::ProducePlain {
                    who: B,
                    partition: 1,
                    seq: Seq::At(i32::MAX - 1),
                },
                Op::ProducePlain {
                    who: B,
                    partition: 1,
                    seq: Seq::At(i32::MAX),
                },
                Op::ProducePlain {
                    who: B,
                    partition: 1,
                    seq: Seq::At(0),
                },
                Op::ProducePlain {
                    who: B,
                    partition: 1,
                    seq: Seq::At(i32::MAX),
                },
                Op::Producers { partition: 1 },
                fetch_all(1),
            ],
        ),
        script(
            "a new epoch's sequences",
            LONG,
            &[
                init(A),
                add(0),
                write(0, Seq::Next),
                commit(),
                again(A),
                add(0),
                write(0, Seq::At(1)),
                write(0, Seq::At(0)),
                write(0, Seq::At(0)),
                commit(),
                PRODUCERS,
                again(A),
                PRODUCERS,
                add(0),
                abort(),
                PRODUCERS,
                fetch(0),
            ],
        ),
    ]
}

fn groups() -> Vec<Script> {
    let look = Op::Describe;
    let add_offsets = Op::AddOffsets { who: A, shift: 0 };
    let by = |member, generation| Op::CommitOffsets {
        who: A,
        offset: 9,
        shift: 0,
        member,
        generation,
    };
    let shifted = |shift| Op::CommitOffsets {
        who: A,
        offset: 5,
        shift,
        member: "",
        generation: -1,
    };
    vec![
        script(
            "offsets",
            LONG,
            &[
                ANY,
                STABLE,
                init(A),
                add_offsets,
                look,
                offsets(3),
                STABLE,
                ANY,
                commit(),
                STABLE,
                ANY,
                add_offsets,
                offsets(7),
                STABLE,
                ANY,
                abort(),
                STABLE,
                ANY,
                look,
                offsets(8),
                look,
                abort(),
                STABLE,
            ],
        ),
        script(
            "offsets and records",
            LONG,
            &[
                init(A),
                add(0),
                write(0, Seq::Next),
                add_offsets,
                offsets(1),
                look,
                STABLE,
                offsets(2),
                commit(),
                STABLE,
                fetch(0),
                look,
            ],
        ),
        script(
            "offsets of wrong epochs",
            LONG,
            &[
                init(A),
                again(A),
                Op::AddOffsets { who: A, shift: 1 },
                Op::AddOffsets { who: A, shift: -1 },
                shifted(1),
                shifted(-1),
                look,
                add_offsets,
                shifted(1),
                shifted(-1),
                offsets(4),
                shifted(1),
                shifted(-1),
                look,
                commit(),
                STABLE,
                init(B),
                offsets(5),
                add_offsets,
                STABLE,
            ],
        ),
        script(
            "offsets of members that nobody knows",
            LONG,
            &[
                init(A),
                add_offsets,
                by("nobody", -1),
                by("", 3),
                by("nobody", 3),
                look,
                abort(),
                ANY,
                add_offsets,
                offsets(2),
                by("nobody", -1),
                by("", 3),
                by("nobody", 3),
                commit(),
                ANY,
                add_offsets,
                by("nobody", 0),
                by("", 0),
                abort(),
                ANY,
            ],
        ),
        script(
            "first offsets with a generation",
            LONG,
            &[init(A), add_offsets, by("", 3), by("nobody", 3), commit(), ANY],
        ),
        script(
            "offsets without AddOffsets",
            LONG,
            &[init(A), offsets(6), look, STABLE, commit(), look, STABLE, abort()],
        ),
    ]
}

fn timeouts() -> Vec<Script> {
    let look = Op::Describe;
    vec![
        script(
            "a timeout, then abort",
            SHORT,
            &[
                init(A),
                add(0),
                write(0, Seq::Next),
                Op::Expire,
                look,
                fetch(0),
                PRODUCERS,
                write(0, Seq::Next),
                add(0),
                abort(),
                look,
                abort(),
                commit(),
                again(A),
                look,
            ],
        ),
        script(
            "a timeout, then commit",
            SHORT,
            &[
                init(A),
                add(0),
                write(0, Seq::Next),
                Op::AddOffsets { who: A, shift: 0 },
                offsets(1),
                Op::Expire,
                STABLE,
                offsets(2),
                commit(),
                look,
                again(A),
                look,
                init(B),
                look,
                fetch(0),
            ],
        ),
        script(
            "a timeout, then init",
            SHORT,
            &[
                init(A),
                add(0),
                write(0, Seq::Next),
                Op::Expire,
                again(A),
                look,
                again(A),
                add(0),
                write(0, Seq::At(0)),
                commit(),
                fetch(0),
                look,
            ],
        ),
    ]
}
