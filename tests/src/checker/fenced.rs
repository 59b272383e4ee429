//! Instances that did something new successfully after they were told that they are fenced. What was under way may still end well.

use std::collections::BTreeMap;

use super::anomaly::Anomaly;
use super::calls::{Call, kind};
use crate::history::{Event, Op, Phase};

pub(super) fn find(events: &[Event], calls: &[Call]) -> Vec<Anomaly> {
    let mut told: BTreeMap<(&str, u32), usize> = BTreeMap::new();
    for (index, event) in events.iter().enumerate() {
        if event.op == Op::Fenced {
            told.entry((&event.process, event.instance)).or_insert(index);
        }
    }
    let mut found = Vec::new();
    for call in calls {
        let (Some(event), Some(end)) = (events.get(call.invoke), call.end.and_then(|end| events.get(end)))
        else {
            continue;
        };
        let told = told.get(&(event.process.as_str(), event.instance));
        let is_writing = matches!(
            event.op,
            Op::Begin | Op::Send { .. } | Op::SendOffsets { .. } | Op::Commit | Op::Abort
        );
        if is_writing && end.phase == Phase::Ok && told.is_some_and(|told| *told < call.invoke) {
            found.push(Anomaly::SuccessAfterFenced {
                instance: format!("{}.{}", event.process, event.instance),
                op: kind(&event.op),
            });
        }
    }
    found
}
