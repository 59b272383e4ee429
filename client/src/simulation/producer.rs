//! A producer's user: carries a script out call by call, waits as the public API does, and writes down what it is told. In: a script,
//! time. Out: calls of the machine, entries of the history.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use sealwax_protocol::ids::TopicPartition;

use super::history::{Delivery, Excuse, History, Outcome, Taken};
use super::operations::Operation;
use super::watch::Watch;
use crate::error::{Error, ErrorKind};
use crate::machine::Machine;
use crate::machine::accumulator::Refusal;
use crate::machine::accumulator::batch::Resolved;
use crate::machine::producer::ProducerMachine;
use crate::machine::transaction::{Resolution, Verdict};
use crate::offsets::{ConsumerGroupMetadata, OffsetAndMetadata};
use crate::record::Record;

/// The topic whose offsets are sent.
pub(super) const INPUT: &str = "in";

/// The one topic.
pub(super) const TOPIC: &str = "out";

/// What the user waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    Nothing,
    Accepting {
        number: u64,
        until: Instant,
    },
    Resolving {
        until: Instant,
    },
    Initializing,
    Beginning {
        until: Instant,
    },
    Sending {
        partition: i32,
        left: u8,
        until: Instant,
    },
    Flushing {
        ticket: u64,
    },
    Committing {
        since: Instant,
    },
    Aborting {
        until: Instant,
    },
    Waiting {
        until: Instant,
    },
}

/// What the user wants of the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Something was done; there may be more.
    Moved,
    /// It waits, or has nothing left to do.
    Rests,
    /// Its process is to be killed and started again.
    Restart,
}

/// The limits that the user's calls have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// `max.block.ms`.
    pub(super) block: Duration,
    /// The longest time after which a commit must have its outcome.
    pub(super) commit: Duration,
}

/// A producer and its user.
#[derive(Debug)]
pub(super) struct Producer {
    pub(super) machine: ProducerMachine<u64>,
    pub(super) watch: Watch,
    pub(super) instance: usize,
    is_transactional: bool,
    patience: Patience,
    script: VecDeque<Operation>,
    doing: Doing,
    /// Serial and place in the history.
    open: Option<(u64, usize)>,
    /// The last commit of this instance, if its outcome was not told.
    unknown: Option<usize>,
    group: String,
    batches: u64,
    resolved: u64,
    /// From then on a coordinator may have ended a transaction of it and its epoch, if it does that.
    outlives: Option<Instant>,
}

impl Producer {
    pub(super) fn new(
        machine: ProducerMachine<u64>,
        instance: usize,
        is_transactional: bool,
        patience: Patience,
        group: String,
        script: VecDeque<Operation>,
        outlives: Option<Instant>,
    ) -> Self {
        Self {
            machine,
            watch: Watch::new(instance, is_transactional),
            instance,
            is_transactional,
            patience,
            script,
            doing: Doing::Initializing,
            open: None,
            unknown: None,
            group,
            batches: 0,
            resolved: 0,
            outlives,
        }
    }

    /// Whether the script is at its end and nothing is awaited.
    pub(super) fn is_done(&self) -> bool {
        self.script.is_empty() && self.doing == Doing::Nothing
    }

    /// Adds calls at the end.
    pub(super) fn then(&mut self, operations: impl IntoIterator<Item = Operation>) {
        self.script.extend(operations);
    }

    /// What is left of the script, when its process is killed.
    pub(super) fn rest(&mut self) -> VecDeque<Operation> {
        std::mem::take(&mut self.script)
    }

    /// Whether nothing is under way any more.
    pub(super) fn is_settled(&self) -> bool {
        self.machine.is_drained()
    }

    /// The process dies: nobody learns any more what became of its batches.
    pub(super) fn forget(&self, history: &mut History) {
        let own = history
            .records
            .iter()
            .filter(|taken| taken.instance == self.instance);
        for value in own.map(|taken| taken.value).collect::<Vec<_>>() {
            history.results.entry(value).or_insert(Delivery::Unknown);
        }
    }

