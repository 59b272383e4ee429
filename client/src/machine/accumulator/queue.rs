//! The batches of one partition in the order of their records, and the rules of what may be sent next. In: records, drains,
//! answers. Out: bytes to send, finished batches.
//!
//! The rules (Java's, KIP-98 and KAFKA-5494): at most five stamped batches without result, because a broker recognises repeats of its
//! last five; while a batch is to be sent again only the one with the lowest sequence may go; no batch of a newer epoch goes
//! while one of an older epoch has no result; nothing goes while it is not known whether a batch that was given up is in the log. And as
//! long as the log has no batch of the producer id, one goes at a time: before Kafka 4.1 a
//! log takes whatever sequence comes first, so that a second batch that overtakes the first (on a new connection, say) would shut it out.
//!
//! A plain producer has no sequences: what is to be sent again goes before what is new, but does not wait for what is on the wire.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::Bytes;
use sealwax_protocol::ids::{ProducerId, ProducerIdAndEpoch};
use sealwax_protocol::record::ProducerStamp;

use super::batch::{Attempt, BatchMetadata, Fate, Finished, InFlight, Open, Sealed, Weight};
use super::sequence::{MAX_STAMPED, PartitionSequence};
use crate::machine::RequestId;

/// How the batches of a partition follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// By sequences.
    Sequenced,
    /// As they come; so many may be on the wire at once.
    Plain { window: usize },
}

/// A batch that was sent or is about to be sent again.
#[derive(Debug)]
enum Stamped<T> {
    Sealed(Sealed<T>),
    InFlight(InFlight<T>),
}

impl<T> Stamped<T> {
    const fn batch(&self) -> &Sealed<T> {
        match self {
            Self::Sealed(batch) => batch,
            Self::InFlight(batch) => batch.sealed(),
        }
    }

    const fn is_on_wire(&self) -> bool {
        match self {
            Self::Sealed(_) => false,
            Self::InFlight(_) => true,
        }
    }
}

/// Failures in a row, and the pause before the partition is tried again.
#[derive(Debug, Clone, Copy)]
struct Pause {
    failures: u32,
    until: Option<Instant>,
}

/// What is known of the last batch that the log took.
#[derive(Debug, Clone, Copy)]
struct LastWritten {
    at: Instant,
    /// Offset of its last record, if the broker told it.
    offset: Option<i64>,
    /// The transaction, by its number among those of the accumulator.
    round: u64,
}

/// What a partition would send next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing now.
    Nothing,
    /// The batch at this place among those that were sent, again; its size in bytes.
    Resend { place: usize, bytes: usize },
    /// The oldest open batch; its size in bytes.
    Fresh { bytes: usize },
}

/// The batches of one partition.
#[derive(Debug)]
pub(crate) struct PartitionQueue<T> {
    order: Order,
    /// In the order of their records; those with sequences are all of one producer id and epoch.
    stamped: VecDeque<Stamped<T>>,
    /// In the order of their records; only the last one takes more.
    waiting: VecDeque<Open<T>>,
    sequence: PartitionSequence,
    /// Whose batches the log is known to have.
    introduced: Option<ProducerId>,
    last_written: Option<LastWritten>,
    pause: Option<Pause>,
}

impl<T> PartitionQueue<T> {
    /// A partition without batches.
    pub(crate) const fn new(order: Order) -> Self {
        Self {
            order,
            stamped: VecDeque::new(),
            waiting: VecDeque::new(),
            sequence: match order {
                Order::Sequenced => PartitionSequence::new(),
                Order::Plain { .. } => PartitionSequence::unnumbered(),
            },
            introduced: None,
            last_written: None,
            pause: None,
        }
    }

    /// Adds an open batch behind all others.
    pub(crate) fn open(&mut self, batch: Open<T>) {
        self.waiting.push_back(batch);
    }

    /// The batch that takes records.
    pub(crate) fn last_open(&mut self) -> Option<&mut Open<T>> {
        self.waiting.back_mut()
    }

