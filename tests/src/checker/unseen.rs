//! Committed values that were not there for a reader that read their partition from beginning to end.

use super::anomaly::Anomaly;
use super::ledger::{Fate, Ledger};

pub(super) fn find(ledger: &Ledger<'_>) -> Vec<Anomaly> {
    let mut found = Vec::new();
    for ((process, _), reader) in ledger
        .readers
        .iter()
        .filter(|(_, reader)| !reader.drained.is_empty())
    {
        for write in &ledger.writes {
            if reader.drained.contains(write.key)
                && !reader.saw.contains(write.value)
                && ledger.fate_of(write) == Fate::Committed
            {
                found.push(Anomaly::Unseen {
                    value: write.value.to_owned(),
                    reader: (*process).to_owned(),
                });
            }
        }
    }
    found
}