    /// Batches without a result.
    pub(super) const fn unresolved(&self) -> u64 {
        self.batches - self.resolved
    }

    /// Until when the user waits at the longest.
    pub(super) const fn poll_timeout(&self) -> Option<Instant> {
        match self.doing {
            Doing::Nothing | Doing::Initializing | Doing::Flushing { .. } | Doing::Committing { .. } => None,
            Doing::Beginning { until }
            | Doing::Sending { until, .. }
            | Doing::Accepting { until, .. }
            | Doing::Resolving { until }
            | Doing::Aborting { until }
            | Doing::Waiting { until } => Some(until),
        }
    }

    /// A batch has its result.
    pub(super) fn resolve(&mut self, history: &mut History, resolved: &Resolved<u64>) {
        self.resolved += 1;
        for (value, index) in history.of_batch(self.instance, resolved.tag) {
            let (result, place) = resolved.results.of(index);
            let delivery = match result {
                Ok(metadata) => Delivery::Written(metadata.base_offset.map(|base| base + i64::from(place))),
                Err(error) if error.kind() == ErrorKind::OutcomeUnknown => Delivery::Unknown,
                Err(_) => Delivery::Unwritten,
            };
            history.result(value, delivery);
        }
    }

    /// Goes one step on.
    pub(super) fn step(&mut self, now: Instant, history: &mut History) -> Step {
        if self.outlives.is_some_and(|at| at <= now) {
            history.excuse(self.instance, Excuse::Patience);
        }
        match self.doing {
            Doing::Nothing => self.next(now, history),
            Doing::Initializing => match self.machine.initialized() {
                None => Step::Rests,
                Some(Ok(())) => self.done(),
                Some(Err(error)) => {
                    self.note(history, &error);
                    self.done()
                }
            },
            Doing::Beginning { until } => self.begin(now, until, history),
            Doing::Sending {
                partition,
                left,
                until,
            } => self.send(now, partition, left, until, history),
            Doing::Flushing { ticket } => match self.machine.is_flushed(ticket) {
                Some(_) => self.done(),
                None => Step::Rests,
            },
            Doing::Accepting { number, until } => match self.machine.offsets_accepted(number) {
                None if until > now => Step::Rests,
                None | Some(Ok(()) | Err(_)) => self.done(),
            },
            Doing::Resolving { until } => self.await_resolution(now, until, history),
            Doing::Committing { since } => self.await_commit(now, since, history),
            Doing::Aborting { until } => self.await_abort(now, until, history),
            Doing::Waiting { until } if until <= now => self.done(),
            Doing::Waiting { .. } => Step::Rests,
        }
    }

    const fn done(&mut self) -> Step {
        self.doing = Doing::Nothing;
        Step::Moved
    }

