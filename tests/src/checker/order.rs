//! Records of one process and partition that are in the log in another order than they were sent.

use std::collections::BTreeMap;

use super::anomaly::Anomaly;
use super::ledger::Ledger;

pub(super) fn find(ledger: &Ledger<'_>) -> Vec<Anomaly> {
    let mut last: BTreeMap<(&str, &str), (i64, &str)> = BTreeMap::new();
    let mut found = Vec::new();
    for write in &ledger.writes {
        let places = ledger.places.get(write.value).into_iter().flatten();
        let Some((_, offset)) = places.clone().find(|(key, _)| *key == write.key) else {
            continue;
        };
        let name = (write.author.process, write.key);
        match last.get(&name) {
            Some((before, value)) if before > offset => found.push(Anomaly::OutOfOrder {
                process: write.author.process.to_owned(),
                key: write.key.to_owned(),
                values: ((*value).to_owned(), write.value.to_owned()),
            }),
            _ => {
                last.insert(name, (*offset, write.value));
            }
        }
    }
    found
}
