//! Transactions that time out.

use super::{PRODUCERS, SHORT, STABLE, abort, add, again, commit, fetch, init, offsets, script, write};
use crate::script::Who::{A, B};
use crate::script::{Op, Script, Seq};

pub(super) fn scripts() -> Vec<Script> {
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