    fn next(&mut self, now: Instant, history: &mut History) -> Step {
        let Some(operation) = self.script.front().copied() else {
            return Step::Rests;
        };
        if let Operation::Send(..) | Operation::Offsets = operation
            && self.is_transactional
            && self.open.is_none()
        {
            // A record needs a transaction; if none can begin, it is not sent.
            let until = now + self.patience.block;
            let step = self.begin(now, until, history);
            if self.open.is_none() && self.doing == Doing::Nothing {
                self.script.pop_front();
            }
            return step;
        }
        self.script.pop_front();
        match operation {
            Operation::Restart => Step::Restart,
            Operation::Wait(time) => {
                self.doing = Doing::Waiting { until: now + time };
                Step::Moved
            }
            Operation::Flush => {
                let ticket = self.machine.flush();
                self.doing = Doing::Flushing { ticket };
                Step::Moved
            }
            Operation::Send(partition, count) => {
                let until = now + self.patience.block;
                self.send(now, partition, count, until, history)
            }
            Operation::Begin if self.is_transactional && self.open.is_none() => {
                self.begin(now, now + self.patience.block, history)
            }
            Operation::Offsets => self.send_offsets(now, history),
            Operation::Resolve => {
                if self.unknown.is_some() {
                    self.machine.resolve(now);
                    let until = now + self.patience.block;
                    self.doing = Doing::Resolving { until };
                }
                Step::Moved
            }
            Operation::Commit => self.commit(now, history),
            Operation::Abort => self.abort(now, history),
            Operation::Drop => {
                if let Some((serial, _)) = self.open.take() {
                    self.machine.abandon(now, serial);
                }
                Step::Moved
            }
            Operation::Leave => {
                if let Some((_, transaction)) = self.open.take() {
                    match self.machine.commit(now) {
                        Ok(()) => history.commit(transaction),
                        Err(error) => self.note(history, &error),
                    }
                }
                Step::Moved
            }
            Operation::Begin => Step::Moved,
        }
    }

    fn begin(&mut self, now: Instant, until: Instant, history: &mut History) -> Step {
        match self.machine.begin(now) {
            Some(Ok(serial)) => {
                self.watch.begin();
                self.unknown = None;
                self.open = Some((serial, history.begin(self.instance)));
                self.done()
            }
            Some(Err(error)) => {
                self.note(history, &error);
                self.done()
            }
            None if until <= now => self.done(),
            None if self.doing == (Doing::Beginning { until }) => Step::Rests,
            None => {
                self.doing = Doing::Beginning { until };
                Step::Moved
            }
        }
    }

    fn send(
        &mut self,
        now: Instant,
        partition: i32,
        left: u8,
        until: Instant,
        history: &mut History,
    ) -> Step {
        if left == 0 {
            return self.done();
        }
        let value = history.fresh_value();
        let bytes = value.to_be_bytes();
        let record = Record::new(TOPIC, &bytes).partition(partition);
        let tag = self.batches;
        let taken = self
            .machine
            .append(now, &record, 0, || tag, |tag, index| (*tag, index));
        match taken {
            Ok(appended) => {
                if appended.opened.is_some() {
                    self.batches += 1;
                }
                let (batch, index) = appended.ticket;
                history.records.push(Taken {
                    value,
                    partition,
                    instance: self.instance,
                    transaction: self.open.map(|(_, transaction)| transaction),
                    batch,
                    index,
                });
                self.doing = Doing::Sending {
                    partition,
                    left: left - 1,
                    until,
                };
                Step::Moved
            }
            Err(Refusal::Error(error)) => {
                self.note(history, &error);
                self.done()
            }
            Err(Refusal::Metadata(_) | Refusal::Memory | Refusal::Stale(_)) if until <= now => self.done(),
            Err(Refusal::Metadata(_) | Refusal::Memory | Refusal::Stale(_)) => {
                let waits = Doing::Sending {
                    partition,
                    left,
                    until,
                };
                match self.doing == waits {
                    true => Step::Rests,
                    false => {
                        self.doing = waits;
                        Step::Moved
                    }
                }
            }
        }
    }

    fn send_offsets(&mut self, now: Instant, history: &mut History) -> Step {
        let Some((_, transaction)) = self.open else {
            return Step::Moved;
        };
        // Each transaction has an offset of its own, larger than those before.
        let offset = i64::try_from(transaction).expect("few transactions");
        let offsets = BTreeMap::from([(TopicPartition::new(INPUT, 0), OffsetAndMetadata::new(offset))]);
        let group = ConsumerGroupMetadata::new(self.group.clone());
        match self.machine.send_offsets(now, offsets, group) {
            Ok(number) => {
                history.transactions[transaction].offset = Some(offset);
                let until = now + self.patience.block;
                self.doing = Doing::Accepting { number, until };
            }
            Err(error) => self.note(history, &error),
        }
        Step::Moved
    }