    /// Whether the last open batch has room for a record of `bound` bytes.
    pub(crate) fn has_room(&self, bound: usize, batch_size: usize) -> bool {
        self.waiting
            .back()
            .is_some_and(|batch| batch.len() + bound <= batch_size)
    }

    /// Batches that are to be sent.
    pub(crate) fn backlog(&self) -> usize {
        let again = self.stamped.iter().filter(|stamped| !stamped.is_on_wire());
        self.waiting.len() + again.count()
    }

    /// What may be sent now under `producer`, if `is_ready` holds for the oldest open batch.
    pub(crate) fn next(
        &self,
        now: Instant,
        producer: ProducerIdAndEpoch,
        is_ready: impl Fn(&Self) -> bool,
    ) -> Next {
        if self.paused_until().is_some_and(|until| until > now) {
            return Next::Nothing;
        }
        match self.order {
            Order::Sequenced => self.next_in_sequence(producer, is_ready),
            Order::Plain { window } => self.next_as_it_comes(window, is_ready),
        }
    }

    fn next_in_sequence(&self, producer: ProducerIdAndEpoch, is_ready: impl Fn(&Self) -> bool) -> Next {
        match self.stamped.front() {
            Some(_) if !self.sequence.is_whole() => Next::Nothing,
            Some(Stamped::Sealed(batch)) => resend(0, batch),
            Some(Stamped::InFlight(_)) if self.has_retrying() || self.stamped.len() >= MAX_STAMPED => {
                Next::Nothing
            }
            Some(Stamped::InFlight(_)) if self.sequence.producer() != producer => Next::Nothing,
            Some(Stamped::InFlight(_)) if self.introduced != Some(producer.id) => Next::Nothing,
            None if !self.sequence.is_whole() && self.sequence.producer() == producer => Next::Nothing,
            Some(Stamped::InFlight(_)) | None => self.next_fresh(is_ready),
        }
    }

    fn next_as_it_comes(&self, window: usize, is_ready: impl Fn(&Self) -> bool) -> Next {
        let on_wire = self.stamped.iter().filter(|stamped| stamped.is_on_wire());
        if on_wire.count() >= window {
            return Next::Nothing;
        }
        let again = self.stamped.iter().enumerate();
        let again = again.filter(|(_, stamped)| !stamped.is_on_wire());
        match again.map(|(place, stamped)| (place, stamped.batch())).next() {
            Some((place, batch)) => resend(place, batch),
            None => self.next_fresh(is_ready),
        }
    }

    fn next_fresh(&self, is_ready: impl Fn(&Self) -> bool) -> Next {
        match self.waiting.front() {
            Some(open) if is_ready(self) => Next::Fresh { bytes: open.len() },
            Some(_) | None => Next::Nothing,
        }
    }

    /// Puts what [`PartitionQueue::next`] announced on the wire and returns its bytes.
    pub(crate) fn send(
        &mut self,
        next: Next,
        request: RequestId,
        producer: ProducerIdAndEpoch,
        transactional: bool,
    ) -> Option<Bytes> {
        match next {
            Next::Nothing => None,
            Next::Resend { place, .. } => match self.stamped.remove(place)? {
                Stamped::Sealed(batch) => {
                    let bytes = batch.bytes().clone();
                    self.stamped.insert(place, Stamped::InFlight(batch.send(request)));
                    Some(bytes)
                }
                in_flight @ Stamped::InFlight(_) => {
                    self.stamped.insert(place, in_flight);
                    None
                }
            },
            Next::Fresh { .. } => {
                let open = self.waiting.pop_front()?;
                self.sequence.adopt(producer);
                let stamp = self.stamp(open.record_count(), transactional);
                let batch = open.seal(stamp);
                let bytes = batch.bytes().clone();
                self.stamped.push_back(Stamped::InFlight(batch.send(request)));
                Some(bytes)
            }
        }
    }

    /// The place among the stamped batches of the one that `request` carries; 0 is the lowest sequence.
    pub(crate) fn position(&self, request: RequestId) -> Option<usize> {
        self.stamped.iter().position(|stamped| match stamped {
            Stamped::InFlight(batch) => batch.request() == request,
            Stamped::Sealed(_) => false,
        })
    }

