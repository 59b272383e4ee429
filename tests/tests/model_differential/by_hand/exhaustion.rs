//! The last epochs of a producer id, and the id behind it.

use super::{LONG, PRODUCERS, abort, add, again, commit, end, fetch, init, script, write};
use crate::script::Who::{A, B};
use crate::script::{Op, Script, Seq};

/// The last epoch that a client gets.
const LAST: i16 = i16::MAX - 1;

pub(super) fn scripts() -> Vec<Script> {
    let look = Op::Describe;
    let use_up = |until| Op::UseUp { who: A, until };
    vec![
        script(
            "used up by init",
            LONG,
            &[
                init(A),
                use_up(LAST),
                look,
                again(A),
                look,
                again(A),
                look,
                Op::InitShifted { who: B, shift: 0 },
            ],
        ),
        script(
            "used up by a transaction",
            LONG,
            &[
                init(A),
                use_up(LAST - 1),
                add(0),
                write(0, Seq::Next),
                commit(),
                look,
                add(0),
                write(0, Seq::Next),
                look,
                PRODUCERS,
                commit(),
                look,
                PRODUCERS,
                end(A, true, 0),
                add(0),
                write(0, Seq::Next),
                abort(),
                look,
                fetch(0),
                PRODUCERS,
            ],
        ),
        script(
            "used up by being fenced",
            LONG,
            &[
                init(A),
                use_up(LAST),
                add(0),
                write(0, Seq::Next),
                init(B),
                look,
                again(A),
                look,
                init(B),
                look,
                fetch(0),
                PRODUCERS,
            ],
        ),
    ]
}
