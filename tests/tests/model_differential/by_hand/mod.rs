//! Scripts with a purpose each.

mod epochs;
mod exhaustion;
mod groups;
mod sequences;
mod timeouts;
mod whole;

use crate::script::{Op, Script, Seq, Who};
use Who::A;

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

/// What happens when the epochs of a producer id are used up. Apart from the others: it takes 32,766 requests.
pub(crate) fn used_up() -> Vec<Script> {
    exhaustion::scripts()
}

/// All others.
pub(crate) fn scripts() -> Vec<Script> {
    let mut scripts = whole::scripts();
    scripts.extend(epochs::scripts());
    scripts.extend(sequences::scripts());
    scripts.extend(groups::scripts());
    scripts.extend(timeouts::scripts());
    scripts
}
