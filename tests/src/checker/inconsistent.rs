//! Offsets that hold different values, depending on who is asked.

use super::anomaly::Anomaly;
use super::ledger::Ledger;

pub(super) fn find(ledger: &Ledger<'_>) -> Vec<Anomaly> {
    let mut found = Vec::new();
    for (key, offsets) in &ledger.log {
        for (offset, values) in offsets.iter().filter(|(_, values)| values.len() > 1) {
            found.push(Anomaly::InconsistentOffset {
                key: (*key).to_owned(),
                offset: *offset,
                values: values.iter().map(|value| (*value).to_owned()).collect(),
            });
        }
    }
    found
}