    /// The batch that `request` carries.
    pub(crate) fn in_flight(&self, request: RequestId) -> Option<&InFlight<T>> {
        match self.stamped.get(self.position(request)?)? {
            Stamped::InFlight(batch) => Some(batch),
            Stamped::Sealed(_) => None,
        }
    }

    /// The broker has the batch that `request` carries. `round` numbers the transaction.
    pub(crate) fn written(
        &mut self,
        now: Instant,
        request: RequestId,
        metadata: BatchMetadata,
        round: u64,
    ) -> Option<Finished<T>> {
        let (_, batch) = self.take_in_flight(request)?;
        self.pause = None;
        self.introduced = Some(self.sequence.producer().id);
        if let Some(end) = batch.sealed().end() {
            self.sequence.acknowledge(end);
        }
        let last = i64::from(batch.sealed().record_count()) - 1;
        let told = metadata.base_offset.map(|base| base.saturating_add(last));
        let known = self.last_written.and_then(|written| written.offset);
        self.last_written = Some(LastWritten {
            at: now,
            // A repeated batch whose offset the broker has forgotten stands behind those known.
            offset: told.map(|told| known.map_or(told, |known| told.max(known))),
            round,
        });
        Some(batch.written(metadata))
    }

    /// The batch that `request` carries is to be sent again; if the attempt weighs enough then after a pause, for which `until` is told how
    /// many failures there were in a row.
    pub(crate) fn retry(&mut self, request: RequestId, attempt: Attempt, until: impl FnOnce(u32) -> Instant) {
        let Some((place, batch)) = self.take_in_flight(request) else {
            return;
        };
        let weight = attempt.weight;
        self.stamped.insert(place, Stamped::Sealed(batch.retry(attempt)));
        if weight == Weight::Nothing {
            return;
        }
        let failures = self.failures().saturating_add(1);
        self.pause = Some(Pause {
            failures,
            until: Some(until(failures)),
        });
    }

    /// Takes out the batch that `request` carries in order to give it up.
    pub(crate) fn give_up(&mut self, request: RequestId, attempt: Fate) -> Option<Sealed<T>> {
        let (_, batch) = self.take_in_flight(request)?;
        let batch = batch.give_up(attempt);
        let on_wire = self.is_on_wire();
        self.sequence.give_up(&batch, on_wire);
        Some(batch)
    }

    /// Takes out the batch that `request` carries in order to put others in its place.
    pub(crate) fn take_apart(&mut self, request: RequestId) -> Option<(usize, Sealed<T>)> {
        let (place, batch) = self.take_in_flight(request)?;
        Some((place, batch.give_up(Fate::Unwritten)))
    }

    /// A batch that was taken apart is given up instead.
    pub(crate) fn give_up_apart(&mut self, batch: &Sealed<T>) {
        let on_wire = self.is_on_wire();
        self.sequence.give_up(batch, on_wire);
    }

    /// Puts batches to be sent in the place of one that was taken apart.
    pub(crate) fn put_back(&mut self, place: usize, batches: impl IntoIterator<Item = Sealed<T>>) {
        for (offset, batch) in batches.into_iter().enumerate() {
            self.stamped.insert(place + offset, Stamped::Sealed(batch));
        }
    }

    /// Takes out every batch that was never stamped and that `wanted` holds for, oldest first.
    pub(crate) fn take_waiting(&mut self, wanted: impl Fn(&Open<T>) -> bool) -> Vec<Open<T>> {
        // The oldest come first, so that the wanted ones are a run at the front.
        let kept = self.waiting.iter().position(|batch| !wanted(batch));
        self.waiting.drain(..kept.unwrap_or(self.waiting.len())).collect()
    }

