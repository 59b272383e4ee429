//! What all checks ask: each value's writer, place and fate, and who saw it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::anomaly::Txn;
use crate::history::{Event, Op, Phase, Start};

/// What became of a transaction, or of a record outside of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Committed,
    /// Aborted, or never asked to be committed, or certainly not written.
    Aborted,
    /// Nobody knows, and nothing of it was seen by anybody.
    Unknown,
}

/// A value's author.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Author<'h> {
    pub(super) process: &'h str,
    pub(super) instance: u32,
    /// `None`: not in a transaction.
    pub(super) transaction: Option<u64>,
}

impl Author<'_> {
    /// The transaction's name, if there is one.
    pub(super) fn txn(self) -> Option<Txn> {
        self.transaction.map(|number| Txn {
            process: self.process.to_owned(),
            instance: self.instance,
            number,
        })
    }
}

/// One sent value.
#[derive(Debug)]
pub(super) struct Write<'h> {
    pub(super) author: Author<'h>,
    pub(super) key: &'h str,
    pub(super) value: &'h str,
    /// What its own result was.
    pub(super) result: Fate,
}

/// What a transaction was told.
#[derive(Debug, Default)]
pub(super) struct Account<'h> {
    /// Indices into [`Ledger::writes`].
    pub(super) writes: Vec<usize>,
    /// Group, partition, offset, and whether it certainly failed.
    pub(super) offsets: Vec<(&'h str, &'h str, i64, bool)>,
    /// Where in the history the commit was asked for.
    pub(super) asked: Option<usize>,
    pub(super) told_ok: bool,
    pub(super) told_fail: bool,
}

/// One who reads.
#[derive(Debug, Default)]
pub(super) struct Reader<'h> {
    /// Partitions that it read from beginning to end.
    pub(super) drained: BTreeSet<&'h str>,
    pub(super) saw: BTreeSet<&'h str>,
    begun: BTreeSet<&'h str>,
}

/// The history, sorted by questions.
#[derive(Debug, Default)]
pub(super) struct Ledger<'h> {
    /// In the order in which they were sent.
    pub(super) writes: Vec<Write<'h>>,
    by_value: HashMap<&'h str, usize>,
    pub(super) transactions: BTreeMap<Author<'h>, Account<'h>>,
    /// Per partition and offset the values that were found or acknowledged there.
    pub(super) log: BTreeMap<&'h str, BTreeMap<i64, BTreeSet<&'h str>>>,
    /// Per value its places.
    pub(super) places: BTreeMap<&'h str, BTreeSet<(&'h str, i64)>>,
    /// By process and instance.
    pub(super) readers: BTreeMap<(&'h str, u32), Reader<'h>>,
    seen: BTreeSet<&'h str>,
}

impl<'h> Ledger<'h> {
    pub(super) fn new(events: &'h [Event]) -> Self {
        let mut ledger = Self::default();
        for (index, event) in events.iter().enumerate() {
            ledger.enter_writing(index, event);
            ledger.enter_reading(event);
        }
        ledger
    }

    fn enter_writing(&mut self, index: usize, event: &'h Event) {
        let author = Author {
            process: &event.process,
            instance: event.instance,
            transaction: event.transaction,
        };
        match &event.op {
            Op::Send { key, value, offset } => self.enter_send(author, &event.phase, (key, value, *offset)),
            Op::SendOffsets { group, key, offset } => {
                let account = self.transactions.entry(author).or_default();
                match event.phase {
                    Phase::Invoke => account.offsets.push((group, key, *offset, false)),
                    Phase::Fail(_) => {
                        for sent in &mut account.offsets {
                            sent.3 |= (sent.0, sent.1, sent.2) == (group, key, *offset);
                        }
                    }
                    Phase::Ok | Phase::Unknown(_) => {}
                }
            }
            Op::Commit => {
                let account = self.transactions.entry(author).or_default();
                match event.phase {
                    Phase::Invoke => account.asked = account.asked.or(Some(index)),
                    Phase::Ok => account.told_ok = true,
                    Phase::Fail(_) => account.told_fail = true,
                    Phase::Unknown(_) => {}
                }
            }
            Op::Begin
            | Op::Abort
            | Op::Assign { .. }
            | Op::Poll { .. }
            | Op::Drain { .. }
            | Op::GroupOffset { .. }
            | Op::Fenced
            | Op::Crash
            | Op::Heal => {}
        }
    }

