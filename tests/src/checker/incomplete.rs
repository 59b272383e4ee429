//! Commits that succeeded although one of the transaction's records or offsets had certainly failed.

use super::anomaly::Anomaly;
use super::ledger::{Fate, Ledger};

pub(super) fn find(ledger: &Ledger<'_>) -> Vec<Anomaly> {
    let mut found = Vec::new();
    for (author, account) in &ledger.transactions {
        let Some(transaction) = author.txn() else { continue };
        if ledger.fate(account) != Fate::Committed {
            continue;
        }
        let values = ledger
            .values(account)
            .filter(|write| write.result == Fate::Aborted);
        let offsets = account.offsets.iter().filter(|(.., failed)| *failed);
        let failed = values
            .map(|write| write.value.to_owned())
            .chain(offsets.map(|(group, key, offset, _)| format!("offset {offset} of {key} for {group}")));
        found.extend(failed.map(|failed| Anomaly::IncompleteCommit {
            transaction: transaction.clone(),
            failed,
        }));
    }
    found
}