    fn await_resolution(&mut self, now: Instant, until: Instant, history: &mut History) -> Step {
        let Some(transaction) = self.unknown else {
            return self.done();
        };
        match self.machine.resolution() {
            None if until > now => return Step::Rests,
            None | Some(Ok(Resolution::Unknown(_)) | Err(_)) => {}
            Some(Ok(Resolution::Committed)) => history.told(transaction, Outcome::Committed),
            Some(Ok(Resolution::Aborted(_))) => history.told(transaction, Outcome::Aborted),
        }
        self.done()
    }

    fn commit(&mut self, now: Instant, history: &mut History) -> Step {
        let Some((_, transaction)) = self.open else {
            return Step::Moved;
        };
        match self.machine.commit(now) {
            Ok(()) => {
                history.commit(transaction);
                self.doing = Doing::Committing { since: now };
            }
            Err(error) => {
                self.open = None;
                self.tell(history, transaction, fatal_outcome(&error));
            }
        }
        Step::Moved
    }

    fn await_commit(&mut self, now: Instant, since: Instant, history: &mut History) -> Step {
        let Some((serial, transaction)) = self.open else {
            return self.done();
        };
        let Some(verdict) = self.machine.verdict(serial) else {
            let waited = now - since;
            assert!(
                waited <= self.patience.commit,
                "a commit has no outcome after {waited:?}"
            );
            return Step::Rests;
        };
        self.open = None;
        let outcome = match verdict {
            Verdict::Committed => Outcome::Committed,
            Verdict::Aborted(_) => Outcome::Aborted,
            Verdict::Fenced(_) => Outcome::Fenced,
            Verdict::Fatal(_) => Outcome::Fatal,
            Verdict::Unknown(_) => {
                self.unknown = Some(transaction);
                Outcome::Unknown
            }
        };
        self.tell(history, transaction, outcome);
        self.done()
    }

    fn abort(&mut self, now: Instant, history: &mut History) -> Step {
        let Some((_, transaction)) = self.open else {
            return Step::Moved;
        };
        match self.machine.abort(now) {
            Ok(()) => {
                let until = now + self.patience.block;
                self.doing = Doing::Aborting { until };
            }
            Err(error) => {
                self.open = None;
                self.tell(history, transaction, fatal_outcome(&error));
            }
        }
        Step::Moved
    }

    fn await_abort(&mut self, now: Instant, until: Instant, history: &mut History) -> Step {
        let Some((serial, transaction)) = self.open else {
            return self.done();
        };
        let outcome = match self.machine.verdict(serial) {
            None if until > now => return Step::Rests,
            // The abort goes on, but it is one.
            None | Some(Verdict::Aborted(_)) => Outcome::Aborted,
            Some(Verdict::Fenced(_)) => Outcome::Fenced,
            Some(Verdict::Fatal(_)) => Outcome::Fatal,
            Some(verdict @ (Verdict::Committed | Verdict::Unknown(_))) => {
                panic!("an abort ended as {verdict:?}")
            }
        };
        self.open = None;
        self.tell(history, transaction, outcome);
        self.done()
    }

    fn tell(&mut self, history: &mut History, transaction: usize, outcome: Outcome) {
        history.told(transaction, outcome);
        match outcome {
            Outcome::Fenced | Outcome::Fatal => self.watch.over(),
            Outcome::Aborted | Outcome::Committed | Outcome::Unknown => {}
        }
    }

    /// A call was refused: if for good, the producer is over.
    fn note(&mut self, history: &mut History, error: &Error) {
        if error.kind() == ErrorKind::Fenced {
            history.over(self.instance);
            self.watch.over();
        }
    }
}

fn fatal_outcome(error: &Error) -> Outcome {
    match error.kind() {
        ErrorKind::Fenced => Outcome::Fenced,
        _ => Outcome::Fatal,
    }
}