    /// Takes out every stamped batch that is not on the wire and that `wanted` holds for, in order to give it up.
    pub(crate) fn take_retrying(&mut self, wanted: impl Fn(&Sealed<T>) -> bool) -> Vec<Sealed<T>> {
        let mut taken = Vec::new();
        for stamped in std::mem::take(&mut self.stamped) {
            match stamped {
                Stamped::Sealed(batch) if wanted(&batch) => taken.push(batch),
                kept @ (Stamped::Sealed(_) | Stamped::InFlight(_)) => self.stamped.push_back(kept),
            }
        }
        let on_wire = self.is_on_wire();
        for batch in &taken {
            self.sequence.give_up(batch, on_wire);
        }
        taken
    }

    /// Takes out every batch that is on the wire, not to wait for it any longer.
    pub(crate) fn take_on_wire(&mut self) -> Vec<Sealed<T>> {
        let (on_wire, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut self.stamped)
            .into_iter()
            .partition(Stamped::is_on_wire);
        self.stamped = kept.into();
        let mut taken = Vec::new();
        for stamped in on_wire {
            let batch = match stamped {
                Stamped::InFlight(batch) => batch.give_up(Fate::MaybeWritten),
                Stamped::Sealed(batch) => batch,
            };
            self.sequence.give_up(&batch, false);
            taken.push(batch);
        }
        taken
    }

    /// After the numbers were lost: numbers the stamped batches anew, under another epoch or, if the log forgot the producer, under the
    /// same one. Those that may be in the log are handed out to be given up. Waits until nothing is on the wire.
    pub(crate) fn renumber(&mut self, producer: ProducerIdAndEpoch, transactional: bool) -> Vec<Sealed<T>> {
        if self.is_on_wire() || !self.sequence.renew(producer) {
            return Vec::new();
        }
        let mut lost = Vec::new();
        for stamped in std::mem::take(&mut self.stamped) {
            match stamped {
                Stamped::Sealed(batch) if batch.fate() == Fate::MaybeWritten => lost.push(batch),
                Stamped::Sealed(batch) => {
                    let stamp = self.stamp(batch.record_count(), transactional);
                    match batch.restamp(stamp) {
                        Ok(batch) => self.stamped.push_back(Stamped::Sealed(batch)),
                        Err(batch) => lost.push(batch),
                    }
                }
                in_flight @ Stamped::InFlight(_) => self.stamped.push_back(in_flight),
            }
        }
        // New numbers are worth a try at once; but if they do not help, the pauses grow.
        if let Some(pause) = &mut self.pause
            && pause.failures == 1
        {
            pause.until = None;
        }
        lost
    }

    /// The broker lost what it knew of the sequences, or of records: new numbers are needed.
    pub(crate) fn lose_numbers(&mut self) {
        self.sequence.lose();
    }

    /// The log dropped all records of the producer and forgot it with them: the same epoch starts over.
    pub(crate) fn start_over(&mut self) {
        self.sequence.forget();
        self.introduced = None;
    }

    /// Whether the same epoch is to start over.
    pub(crate) const fn is_starting_over(&self) -> bool {
        self.sequence.is_restarting()
    }

    /// If nothing is on the wire: what is unresolved will stay so. Whether the numbers were lost by that.
    pub(crate) fn settle(&mut self) -> bool {
        !self.is_on_wire() && self.sequence.settle()
    }

    /// The topic was created anew: what its log knew of this producer is gone. Whose numbers are lost with it.
    pub(crate) fn forget_log(&mut self) -> Option<ProducerIdAndEpoch> {
        self.introduced = None;
        self.last_written = None;
        self.abandon_numbers()
    }

    /// If nothing was written for `limit` and nothing is under way: the broker may have forgotten the producer, which it does without a
    /// word, so that the numbers are not to be relied on. Whose they were.
    pub(crate) fn retire_numbers(&mut self, now: Instant, limit: Duration) -> Option<ProducerIdAndEpoch> {
        let is_old = |written: LastWritten| now.saturating_duration_since(written.at) >= limit;
        if !self.is_empty() || !self.last_written.is_some_and(is_old) {
            return None;
        }
        self.last_written = None;
        self.abandon_numbers()
    }

