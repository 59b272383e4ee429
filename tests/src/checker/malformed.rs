//! Histories that no workload can have written: a bug of the harness, which would hide others.

use std::collections::{BTreeMap, BTreeSet};

use super::anomaly::Anomaly;
use super::calls::kind;
use crate::history::{Event, Op, Phase, Start};

/// Process, instance, transaction.
type Place<'h> = (&'h str, u32, Option<u64>);

#[derive(Debug, Default)]
struct Register<'h> {
    open: BTreeSet<(Place<'h>, String)>,
    begun: BTreeSet<Place<'h>>,
    doubtful: BTreeSet<Place<'h>>,
    values: BTreeSet<&'h str>,
    unread: BTreeMap<(&'h str, u32), BTreeSet<&'h str>>,
    last: u64,
}

pub(super) fn find(events: &[Event]) -> Vec<Anomaly> {
    let mut register = Register::default();
    events
        .iter()
        .enumerate()
        .filter_map(|(index, event)| {
            let why = register.enter(event)?;
            Some(Anomaly::Malformed {
                event: index,
                why: format!("{why}: {} of {}", kind(&event.op), event.process),
            })
        })
        .collect()
}

impl<'h> Register<'h> {
    /// What is wrong with the next event.
    fn enter(&mut self, event: &'h Event) -> Option<&'static str> {
        let is_back_in_time = event.at < self.last;
        self.last = event.at;
        if is_back_in_time {
            return Some("time runs backwards");
        }
        match &event.op {
            Op::Begin | Op::Send { .. } | Op::SendOffsets { .. } | Op::Commit | Op::Abort => {
                self.enter_writing(event)
            }
            Op::Assign { keys, start } => {
                let unread = self.unread.entry((&event.process, event.instance)).or_default();
                match start {
                    Start::Beginning => unread.extend(keys.iter().map(String::as_str)),
                    Start::Elsewhere => unread.clear(),
                }
                None
            }
            Op::Drain { key } => {
                let unread = self.unread.entry((&event.process, event.instance)).or_default();
                (!unread.remove(key.as_str())).then_some("the partition was not read from its beginning")
            }
            Op::Poll { .. } | Op::GroupOffset { .. } | Op::Fenced | Op::Crash | Op::Heal => None,
        }
    }

    fn enter_writing(&mut self, event: &'h Event) -> Option<&'static str> {
        let place: Place<'h> = (&event.process, event.instance, event.transaction);
        let call = (place, kind(&event.op));
        if event.phase == Phase::Invoke {
            let is_new = match &event.op {
                Op::Send { value, .. } => self.values.insert(value),
                _ => true,
            };
            let is_within =
                event.op == Op::Begin || event.transaction.is_none() || self.begun.contains(&place);
            return match (self.open.insert(call), is_new, is_within) {
                (false, ..) => Some("it is under way already"),
                (_, false, _) => Some("the value was sent before"),
                (.., false) => Some("the transaction has not begun"),
                (true, true, true) => None,
            };
        }
        if event.op == Op::Begin && event.phase == Phase::Ok {
            self.begun.insert(place);
        }
        let is_doubtful = event.op == Op::Commit && self.doubtful.remove(&place);
        if event.op == Op::Commit && matches!(event.phase, Phase::Unknown(_)) {
            self.doubtful.insert(place);
        }
        (!self.open.remove(&call) && !is_doubtful).then_some("it was not under way")
    }
}
