//! Acts that took too long or never ended, and silence after a heal.

use std::collections::BTreeMap;

use super::Limits;
use super::anomaly::Anomaly;
use super::calls::{Call, kind};
use crate::history::{Event, Op, Phase};

pub(super) fn find(events: &[Event], calls: &[Call], limits: Limits) -> Vec<Anomaly> {
    let patience = u64::try_from(limits.patience.as_micros()).unwrap_or(u64::MAX);
    let mut found = slow(events, calls, patience);
    found.extend(silent(events, calls, patience));
    found
}

fn slow(events: &[Event], calls: &[Call], patience: u64) -> Vec<Anomaly> {
    let over = events.last().map_or(0, |event| event.at);
    let mut crashes: BTreeMap<(&str, u32), u64> = BTreeMap::new();
    for event in events.iter().filter(|event| event.op == Op::Crash) {
        crashes.insert((&event.process, event.instance), event.at);
    }
    let mut found = Vec::new();
    for call in calls {
        let Some(event) = events.get(call.invoke) else {
            continue;
        };
        let crash = crashes.get(&(event.process.as_str(), event.instance)).copied();
        let end = call.end.and_then(|end| events.get(end)).map(|event| event.at);
        let end = end.or(crash).unwrap_or(over);
        let took = end.saturating_sub(event.at);
        if took > patience {
            found.push(Anomaly::Stuck {
                what: format!("{}.{}: {}", event.process, event.instance, kind(&event.op)),
                millis: took / 1000,
            });
        }
    }
    found
}

/// Something was being done for the whole of the time after a heal, and nothing of it succeeded.
fn silent(events: &[Event], calls: &[Call], patience: u64) -> Vec<Anomaly> {
    let over = events.last().map_or(0, |event| event.at);
    let heals = events
        .iter()
        .filter(|event| event.op == Op::Heal)
        .map(|event| event.at);
    let mut found = Vec::new();
    for heal in heals.filter(|heal| heal.saturating_add(patience) <= over) {
        let within = heal..=heal.saturating_add(patience);
        let succeeded = events
            .iter()
            .any(|event| event.phase == Phase::Ok && event.op != Op::Heal && within.contains(&event.at));
        let begun = |call: &Call| {
            let invoke = events.get(call.invoke).map_or(0, |event| event.at);
            let end = call
                .end
                .and_then(|end| events.get(end))
                .map_or(over, |event| event.at);
            invoke <= *within.end() && end >= heal
        };
        if !succeeded && calls.iter().any(begun) {
            found.push(Anomaly::Stuck {
                what: "nothing succeeded after a heal".to_owned(),
                millis: patience / 1000,
            });
        }
    }
    found
}
