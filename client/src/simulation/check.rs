//! The judge of a run. In: what the users did and were told, what stands in the logs, what was read. Out: every anomaly by its name in
//! Jepsen's catalogue of Kafka, or none.
//!
//! An unknown outcome is no failure: such a transaction may be visible or not, but only as a whole.

use std::collections::{BTreeMap, BTreeSet};

use super::history::{Delivery, Excuse, History, Outcome};

/// Values by offset, in order, by partition.
pub(super) type Records = BTreeMap<i32, Vec<(i64, u64)>>;

/// What can be seen from outside at the end of a run.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    /// Every data record in the logs.
    pub(super) logs: Records,
    /// Those that a read_committed reader is to get.
    pub(super) committed: Records,
    /// What readers got, each from the start to the end.
    pub(super) read: Vec<Records>,
    /// The committed offset of each transactional id's group.
    pub(super) group_offsets: BTreeMap<usize, Option<i64>>,
}

/// Something that must not be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Anomaly {
    /// It was said to be written or committed, and is not there.
    Lost { value: u64 },
    /// It stands at more than one offset.
    Duplicate { value: u64 },
    /// Its transaction was said not to be committed, or nobody asked for that, but it can be seen.
    AbortedRead { value: u64 },
    /// A part of the transaction can be seen and another part cannot.
    Torn { transaction: usize },
    /// It was said not to be in the log, and is.
    WrittenAllTheSame { value: u64 },
    /// It stands elsewhere than it was said to.
    Misplaced { value: u64 },
    /// Two records of one producer stand in another order than they were sent in.
    Disorder { earlier: u64, later: u64 },
    /// One offset holds two values.
    InconsistentOffset { partition: i32, offset: i64 },
    /// A reader passed over it.
    Skipped { reader: usize, value: u64 },
    /// A reader got what no reader is to see, or got it twice.
    Invented { reader: usize, value: u64 },
    /// A reader got records out of order.
    WentBack { reader: usize, partition: i32 },
    /// A record has no result.
    NoResult { value: u64 },
    /// The commit was confirmed although a record of it was not.
    CommittedWithFailure { transaction: usize },
    /// A producer that was told to be beyond use succeeded in something afterwards.
    FencedThenSuccess { instance: usize },
    /// A producer was told to be beyond use, and nobody else had its transactional id, nor was it too slow.
    FencedWithoutReason { instance: usize },
    /// The group's offset is not that of the last transaction that can be seen.
    WrongGroupOffset,
    /// Everything was healed, and still it could not write.
    Stuck { instance: usize },
    /// Nobody sent this.
    Unknown { value: u64 },
}

/// All anomalies, sorted, each once.
pub(super) fn check(history: &History, seen: &Seen) -> Vec<Anomaly> {
    let mut found = BTreeSet::new();
    let places = places(&seen.logs, &mut found);
    let visible: BTreeSet<u64> = seen
        .committed
        .values()
        .flatten()
        .map(|(_, value)| *value)
        .collect();
    results(history, &places, &mut found);
    transactions(history, &visible, &mut found);
    order(history, &places, &mut found);
    progress(history, &mut found);
    reasons(history, &mut found);
    for (reader, read) in seen.read.iter().enumerate() {
        compare(reader, read, &seen.committed, &mut found);
    }
    for (id, offset) in &seen.group_offsets {
        group_offset(history, &visible, *id, *offset, &mut found);
    }
    found.into_iter().collect()
}

/// Where each value stands first. Finds duplicates and offsets that hold two values.
fn places(logs: &Records, found: &mut BTreeSet<Anomaly>) -> BTreeMap<u64, (i32, i64)> {
    let mut places = BTreeMap::new();
    for (partition, records) in logs {
        let mut offsets = BTreeSet::new();
        for (offset, value) in records {
            if !offsets.insert(*offset) {
                found.insert(Anomaly::InconsistentOffset {
                    partition: *partition,
                    offset: *offset,
                });
            }
            if places.insert(*value, (*partition, *offset)).is_some() {
                found.insert(Anomaly::Duplicate { value: *value });
            }
        }
    }
    places
}

/// Each record has one result, which is true.
fn results(history: &History, places: &BTreeMap<u64, (i32, i64)>, found: &mut BTreeSet<Anomaly>) {
    let known = history.records.len();
    for value in places.keys() {
        if usize::try_from(*value).is_ok_and(|value| value >= known) {
            found.insert(Anomaly::Unknown { value: *value });
        }
    }
    for taken in &history.records {
        let value = taken.value;
        let place = places.get(&value);
        match history.results.get(&value) {
            None => {
                found.insert(Anomaly::NoResult { value });
            }
            Some(Delivery::Written(offset)) => match (place, offset) {
                (None, _) => {
                    found.insert(Anomaly::Lost { value });
                }
                (Some(place), Some(offset)) if *place != (taken.partition, *offset) => {
                    found.insert(Anomaly::Misplaced { value });
                }
                (Some((partition, _)), _) if *partition != taken.partition => {
                    found.insert(Anomaly::Misplaced { value });
                }
                (Some(_), _) => {}
            },
            // A transaction that is aborted takes its records with it, wherever they are.
            Some(Delivery::Unwritten) if taken.transaction.is_none() && place.is_some() => {
                found.insert(Anomaly::WrittenAllTheSame { value });
            }
            Some(Delivery::Unwritten | Delivery::Unknown) => {}
        }
    }
}

