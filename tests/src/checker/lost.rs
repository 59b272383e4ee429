//! Committed values that nobody read though later ones of their partition were read. Needs no reader that came to the end.

use std::collections::BTreeMap;

use super::anomaly::Anomaly;
use super::ledger::{Fate, Ledger};

pub(super) fn find(ledger: &Ledger<'_>) -> Vec<Anomaly> {
    let mut highest: BTreeMap<&str, i64> = BTreeMap::new();
    for (_, places) in ledger.places.iter().filter(|(value, _)| ledger.is_seen(value)) {
        for (key, offset) in places {
            let entry = highest.entry(key).or_insert(*offset);
            *entry = (*entry).max(*offset);
        }
    }
    let mut found = Vec::new();
    for write in &ledger.writes {
        if ledger.is_seen(write.value) || ledger.fate_of(write) != Fate::Committed {
            continue;
        }
        for (key, offset) in ledger.places.get(write.value).into_iter().flatten() {
            if highest.get(key).is_some_and(|highest| offset < highest) {
                found.push(Anomaly::Lost {
                    value: write.value.to_owned(),
                    place: ((*key).to_owned(), *offset),
                });
            }
        }
    }
    found
}
