//! Intentions and how they ended, put together.

use std::collections::BTreeMap;

use crate::history::{Event, Op, Phase};

/// An intention; both are indices into the history.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub(super) invoke: usize,
    pub(super) end: Option<usize>,
}

/// Who does what: an instance does one thing of a kind at a time, but may have many records on their way.
type Name<'h> = (&'h str, u32, Option<u64>, String);

pub(super) fn pair(events: &[Event]) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    let mut open: BTreeMap<Name<'_>, usize> = BTreeMap::new();
    for (index, event) in events.iter().enumerate() {
        let name = (
            event.process.as_str(),
            event.instance,
            event.transaction,
            kind(&event.op),
        );
        if event.phase == Phase::Invoke {
            open.insert(name, calls.len());
            calls.push(Call {
                invoke: index,
                end: None,
            });
        } else if let Some(call) = open.remove(&name).and_then(|call| calls.get_mut(call)) {
            call.end = Some(index);
        }
    }
    calls
}

/// What is done, without what it gave.
pub(super) fn kind(op: &Op) -> String {
    match op {
        Op::Begin => "begin".to_owned(),
        Op::Send { key, value, .. } => format!("send {value} to {key}"),
        Op::SendOffsets { group, key, .. } => format!("send offsets of {key} for {group}"),
        Op::Commit => "commit".to_owned(),
        Op::Abort => "abort".to_owned(),
        Op::Assign { .. } => "assign".to_owned(),
        Op::Poll { key, .. } => format!("poll {key}"),
        Op::Drain { key } => format!("drain {key}"),
        Op::GroupOffset { group, key, .. } => format!("ask the offset of {key} for {group}"),
        Op::Fenced => "fenced".to_owned(),
        Op::Crash => "crash".to_owned(),
        Op::Heal => "heal".to_owned(),
    }
}
