//! The batches of one partition in the order of their records, and the rules of what may be sent next. In: records, drains,
//! answers. Out: bytes to send, resolved batches.
//!
//! The rules (Java's, KIP-98 and KAFKA-5494): at most five stamped batches without result, because a broker recognises repeats of its
//! last five; while a batch is to be sent again only the one with the lowest sequence may go; no batch of a newer epoch goes
//! while one of an older epoch has no result. And as long as the log has no batch of the producer id, one goes at a time: before Kafka 4.1 a
//! log takes whatever sequence comes first, so that a second batch that overtakes the first (on a new connection, say) would shut it out.

use std::collections::VecDeque;
use std::time::Instant;

use bytes::Bytes;
use sealwax_protocol::ids::{ProducerId, ProducerIdAndEpoch};

use super::batch::{BatchMetadata, Fate, InFlight, Open, Resolved, Sealed, stamp};
use super::sequence::{MAX_STAMPED, PartitionSequence};
use crate::machine::RequestId;

/// A batch that has its sequences.
#[derive(Debug)]
enum Stamped<T> {
    Sealed(Sealed<T>),
    InFlight(InFlight<T>),
}

impl<T> Stamped<T> {
    const fn serial(&self) -> u64 {
        match self {
            Self::Sealed(batch) => batch.serial(),
            Self::InFlight(batch) => batch.serial(),
        }
    }
}

/// The pause before the partition is tried again.
#[derive(Debug, Clone, Copy)]
struct Pause {
    failures: u32,
    until: Instant,
}

/// What a partition would send next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing now.
    Nothing,
    /// The stamped batch with the lowest sequence, again; its size in bytes.
    Resend(usize),
    /// The oldest open batch; its size in bytes.
    Fresh(usize),
}

/// The batches of one partition.
#[derive(Debug)]
pub(crate) struct PartitionQueue<T> {
    /// In the order of their sequences, all of one producer id and epoch.
    stamped: VecDeque<Stamped<T>>,
    /// In the order of their records; only the last one takes more.
    waiting: VecDeque<Open<T>>,
    sequence: PartitionSequence,
    /// Whose batches the log is known to have.
    introduced: Option<ProducerId>,
    pause: Option<Pause>,
}

