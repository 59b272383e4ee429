//! Values that were read though they were aborted or certainly not written.

use super::anomaly::Anomaly;
use super::ledger::{Fate, Ledger};

pub(super) fn find(ledger: &Ledger<'_>) -> Vec<Anomaly> {
    let mut found = Vec::new();
    for ((process, _), reader) in &ledger.readers {
        for value in &reader.saw {
            let is_aborted = ledger
                .write(value)
                .is_some_and(|write| ledger.fate_of(write) == Fate::Aborted);
            if is_aborted {
                found.push(Anomaly::AbortedRead {
                    value: (*value).to_owned(),
                    reader: (*process).to_owned(),
                });
            }
        }
    }
    found
}
