//! Values that were read though nobody sent them.

use super::anomaly::Anomaly;
use super::ledger::Ledger;

pub(super) fn find(ledger: &Ledger<'_>) -> Vec<Anomaly> {
    ledger
        .places
        .keys()
        .filter(|value| ledger.write(value).is_none())
        .map(|value| Anomaly::Invented {
            value: (*value).to_owned(),
        })
        .collect()
}
