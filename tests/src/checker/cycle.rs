//! Transactions that read each other's values, or one its own. Only what was read inside of transactions counts.

use std::collections::{BTreeMap, BTreeSet};

use super::anomaly::Anomaly;
use super::ledger::{Author, Fate, Ledger};
use crate::history::{Event, Op, Phase};

/// Who read whose values.
type Edges<'h> = BTreeMap<Author<'h>, BTreeSet<Author<'h>>>;

pub(super) fn find(ledger: &Ledger<'_>, events: &[Event]) -> Vec<Anomaly> {
    let edges = edges(ledger, events);
    let mut done = BTreeSet::new();
    let mut found = Vec::new();
    for start in edges.keys() {
        if let Some(cycle) = walk(*start, &edges, &mut done) {
            found.push(Anomaly::Cycle {
                transactions: cycle.into_iter().filter_map(Author::txn).collect(),
            });
        }
    }
    found
}

fn edges<'h>(ledger: &Ledger<'h>, events: &'h [Event]) -> Edges<'h> {
    let mut edges = Edges::new();
    for event in events.iter().filter(|event| event.phase == Phase::Ok) {
        let (Op::Poll { records, .. }, Some(_)) = (&event.op, event.transaction) else {
            continue;
        };
        let reader = Author {
            process: &event.process,
            instance: event.instance,
            transaction: event.transaction,
        };
        let is_committed = ledger
            .transactions
            .get(&reader)
            .is_some_and(|account| ledger.fate(account) == Fate::Committed);
        let writers = records
            .iter()
            .filter_map(|(_, value)| ledger.write(value))
            .map(|write| write.author)
            .filter(|author| author.transaction.is_some() && (is_committed || *author == reader));
        edges.entry(reader).or_default().extend(writers);
    }
    edges
}

/// The first cycle that is reached from `start`, without what was looked at before. Without recursion: histories are long.
fn walk<'h>(
    start: Author<'h>,
    edges: &Edges<'h>,
    done: &mut BTreeSet<Author<'h>>,
) -> Option<Vec<Author<'h>>> {
    let next = |author: &Author<'h>| edges.get(author).into_iter().flatten();
    let mut path = Vec::new();
    let mut steps = Vec::new();
    if done.insert(start) {
        path.push(start);
        steps.push(next(&start));
    }
    while let Some(step) = steps.last_mut() {
        let Some(author) = step.next() else {
            steps.pop();
            path.pop();
            continue;
        };
        if let Some(place) = path.iter().position(|of| of == author) {
            return Some(path.split_off(place));
        }
        if done.insert(*author) {
            path.push(*author);
            steps.push(next(author));
        }
    }
    None
}
