//! Histories in short: one act per line, one millisecond per event.
//!
//! `w.0.1 send k/0 a @3` is process `w`, instance 0, transaction 1, its intention and its success with an offset. The last word says how
//! it ended: nothing is ok, else `fail`, `unknown` or `open` (no end). `w.0.1 later commit ok` is an end alone.

use std::time::Duration;

use super::super::{Anomaly, Limits, check};
use crate::history::{Event, Op, Phase, Start};

/// Longest that an act in a story may take.
pub(super) const PATIENCE: Duration = Duration::from_millis(20);

pub(super) fn judge(events: &[Event]) -> Vec<Anomaly> {
    check(events, Limits { patience: PATIENCE })
}

pub(super) fn events(story: &str) -> Vec<Event> {
    let mut events = Vec::new();
    let mut at = 0;
    for line in story.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["wait", millis] => at += millis.parse::<u64>().unwrap() * 1000,
            [who, rest @ ..] => {
                for (phase, op) in acts(rest) {
                    at += 1000;
                    events.push(event(at, who, phase, op));
                }
            }
            [] => {}
        }
    }
    events
}

fn event(at: u64, who: &str, phase: Phase, op: Op) -> Event {
    let mut who = who.split('.');
    Event {
        at,
        process: who.next().unwrap().to_owned(),
        instance: who.next().map_or(0, |instance| instance.parse().unwrap()),
        transaction: who.next().map(|number| number.parse().unwrap()),
        phase,
        op,
    }
}

fn acts(words: &[&str]) -> Vec<(Phase, Op)> {
    let (end, words) = match words {
        [words @ .., "fail"] => (Some(Phase::Fail("so".into())), words),
        [words @ .., "unknown"] => (Some(Phase::Unknown("so".into())), words),
        [words @ .., "open"] => (None, words),
        [words @ .., "ok"] | words => (Some(Phase::Ok), words),
    };
    let end_of = |op: Op| end.clone().map(|phase| (phase, op));
    match words {
        ["later", verb @ ..] => end_of(writing(verb)).into_iter().collect(),
        ["begin" | "send" | "offsets" | "commit" | "abort", ..] => {
            let intention = match writing(words) {
                Op::Send { key, value, .. } => Op::Send {
                    key,
                    value,
                    offset: None,
                },
                other => other,
            };
            std::iter::once((Phase::Invoke, intention))
                .chain(end_of(writing(words)))
                .collect()
        }
        _ => vec![(Phase::Ok, reading(words))],
    }
}

fn writing(words: &[&str]) -> Op {
    match words {
        ["begin"] => Op::Begin,
        ["commit"] => Op::Commit,
        ["abort"] => Op::Abort,
        ["send", key, value, rest @ ..] => Op::Send {
            key: (*key).to_owned(),
            value: (*value).to_owned(),
            offset: rest
                .first()
                .map(|offset| offset.trim_start_matches('@').parse().unwrap()),
        },
        ["offsets", group, key, offset] => Op::SendOffsets {
            group: (*group).to_owned(),
            key: (*key).to_owned(),
            offset: offset.parse().unwrap(),
        },
        other => panic!("{other:?}"),
    }
}

fn reading(words: &[&str]) -> Op {
    let owned = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
    match words {
        ["assign", keys @ ..] => Op::Assign {
            keys: owned(keys),
            start: Start::Beginning,
        },
        ["seek", keys @ ..] => Op::Assign {
            keys: owned(keys),
            start: Start::Elsewhere,
        },
        ["poll", key, records @ ..] => Op::Poll {
            key: (*key).to_owned(),
            records: records
                .iter()
                .map(|record| record.split_once(':').unwrap())
                .map(|(offset, value)| (offset.parse().unwrap(), value.to_owned()))
                .collect(),
        },
        ["drain", key] => Op::Drain {
            key: (*key).to_owned(),
        },
        ["group", group, key, offset] => Op::GroupOffset {
            group: (*group).to_owned(),
            key: (*key).to_owned(),
            offset: offset.parse().ok(),
        },
        ["fenced"] => Op::Fenced,
        ["crash"] => Op::Crash,
        ["heal"] => Op::Heal,
        other => panic!("{other:?}"),
    }
}
