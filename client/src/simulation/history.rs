//! What the users of a run did and were told. In: calls and their results. Out: the history that the checker judges.

use std::collections::BTreeMap;

/// What a user knows of a transaction's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// No commit was asked for, or the user was told that it is aborted: nothing of it may ever be seen.
    Aborted,
    /// A commit was asked for and the user was told that it took effect.
    Committed,
    /// The user was told that another producer took over and the transaction is aborted.
    Fenced,
    /// The user was told that the producer is beyond use and the transaction is not committed.
    Fatal,
    /// A commit was asked for, and whether it took effect was not told.
    Unknown,
}

/// What a user knows of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivery {
    /// It is in the log, there if that is known.
    Written(Option<i64>),
    /// It is not in the log.
    Unwritten,
    /// It may be in the log.
    Unknown,
}

/// A record that was taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    pub(super) value: u64,
    pub(super) partition: i32,
    pub(super) instance: usize,
    pub(super) transaction: Option<usize>,
    pub(super) batch: u64,
    pub(super) index: u32,
}

/// A transaction that was begun.
#[derive(Debug, Clone)]
pub(super) struct Transaction {
    pub(super) instance: usize,
    pub(super) outcome: Outcome,
    /// The offset that was sent to the group in it.
    pub(super) offset: Option<i64>,
    /// When its outcome was told, as a place in the history; 0 if it was not.
    pub(super) told: u64,
}

/// Why a producer may be told that it is fenced or beyond use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Excuse {
    /// There is none.
    None,
    /// Another one with its transactional id was there at the same time.
    Rival,
    /// It lives for so long that a coordinator of TV1 may have ended its transaction, and its epoch with it.
    Patience,
    /// Under TV1 an adding that it had left on its way came between its abort and InitProducerId, and opened a transaction in its epoch,
    /// which only a newer epoch can end.
    LateAdding,
}

/// A producer from its creation to its end.
#[derive(Debug, Clone)]
pub(super) struct Instance {
    pub(super) transactional_id: Option<usize>,
    /// When it was told that it is fenced or beyond use.
    pub(super) over: Option<u64>,
    /// What excuses that.
    pub(super) excuse: Excuse,
}

/// All that was done and told.
#[derive(Debug, Default)]
pub(super) struct History {
    pub(super) instances: Vec<Instance>,
    pub(super) transactions: Vec<Transaction>,
    pub(super) records: Vec<Taken>,
    /// By value.
    pub(super) results: BTreeMap<u64, Delivery>,
    /// Those that were asked for something more when nothing went wrong any more.
    pub(super) healed: Vec<usize>,
    clock: u64,
}

impl History {
    /// A producer is made.
    pub(super) fn instance(&mut self, transactional_id: Option<usize>) -> usize {
        let mut excuse = Excuse::None;
        for other in &mut self.instances {
            // Who was told so already is no rival: it asks for nothing any more.
            let is_rival = other.over.is_none() && other.transactional_id == transactional_id;
            if is_rival && transactional_id.is_some() {
                other.excuse = Excuse::Rival;
                excuse = Excuse::Rival;
            }
        }
        self.instances.push(Instance {
            transactional_id,
            over: None,
            excuse,
        });
        self.instances.len() - 1
    }

    /// A transaction begins.
    pub(super) fn begin(&mut self, instance: usize) -> usize {
        self.transactions.push(Transaction {
            instance,
            outcome: Outcome::Aborted,
            offset: None,
            told: 0,
        });
        self.transactions.len() - 1
    }

    /// A commit is asked for: from now on it may take effect.
    pub(super) fn commit(&mut self, transaction: usize) {
        self.transactions[transaction].outcome = Outcome::Unknown;
    }

    /// An outcome is told.
    pub(super) fn told(&mut self, transaction: usize, outcome: Outcome) {
        self.clock += 1;
        let instance = self.transactions[transaction].instance;
        self.transactions[transaction].outcome = outcome;
        self.transactions[transaction].told = self.clock;
        match outcome {
            Outcome::Fenced | Outcome::Fatal => self.over(instance),
            Outcome::Aborted | Outcome::Committed | Outcome::Unknown => {}
        }
    }

    /// Something has happened that may cost this producer its epoch.
    pub(super) fn excuse(&mut self, instance: usize, excuse: Excuse) {
        let instance = &mut self.instances[instance];
        if instance.over.is_none() && instance.excuse == Excuse::None {
            instance.excuse = excuse;
        }
    }

    /// A producer is told that it is beyond use.
    pub(super) fn over(&mut self, instance: usize) {
        self.clock += 1;
        self.instances[instance].over.get_or_insert(self.clock);
    }

    /// A value that no other record has.
    pub(super) fn fresh_value(&self) -> u64 {
        u64::try_from(self.records.len()).expect("few records")
    }

    /// A record has its result.
    pub(super) fn result(&mut self, value: u64, delivery: Delivery) {
        let before = self.results.insert(value, delivery);
        assert_eq!(before, None, "record {value} has two results");
    }

    /// The values and indices of a batch's records.
    pub(super) fn of_batch(&self, instance: usize, batch: u64) -> Vec<(u64, u32)> {
        let records = self.records.iter();
        records
            .filter(|taken| taken.instance == instance && taken.batch == batch)
            .map(|taken| (taken.value, taken.index))
            .collect()
    }
}
