//! Scripts from a seed: any step may follow any other, the likely ones more often.

use crate::script::{Op, Script, Seq, Who};

/// Steps of a script.
const STEPS: usize = 30;

/// The script of a seed. `later_epochs`: with requests whose epoch is later than what the coordinator gave.
pub(crate) fn script(seed: u64, later_epochs: bool) -> Script {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut ops = vec![Op::Init {
        who: Who::A,
        again: false,
    }];
    ops.extend((0..STEPS).map(|_| step(&mut rng, later_epochs)));
    ops.extend([
        Op::Describe,
        Op::Producers { partition: 0 },
        Op::Producers { partition: 1 },
        Op::Fetch {
            partition: 0,
            committed: true,
        },
        Op::Fetch {
            partition: 1,
            committed: true,
        },
        Op::Offsets { stable: true },
    ]);
    Script {
        name: format!("seed {seed}"),
        timeout_ms: 600_000,
        ops,
    }
}

fn step(rng: &mut fastrand::Rng, later_epochs: bool) -> Op {
    let who = if rng.u8(..4) == 0 { Who::B } else { Who::A };
    let partition = rng.i32(0..2);
    let shift = match rng.u8(..12) {
        0 => -1,
        1 if later_epochs => 1,
        _ => 0,
    };
    let seq = match rng.u8(..8) {
        0 => Seq::Repeat,
        1 => Seq::Gap,
        2 => Seq::At(rng.i32(0..4)),
        _ => Seq::Next,
    };
    let commit = rng.bool();
    match rng.u8(..40) {
        0..=1 => Op::Init {
            who,
            again: rng.bool(),
        },
        2 => Op::InitShifted {
            who,
            shift: rng.i16(-2..2),
        },
        3..=10 => Op::Add {
            who,
            partition,
            shift,
        },
        11..=22 => Op::Produce {
            who,
            partition,
            seq,
            records: rng.i32(1..4),
            shift,
        },
        23 => Op::ProducePlain { who, partition, seq },
        24..=30 => Op::End { who, commit, shift },
        31 => Op::EndOtherMode { who, commit },
        32..=33 => Op::AddOffsets { who, shift },
        34..=36 => Op::CommitOffsets {
            who,
            offset: rng.i64(0..100),
            shift,
            member: "",
            generation: -1,
        },
        37 => Op::Offsets { stable: rng.bool() },
        38 => Op::WriteAbort { who, partition },
        _ => Op::Describe,
    }
}
