//! Groups whose committed offset is not that of the last committed transaction. Offsets of a group and partition are sent by one
//! process at a time.

use std::collections::BTreeMap;

use super::anomaly::Anomaly;
use super::ledger::{Author, Fate, Ledger};
use crate::history::{Event, Op, Phase};

pub(super) fn find(ledger: &Ledger<'_>, events: &[Event]) -> Vec<Anomaly> {
    let mut possible: BTreeMap<(&str, &str), Vec<Option<i64>>> = BTreeMap::new();
    let mut found = Vec::new();
    for event in events {
        match (&event.op, &event.phase) {
            (Op::SendOffsets { group, key, offset }, Phase::Invoke) => {
                let author = Author {
                    process: &event.process,
                    instance: event.instance,
                    transaction: event.transaction,
                };
                let fate = ledger
                    .transactions
                    .get(&author)
                    .map_or(Fate::Unknown, |account| ledger.fate(account));
                let possible = possible.entry((group, key)).or_insert_with(|| vec![None]);
                match fate {
                    Fate::Committed => *possible = vec![Some(*offset)],
                    Fate::Unknown => possible.push(Some(*offset)),
                    Fate::Aborted => {}
                }
            }
            (
                Op::GroupOffset {
                    group,
                    key,
                    offset: at,
                },
                Phase::Ok,
            ) => {
                let possible = possible.get(&(group.as_str(), key.as_str()));
                let possible = possible.cloned().unwrap_or_else(|| vec![None]);
                if !possible.contains(at) {
                    found.push(Anomaly::OffsetMismatch {
                        group: (group.clone(), key.clone()),
                        found: *at,
                        possible,
                    });
                }
            }
            _ => {}
        }
    }
    found
}