    fn abandon_numbers(&mut self) -> Option<ProducerIdAndEpoch> {
        let producer = self.sequence.producer();
        if producer == ProducerIdAndEpoch::NONE {
            return None;
        }
        self.sequence.lose();
        Some(producer)
    }

    /// A new leader is no reason to wait (KAFKA-15415).
    pub(crate) const fn end_pause(&mut self) {
        if let Some(pause) = &mut self.pause {
            pause.until = None;
        }
    }

    /// Whether there are stamped batches whose numbers are lost.
    pub(crate) fn awaits_renumbering(&self) -> bool {
        self.sequence.is_broken() && !self.stamped.is_empty()
    }

    /// Whether every batch has its result.
    pub(crate) fn is_empty(&self) -> bool {
        self.stamped.is_empty() && self.waiting.is_empty()
    }

    /// The lowest number of a batch without result.
    pub(crate) fn first_serial(&self) -> Option<u64> {
        let stamped = self.stamped.front().map(|stamped| stamped.batch().serial());
        stamped.or_else(|| self.waiting.front().map(Open::serial))
    }

    /// The oldest open batch, and whether another one stands behind it, so that it takes no more records.
    pub(crate) fn oldest_open(&self) -> Option<(&Open<T>, bool)> {
        self.waiting.front().map(|batch| (batch, self.waiting.len() > 1))
    }

    /// When the oldest batch that is not on the wire came.
    pub(crate) fn oldest_unsent(&self) -> Option<Instant> {
        let again = self.stamped.iter().find(|stamped| !stamped.is_on_wire());
        let again = again.map(|stamped| stamped.batch().created());
        again.or_else(|| self.waiting.front().map(Open::created))
    }

    /// Until when nothing is tried.
    pub(crate) fn paused_until(&self) -> Option<Instant> {
        self.pause.and_then(|pause| pause.until)
    }

    /// How many attempts in a row have failed.
    pub(crate) fn failures(&self) -> u32 {
        self.pause.map_or(0, |pause| pause.failures)
    }

    /// Whether a log that begins at this offset is known to have dropped every record that was written.
    pub(crate) fn is_dropped_by(&self, log_start_offset: i64) -> bool {
        self.last_written
            .is_none_or(|written| written.offset.is_some_and(|offset| offset < log_start_offset))
    }

    /// Whether the log took a batch in this transaction.
    pub(crate) fn wrote_in(&self, round: u64) -> bool {
        self.last_written.is_some_and(|written| written.round == round)
    }

    /// The producer id and epoch of the stamped batches.
    pub(crate) const fn producer(&self) -> ProducerIdAndEpoch {
        self.sequence.producer()
    }

    /// Whether the numbers of this epoch are lost.
    pub(crate) fn is_broken(&self) -> bool {
        self.sequence.is_broken()
    }

    fn stamp(&mut self, records: u32, transactional: bool) -> ProducerStamp {
        ProducerStamp {
            transactional,
            producer: self.sequence.producer(),
            base_sequence: self.sequence.bind(records),
        }
    }

    fn has_retrying(&self) -> bool {
        self.stamped.iter().any(|stamped| !stamped.is_on_wire())
    }

    fn is_on_wire(&self) -> bool {
        self.stamped.iter().any(Stamped::is_on_wire)
    }

    fn take_in_flight(&mut self, request: RequestId) -> Option<(usize, InFlight<T>)> {
        let place = self.position(request)?;
        match self.stamped.remove(place)? {
            Stamped::InFlight(batch) => Some((place, batch)),
            sealed @ Stamped::Sealed(_) => {
                self.stamped.insert(place, sealed);
                None
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn open_bytes(&self) -> usize {
        self.waiting.iter().map(Open::len).sum()
    }

    #[cfg(test)]
    pub(crate) const fn sequence_mut(&mut self) -> &mut PartitionSequence {
        &mut self.sequence
    }
}

const fn resend<T>(place: usize, batch: &Sealed<T>) -> Next {
    Next::Resend {
        place,
        bytes: batch.bytes().len(),
    }
}
