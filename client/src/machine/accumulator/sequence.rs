//! Sequences of one partition: bound to (producer id, epoch) when a batch is stamped, counted on by its records, never bound
//! twice. In: the producer that is current, record counts, what was acknowledged and what was given up. Out: the stamp of a batch;
//! whether the numbers that were given out can still all arrive.
//!
//! ```text
//!              given up in doubt                    nothing on the wire
//!   Whole ───────────────────────────► Unresolved ───────────────────────► Broken
//!    ▲  │ ◄── a later one is written ──┘                                    ▲  │
//!    │  └── given up unwritten ─────────────────────────────────────────────┘  │
//!    │  └── log forgot the producer (transactional) ──► Restarting             │
//!    └───────────────────────── a new epoch, or the same one from 0 ◄──────────┘
//! ```
//! A partition takes a new producer id or epoch only while none of its batches is stamped with the old one (KAFKA-12152), and
//! then starts at sequence 0, which brokers under TV2 insist on (KAFKA-18202). A plain producer's partitions have no numbers at all.

use sealwax_protocol::ids::{ProducerIdAndEpoch, Sequence};

use super::batch::{Fate, Sealed};

/// Batches of a partition that may be stamped and without result at once: a broker recognises repeats of its last five.
pub(crate) const MAX_STAMPED: usize = 5;

/// Two sequences that are less apart than this are compared the short way round.
const HALF_WAY: u32 = 1 << 30;

/// Whether the sequences that were given out can still all arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Numbering {
    /// There are none: a plain producer.
    Unnumbered,
    /// Each sequence given out was written or can still be.
    Whole,
    /// A batch was given up that may be in the log; this is the sequence behind it. What is on the wire behind it will tell.
    Unresolved(Sequence),
    /// A stamped batch was given up: what follows it in this epoch will be refused.
    Broken,
    /// The log forgot the producer because it dropped all its records: the same epoch can start over.
    Restarting,
}

/// The sequences of one partition.
#[derive(Debug)]
pub(crate) struct PartitionSequence {
    producer: ProducerIdAndEpoch,
    next: Sequence,
    /// The sequence behind the last one that is known to be in the log.
    acknowledged: Option<Sequence>,
    numbering: Numbering,
}

impl PartitionSequence {
    /// A partition that nothing was stamped for yet.
    pub(crate) const fn new() -> Self {
        Self {
            producer: ProducerIdAndEpoch::NONE,
            next: Sequence::ZERO,
            acknowledged: None,
            numbering: Numbering::Whole,
        }
    }

    /// A partition of a plain producer.
    pub(crate) const fn unnumbered() -> Self {
        Self {
            numbering: Numbering::Unnumbered,
            ..Self::new()
        }
    }

    /// Takes a producer id and epoch, if it is another one, and starts at 0. No batch may be stamped with the old one.
    pub(crate) fn adopt(&mut self, producer: ProducerIdAndEpoch) {
        if self.producer != producer && self.numbering != Numbering::Unnumbered {
            *self = Self {
                producer,
                ..Self::new()
            };
        }
    }

    /// After the numbers broke: starts at 0 under `producer`, if that is possible now. Nothing may be on the wire.
    pub(crate) fn renew(&mut self, producer: ProducerIdAndEpoch) -> bool {
        let can = match self.numbering {
            Numbering::Unnumbered | Numbering::Whole | Numbering::Unresolved(_) => false,
            Numbering::Broken => self.producer != producer,
            Numbering::Restarting => true,
        };
        if can {
            *self = Self {
                producer,
                ..Self::new()
            };
        }
        can
    }

    /// Binds the next sequences to a batch of `records` records and returns the first of them; `None` for a plain producer.
    pub(crate) const fn bind(&mut self, records: u32) -> Option<Sequence> {
        if let Numbering::Unnumbered = self.numbering {
            return None;
        }
        let first = self.next;
        self.next = first.add(records);
        Some(first)
    }

    /// A batch is in the log whose last sequence is the one before `end`.
    pub(crate) fn acknowledge(&mut self, end: Sequence) {
        if self.acknowledged.is_none_or(|known| is_at_or_behind(end, known)) {
            self.acknowledged = Some(end);
        }
        // A log takes no sequence before it has the one in front of it.
        if let (Numbering::Unresolved(at), Some(acknowledged)) = (self.numbering, self.acknowledged)
            && is_at_or_behind(acknowledged, at)
        {
            self.numbering = Numbering::Whole;
        }
    }

    /// A stamped batch was given up. If it may be in the log and others are `on_wire`, these will tell whether it is.
    pub(crate) fn give_up<T>(&mut self, batch: &Sealed<T>, on_wire: bool) {
        self.numbering = match (self.numbering, batch.fate(), batch.end()) {
            (Numbering::Unnumbered, _, _) | (_, _, None) => Numbering::Unnumbered,
            (Numbering::Whole | Numbering::Unresolved(_), Fate::MaybeWritten, Some(end)) if on_wire => {
                Numbering::Unresolved(end)
            }
            (
                Numbering::Whole | Numbering::Unresolved(_) | Numbering::Broken | Numbering::Restarting,
                Fate::Unwritten | Fate::MaybeWritten,
                Some(_),
            ) => Numbering::Broken,
        };
    }