    fn enter_send(
        &mut self,
        author: Author<'h>,
        phase: &Phase,
        (key, value, offset): (&'h String, &'h String, Option<i64>),
    ) {
        let index = *self.by_value.entry(value).or_insert_with(|| {
            self.writes.push(Write {
                author,
                key,
                value,
                result: Fate::Unknown,
            });
            self.writes.len() - 1
        });
        if author.transaction.is_some() && *phase == Phase::Invoke {
            self.transactions.entry(author).or_default().writes.push(index);
        }
        if let Some(write) = self.writes.get_mut(index) {
            match phase {
                Phase::Ok => write.result = Fate::Committed,
                Phase::Fail(_) => write.result = Fate::Aborted,
                Phase::Invoke | Phase::Unknown(_) => {}
            }
        }
        if let Some(offset) = offset {
            self.enter_place(key, offset, value);
        }
    }

    fn enter_reading(&mut self, event: &'h Event) {
        if event.phase != Phase::Ok {
            return;
        }
        let name = (event.process.as_str(), event.instance);
        match &event.op {
            Op::Assign { keys, start } => {
                let reader = self.readers.entry(name).or_default();
                if *start == Start::Beginning {
                    reader.begun.extend(keys.iter().map(String::as_str));
                }
            }
            Op::Poll { key, records } => {
                for (offset, value) in records {
                    self.enter_place(key, *offset, value);
                    self.seen.insert(value);
                    self.readers.entry(name).or_default().saw.insert(value);
                }
            }
            Op::Drain { key } => {
                let reader = self.readers.entry(name).or_default();
                if reader.begun.contains(key.as_str()) {
                    reader.drained.insert(key);
                }
            }
            Op::Begin
            | Op::Send { .. }
            | Op::SendOffsets { .. }
            | Op::Commit
            | Op::Abort
            | Op::GroupOffset { .. }
            | Op::Fenced
            | Op::Crash
            | Op::Heal => {}
        }
    }

    fn enter_place(&mut self, key: &'h str, offset: i64, value: &'h str) {
        self.log
            .entry(key)
            .or_default()
            .entry(offset)
            .or_default()
            .insert(value);
        self.places.entry(value).or_default().insert((key, offset));
    }

    /// The write of a value, if anybody sent it.
    pub(super) fn write(&self, value: &str) -> Option<&Write<'h>> {
        self.by_value.get(value).and_then(|index| self.writes.get(*index))
    }

    /// Whether any reader saw it.
    pub(super) fn is_seen(&self, value: &str) -> bool {
        self.seen.contains(value)
    }

    /// The values of a transaction.
    pub(super) fn values(&self, account: &Account<'h>) -> impl Iterator<Item = &Write<'h>> {
        account.writes.iter().filter_map(|index| self.writes.get(*index))
    }

    /// What the author was told of a transaction.
    pub(super) fn told(account: &Account<'_>) -> Fate {
        match account {
            Account { told_ok: true, .. } => Fate::Committed,
            Account { told_fail: true, .. } | Account { asked: None, .. } => Fate::Aborted,
            Account { asked: Some(_), .. } => Fate::Unknown,
        }
    }

    /// What became of a transaction: what its author was told, or else what readers saw of it.
    pub(super) fn fate(&self, account: &Account<'h>) -> Fate {
        match Self::told(account) {
            Fate::Unknown if self.values(account).any(|write| self.is_seen(write.value)) => Fate::Committed,
            Fate::Unknown if !account.writes.is_empty() && self.is_read_up(account) => Fate::Aborted,
            told => told,
        }
    }

    /// Whether each of its partitions was read from beginning to end by somebody.
    fn is_read_up(&self, account: &Account<'h>) -> bool {
        let is_drained = |key: &str| self.readers.values().any(|reader| reader.drained.contains(key));
        self.values(account).all(|write| is_drained(write.key))
    }

    /// What became of a value.
    pub(super) fn fate_of(&self, write: &Write<'h>) -> Fate {
        match self.transactions.get(&write.author) {
            Some(account) if write.author.transaction.is_some() => self.fate(account),
            _ if write.result == Fate::Unknown && self.is_seen(write.value) => Fate::Committed,
            _ => write.result,
        }
    }
}