/// Each transaction is seen as a whole or not at all, as it was told.
fn transactions(history: &History, visible: &BTreeSet<u64>, found: &mut BTreeSet<Anomaly>) {
    let mut values: Vec<Vec<u64>> = vec![Vec::new(); history.transactions.len()];
    for taken in &history.records {
        let result = history.results.get(&taken.value);
        let Some(transaction) = taken.transaction else {
            continue;
        };
        values[transaction].push(taken.value);
        let is_confirmed = matches!(result, Some(Delivery::Written(_)));
        if history.transactions[transaction].outcome == Outcome::Committed && !is_confirmed {
            found.insert(Anomaly::CommittedWithFailure { transaction });
        }
    }
    for (number, transaction) in history.transactions.iter().enumerate() {
        let (seen, unseen): (Vec<u64>, Vec<u64>) =
            values[number].iter().partition(|value| visible.contains(value));
        if !seen.is_empty() && !unseen.is_empty() {
            found.insert(Anomaly::Torn { transaction: number });
        }
        match transaction.outcome {
            Outcome::Committed => found.extend(unseen.into_iter().map(|value| Anomaly::Lost { value })),
            Outcome::Aborted | Outcome::Fenced | Outcome::Fatal => {
                found.extend(seen.into_iter().map(|value| Anomaly::AbortedRead { value }));
            }
            Outcome::Unknown => {}
        }
        let over = history.instances[transaction.instance].over;
        if transaction.outcome == Outcome::Committed && over.is_some_and(|over| over < transaction.told) {
            found.insert(Anomaly::FencedThenSuccess {
                instance: transaction.instance,
            });
        }
    }
}

/// The last that was asked of an instance, when nothing went wrong any more, has succeeded.
fn progress(history: &History, found: &mut BTreeSet<Anomaly>) {
    for instance in &history.healed {
        let mut transactions = history.transactions.iter();
        let last = transactions.rfind(|transaction| transaction.instance == *instance);
        let mut records = history.records.iter();
        let record = records.rfind(|taken| taken.instance == *instance);
        let result = record.and_then(|taken| history.results.get(&taken.value));
        let is_good = match last {
            Some(last) => last.outcome == Outcome::Committed,
            None => matches!(result, Some(Delivery::Written(_))),
        };
        if !is_good {
            found.insert(Anomaly::Stuck { instance: *instance });
        }
    }
}

/// Nobody is told without a reason that it is beyond use.
fn reasons(history: &History, found: &mut BTreeSet<Anomaly>) {
    for (number, instance) in history.instances.iter().enumerate() {
        if instance.over.is_some() && instance.excuse == Excuse::None {
            found.insert(Anomaly::FencedWithoutReason { instance: number });
        }
    }
}

/// The records of one producer stand in each partition as they were sent.
fn order(history: &History, places: &BTreeMap<u64, (i32, i64)>, found: &mut BTreeSet<Anomaly>) {
    let mut last: BTreeMap<(usize, i32), (i64, u64)> = BTreeMap::new();
    for taken in &history.records {
        let Some((partition, offset)) = places.get(&taken.value) else {
            continue;
        };
        let key = (taken.instance, *partition);
        if let Some((before, earlier)) = last.get(&key)
            && before > offset
        {
            found.insert(Anomaly::Disorder {
                earlier: *earlier,
                later: taken.value,
            });
        }
        last.insert(key, (*offset, taken.value));
    }
}

/// A reader got every committed record once, in order, and nothing else.
fn compare(reader: usize, read: &Records, committed: &Records, found: &mut BTreeSet<Anomaly>) {
    for (partition, expected) in committed {
        let got = read.get(partition).map_or(&[][..], Vec::as_slice);
        if !got.is_sorted_by(|a, b| a.0 < b.0) {
            found.insert(Anomaly::WentBack {
                reader,
                partition: *partition,
            });
        }
        let mut left: BTreeSet<(i64, u64)> = expected.iter().copied().collect();
        for record in got {
            if !left.remove(record) {
                found.insert(Anomaly::Invented {
                    reader,
                    value: record.1,
                });
            }
        }
        found.extend(
            left.into_iter()
                .map(|(_, value)| Anomaly::Skipped { reader, value }),
        );
    }
    for (partition, got) in read {
        if !committed.contains_key(partition) {
            found.extend(got.iter().map(|(_, value)| Anomaly::Invented {
                reader,
                value: *value,
            }));
        }
    }
}

/// The group's offset is that of the last transaction of its transactional id that had one and took effect.
fn group_offset(
    history: &History,
    visible: &BTreeSet<u64>,
    id: usize,
    offset: Option<i64>,
    found: &mut BTreeSet<Anomaly>,
) {
    let mut possible = BTreeSet::from([None]);
    for (number, transaction) in history.transactions.iter().enumerate() {
        let is_of_id = history.instances[transaction.instance].transactional_id == Some(id);
        if transaction.offset.is_none() || !is_of_id {
            continue;
        }
        let mut values = history
            .records
            .iter()
            .filter(|taken| taken.transaction == Some(number));
        let is_seen = values.next().map(|taken| visible.contains(&taken.value));
        match (transaction.outcome, is_seen) {
            (Outcome::Committed, _) | (Outcome::Unknown, Some(true)) => {
                possible = BTreeSet::from([transaction.offset]);
            }
            (Outcome::Unknown, None) => {
                possible.insert(transaction.offset);
            }
            (Outcome::Unknown, Some(false)) | (Outcome::Aborted | Outcome::Fenced | Outcome::Fatal, _) => {}
        }
    }
    if !possible.contains(&offset) {
        found.insert(Anomaly::WrongGroupOffset);
    }
}
