//! Values that are in more than one place.

use super::anomaly::Anomaly;
use super::ledger::Ledger;

pub(super) fn find(ledger: &Ledger<'_>) -> Vec<Anomaly> {
    ledger
        .places
        .iter()
        .filter(|(_, places)| places.len() > 1)
        .map(|(value, places)| Anomaly::Duplicate {
            value: (*value).to_owned(),
            places: places
                .iter()
                .map(|(key, offset)| ((*key).to_owned(), *offset))
                .collect(),
        })
        .collect()
}
