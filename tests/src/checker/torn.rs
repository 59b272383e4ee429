//! Transactions of which a part is there and a part is not, for a reader that read the missing part's partition to its end.

use super::anomaly::Anomaly;
use super::ledger::Ledger;

pub(super) fn find(ledger: &Ledger<'_>) -> Vec<Anomaly> {
    let mut found = Vec::new();
    for (author, account) in &ledger.transactions {
        let Some(transaction) = author.txn() else { continue };
        let seen = ledger
            .values(account)
            .filter(|write| ledger.is_seen(write.value))
            .count();
        let missing: Vec<String> = ledger
            .values(account)
            .filter(|write| !ledger.is_seen(write.value))
            .filter(|write| {
                ledger
                    .readers
                    .values()
                    .any(|reader| reader.drained.contains(write.key))
            })
            .map(|write| write.value.to_owned())
            .collect();
        if seen > 0 && !missing.is_empty() {
            found.push(Anomaly::Torn {
                transaction,
                seen,
                missing,
            });
        }
    }
    found
}
