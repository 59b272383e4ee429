//! Readers that were given records twice or in the wrong order, or not given some in between. An assignment starts anew.

use std::collections::BTreeMap;

use super::anomaly::Anomaly;
use super::ledger::{Fate, Ledger};
use crate::history::{Event, Op, Phase, Start};

pub(super) fn find(ledger: &Ledger<'_>, events: &[Event]) -> Vec<Anomaly> {
    let mut positions: BTreeMap<(&str, u32), BTreeMap<&str, i64>> = BTreeMap::new();
    let mut found = Vec::new();
    for event in events.iter().filter(|event| event.phase == Phase::Ok) {
        let positions = positions.entry((&event.process, event.instance)).or_default();
        match &event.op {
            Op::Assign { keys, start } => {
                positions.clear();
                if *start == Start::Beginning {
                    positions.extend(keys.iter().map(|key| (key.as_str(), -1)));
                }
            }
            Op::Poll { key, records } => {
                for (offset, _) in records {
                    if let Some(last) = positions.insert(key, *offset) {
                        found.extend(compare(ledger, &event.process, key, (last, *offset)));
                    }
                }
            }
            _ => {}
        }
    }
    found
}

/// The step from one record to the next.
fn compare(ledger: &Ledger<'_>, reader: &str, key: &str, offsets: (i64, i64)) -> Option<Anomaly> {
    let (last, next) = offsets;
    if next <= last {
        return Some(Anomaly::NonMonotonicPoll {
            reader: reader.to_owned(),
            key: key.to_owned(),
            offsets,
        });
    }
    let between = ledger.log.get(key)?.range(last + 1..next);
    let is_committed = |value: &str| {
        ledger
            .write(value)
            .is_some_and(|write| ledger.fate_of(write) == Fate::Committed)
    };
    between
        .flat_map(|(offset, values)| values.iter().map(|value| ((*value).to_owned(), *offset)))
        .find(|(value, _)| is_committed(value))
        .map(|skipped| Anomaly::SkippedPoll {
            reader: reader.to_owned(),
            key: key.to_owned(),
            skipped,
        })
}
