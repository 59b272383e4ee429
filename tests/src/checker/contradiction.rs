//! Outcomes that were told twice, differently.

use super::anomaly::Anomaly;
use super::ledger::Ledger;

pub(super) fn find(ledger: &Ledger<'_>) -> Vec<Anomaly> {
    ledger
        .transactions
        .iter()
        .filter(|(_, account)| account.told_ok && account.told_fail)
        .filter_map(|(author, _)| author.txn())
        .map(|transaction| Anomaly::Contradiction { transaction })
        .collect()
}