impl<T> PartitionQueue<T> {
    /// A partition without batches.
    pub(crate) const fn new() -> Self {
        Self {
            stamped: VecDeque::new(),
            waiting: VecDeque::new(),
            sequence: PartitionSequence::new(),
            introduced: None,
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

    /// What may be sent now under `producer`, if `is_ready` holds for the oldest open batch.
    pub(crate) fn next(
        &self,
        now: Instant,
        producer: ProducerIdAndEpoch,
        is_ready: impl Fn(&Self) -> bool,
    ) -> Next {
        if self.pause.is_some_and(|pause| pause.until > now) {
            return Next::Nothing;
        }
        match self.stamped.front() {
            Some(_) if self.sequence.is_broken() => Next::Nothing,
            Some(Stamped::Sealed(batch)) => Next::Resend(batch.bytes().len()),
            Some(Stamped::InFlight(_)) if self.has_retrying() || self.stamped.len() >= MAX_STAMPED => {
                Next::Nothing
            }
            Some(Stamped::InFlight(_)) if self.sequence.producer() != producer => Next::Nothing,
            Some(Stamped::InFlight(_)) if self.introduced != Some(producer.id) => Next::Nothing,
            None if self.sequence.is_broken() && self.sequence.producer() == producer => Next::Nothing,
            Some(Stamped::InFlight(_)) | None if is_ready(self) => self
                .waiting
                .front()
                .map_or(Next::Nothing, |open| Next::Fresh(open.len())),
            Some(Stamped::InFlight(_)) | None => Next::Nothing,
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
            Next::Resend(_) => match self.stamped.pop_front()? {
                Stamped::Sealed(batch) => {
                    let bytes = batch.bytes().clone();
                    self.stamped.push_front(Stamped::InFlight(batch.send(request)));
                    Some(bytes)
                }
                in_flight @ Stamped::InFlight(_) => {
                    self.stamped.push_front(in_flight);
                    None
                }
            },
            Next::Fresh(_) => {
                let open = self.waiting.pop_front()?;
                self.sequence.adopt(producer);
                let first = self.sequence.bind(open.record_count());
                let batch = open.seal(stamp(transactional, producer, first));
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

    /// The broker has the batch that `request` carries.
    pub(crate) fn written(&mut self, request: RequestId, metadata: BatchMetadata) -> Option<Resolved<T>> {
        let (_, batch) = self.take_in_flight(request)?;
        self.pause = None;
        self.introduced = Some(self.sequence.producer().id);
        Some(batch.written(metadata))
    }

    /// The batch that `request` carries is to be sent again after a pause; `until` is told how many failures there were in a row.
    pub(crate) fn retry(&mut self, request: RequestId, attempt: Fate, until: impl FnOnce(u32) -> Instant) {
        let Some((index, batch)) = self.take_in_flight(request) else {
            return;
        };
        self.stamped.insert(index, Stamped::Sealed(batch.retry(attempt)));
        let failures = self.pause.map_or(1, |pause| pause.failures.saturating_add(1));
        self.pause = Some(Pause {
            failures,
            until: until(failures),
        });
    }

    /// Takes out the batch that `request` carries in order to give it up.
    pub(crate) fn give_up(&mut self, request: RequestId, attempt: Fate) -> Option<Sealed<T>> {
        let (_, batch) = self.take_in_flight(request)?;
        self.sequence.give_up();
        Some(batch.retry(attempt))
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
        if !taken.is_empty() {
            self.sequence.give_up();
        }
        taken
    }

    /// After the numbering broke and the epoch was bumped: numbers the stamped batches anew. Those that may be in the log are
    /// handed out to be given up. Waits until nothing is on the wire.
    pub(crate) fn renumber(&mut self, producer: ProducerIdAndEpoch, transactional: bool) -> Vec<Sealed<T>> {
        let on_wire = self.stamped.iter().any(|stamped| match stamped {
            Stamped::InFlight(_) => true,
            Stamped::Sealed(_) => false,
        });
        if on_wire || !self.sequence.is_broken() || self.sequence.producer() == producer {
            return Vec::new();
        }
        let mut lost = Vec::new();
        let old = std::mem::take(&mut self.stamped);
        self.sequence.adopt(producer);
        for stamped in old {
            match stamped {
                Stamped::Sealed(batch) if batch.fate() == Fate::MaybeWritten => lost.push(batch),
                Stamped::Sealed(batch) => {
                    let first = self.sequence.bind(batch.record_count());
                    match batch.restamp(stamp(transactional, producer, first)) {
                        Ok(batch) => self.stamped.push_back(Stamped::Sealed(batch)),
                        Err((batch, _)) => lost.push(batch),
                    }
                }
                in_flight @ Stamped::InFlight(_) => self.stamped.push_back(in_flight),
            }
        }
        self.pause = None;
        lost
    }

    /// The topic was created anew: what its log knew of this producer is gone. Whose numbers are lost with it.
    pub(crate) fn forget_log(&mut self) -> Option<ProducerIdAndEpoch> {
        let producer = self.sequence.producer();
        if producer == ProducerIdAndEpoch::NONE {
            return None;
        }
        self.sequence.give_up();
        self.introduced = None;
        Some(producer)
    }

    /// A new leader is no reason to wait (KAFKA-15415).
    pub(crate) fn end_pause(&mut self, now: Instant) {
        if let Some(pause) = &mut self.pause {
            pause.until = pause.until.min(now);
        }
    }

    /// Whether there are stamped batches whose numbering broke.
    pub(crate) fn awaits_renumbering(&self) -> bool {
        self.sequence.is_broken() && !self.stamped.is_empty()
    }

    /// Whether every batch has its result.
    pub(crate) fn is_empty(&self) -> bool {
        self.stamped.is_empty() && self.waiting.is_empty()
    }

    /// The lowest number of a batch without result.
    pub(crate) fn first_serial(&self) -> Option<u64> {
        let stamped = self.stamped.front().map(Stamped::serial);
        stamped.or_else(|| self.waiting.front().map(Open::serial))
    }

    /// The oldest open batch, and whether another one stands behind it, so that it takes no more records.
    pub(crate) fn oldest_open(&self) -> Option<(&Open<T>, bool)> {
        self.waiting.front().map(|batch| (batch, self.waiting.len() > 1))
    }

    /// When the oldest batch that is not on the wire came.
    pub(crate) fn oldest_unsent(&self) -> Option<Instant> {
        let open = self.waiting.front().map(Open::created);
        self.stamped_since().or(open)
    }

    /// Until when nothing is tried.
    pub(crate) fn paused_until(&self) -> Option<Instant> {
        self.pause.map(|pause| pause.until)
    }

    /// The producer id and epoch of the stamped batches.
    pub(crate) const fn producer(&self) -> ProducerIdAndEpoch {
        self.sequence.producer()
    }

    /// Whether a stamped batch was given up in this epoch.
    pub(crate) fn is_broken(&self) -> bool {
        self.sequence.is_broken()
    }

    fn stamped_since(&self) -> Option<Instant> {
        self.stamped.iter().find_map(|stamped| match stamped {
            Stamped::Sealed(batch) => Some(batch.created()),
            Stamped::InFlight(_) => None,
        })
    }

    fn has_retrying(&self) -> bool {
        self.stamped.iter().any(|stamped| match stamped {
            Stamped::Sealed(_) => true,
            Stamped::InFlight(_) => false,
        })
    }

    fn take_in_flight(&mut self, request: RequestId) -> Option<(usize, InFlight<T>)> {
        let index = self.position(request)?;
        match self.stamped.remove(index)? {
            Stamped::InFlight(batch) => Some((index, batch)),
            sealed @ Stamped::Sealed(_) => {
                self.stamped.insert(index, sealed);
                None
            }
        }
    }

    #[cfg(test)]
    pub(crate) const fn sequence_mut(&mut self) -> &mut PartitionSequence {
        &mut self.sequence
    }
}