    /// The numbers are lost.
    pub(crate) fn lose(&mut self) {
        if self.numbering != Numbering::Unnumbered {
            self.numbering = Numbering::Broken;
        }
    }

    /// The log forgot the producer; the same epoch can start over as soon as nothing is on the wire.
    pub(crate) fn forget(&mut self) {
        if self.numbering != Numbering::Unnumbered && self.numbering != Numbering::Broken {
            self.numbering = Numbering::Restarting;
        }
    }

    /// Nothing is on the wire any more: what is unresolved still will stay so. Whether the numbers were lost by that.
    pub(crate) fn settle(&mut self) -> bool {
        match self.numbering {
            Numbering::Unresolved(_) => {
                self.numbering = Numbering::Broken;
                true
            }
            Numbering::Unnumbered | Numbering::Whole | Numbering::Broken | Numbering::Restarting => false,
        }
    }

    /// Whether more can be sent in this epoch now.
    pub(crate) const fn is_whole(&self) -> bool {
        matches!(self.numbering, Numbering::Unnumbered | Numbering::Whole)
    }

    /// Whether the numbers are lost.
    pub(crate) const fn is_broken(&self) -> bool {
        matches!(self.numbering, Numbering::Broken | Numbering::Restarting)
    }

    /// Whether the same epoch is to start over.
    pub(crate) const fn is_restarting(&self) -> bool {
        matches!(self.numbering, Numbering::Restarting)
    }

    /// The producer id and epoch that sequences are bound to.
    pub(crate) const fn producer(&self) -> ProducerIdAndEpoch {
        self.producer
    }

    #[cfg(test)]
    pub(crate) const fn start_at(&mut self, next: Sequence) {
        self.next = next;
    }
}

/// Whether `one` is `other` or comes after it, the short way round.
const fn is_at_or_behind(one: Sequence, other: Sequence) -> bool {
    one.distance_from(other) < HALF_WAY
}

#[cfg(test)]
mod tests {
    use sealwax_protocol::ids::{ProducerEpoch, ProducerId};

    use super::*;

    fn producer(epoch: i16) -> ProducerIdAndEpoch {
        ProducerIdAndEpoch {
            id: ProducerId(7),
            epoch: ProducerEpoch(epoch),
        }
    }

    fn at(sequence: i32) -> Sequence {
        Sequence::new(sequence).unwrap()
    }

    #[test]
    fn sequences_count_records_and_wrap_after_the_largest() {
        let mut sequence = PartitionSequence::new();
        sequence.adopt(producer(0));
        assert_eq!(sequence.bind(3), Some(at(0)));
        assert_eq!(sequence.bind(1), Some(at(3)));
        sequence.start_at(at(i32::MAX - 1));
        assert_eq!(sequence.bind(3), Some(at(i32::MAX - 1)));
        assert_eq!(sequence.bind(1), Some(at(1)));
    }

    #[test]
    fn only_another_epoch_restarts_at_zero_and_mends_the_numbering() {
        let mut sequence = PartitionSequence::new();
        sequence.adopt(producer(0));
        sequence.bind(3);
        sequence.lose();
        sequence.adopt(producer(0));
        assert!(sequence.is_broken() && !sequence.renew(producer(0)));
        assert_eq!(sequence.bind(1), Some(at(3)));
        assert!(sequence.renew(producer(1)));
        assert!(sequence.is_whole());
        assert_eq!(sequence.bind(1), Some(at(0)));
    }

    #[test]
    fn a_log_that_forgot_the_producer_takes_the_same_epoch_from_zero() {
        let mut sequence = PartitionSequence::new();
        sequence.adopt(producer(0));
        sequence.bind(3);
        sequence.forget();
        assert!(!sequence.is_whole() && sequence.is_restarting());
        assert!(sequence.renew(producer(0)));
        assert_eq!(sequence.bind(1), Some(at(0)));
        sequence.lose();
        sequence.forget();
        assert!(
            !sequence.is_restarting(),
            "numbers that are lost do not come back"
        );
    }

    #[test]
    fn acknowledgements_go_forward_only_across_the_wrap_too() {
        let mut sequence = PartitionSequence::new();
        sequence.adopt(producer(0));
        sequence.acknowledge(at(i32::MAX));
        sequence.acknowledge(at(2));
        sequence.acknowledge(at(i32::MAX - 5));
        assert_eq!(sequence.acknowledged, Some(at(2)));
    }

    #[test]
    fn a_plain_producer_has_no_numbers_to_lose() {
        let mut sequence = PartitionSequence::unnumbered();
        sequence.adopt(producer(0));
        sequence.lose();
        sequence.forget();
        assert_eq!(sequence.bind(3), None);
        assert_eq!(sequence.producer(), ProducerIdAndEpoch::NONE);
        assert!(sequence.is_whole() && !sequence.is_broken() && !sequence.settle());
    }
}
