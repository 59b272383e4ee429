//! Values that were read before their commit was asked for. An intention is written down before it is acted on, and what was
//! read is written down afterwards, so that the order of the history proves it.

use super::anomaly::Anomaly;
use super::ledger::Ledger;
use crate::history::{Event, Op, Phase};

pub(super) fn find(ledger: &Ledger<'_>, events: &[Event]) -> Vec<Anomaly> {
    let mut found = Vec::new();
    for (index, event) in events.iter().enumerate() {
        let (Op::Poll { records, .. }, Phase::Ok) = (&event.op, &event.phase) else {
            continue;
        };
        for (_, value) in records {
            let asked = ledger
                .write(value)
                .and_then(|write| ledger.transactions.get(&write.author))
                .and_then(|account| account.asked);
            if asked.is_some_and(|asked| index < asked) {
                found.push(Anomaly::EarlyRead {
                    value: value.clone(),
                    reader: event.process.clone(),
                });
            }
        }
    }
    found
}
