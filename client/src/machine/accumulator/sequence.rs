//! Sequences of one partition: bound to (producer id, epoch) when a batch is stamped, counted on by its records, never bound
//! twice. In: the producer that is current, record counts. Out: the stamp of a batch.
//!
//! A partition takes a new producer id or epoch only while none of its batches is stamped with the old one (KAFKA-12152), and
//! then starts at sequence 0, which brokers under TV2 insist on (KAFKA-18202).

use sealwax_protocol::ids::{ProducerIdAndEpoch, Sequence};

/// Batches of a partition that may be stamped and without result at once: a broker recognises repeats of its last five.
pub(crate) const MAX_STAMPED: usize = 5;

/// Whether the sequences that were given out can still all arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Numbering {
    /// Each sequence given out was written or can still be.
    Whole,
    /// A stamped batch was given up: what follows it in this epoch will be refused.
    Broken,
}

/// The sequences of one partition.
#[derive(Debug)]
pub(crate) struct PartitionSequence {
    producer: ProducerIdAndEpoch,
    next: Sequence,
    numbering: Numbering,
}

impl PartitionSequence {
    /// A partition that nothing was stamped for yet.
    pub(crate) const fn new() -> Self {
        Self {
            producer: ProducerIdAndEpoch::NONE,
            next: Sequence::ZERO,
            numbering: Numbering::Whole,
        }
    }

    /// Takes a producer id and epoch, if it is another one, and starts at 0. No batch may be stamped with the old one.
    pub(crate) fn adopt(&mut self, producer: ProducerIdAndEpoch) {
        if self.producer != producer {
            *self = Self {
                producer,
                ..Self::new()
            };
        }
    }

    /// Binds the next sequences to a batch of `records` records and returns the first of them.
    pub(crate) const fn bind(&mut self, records: u32) -> Sequence {
        let first = self.next;
        self.next = first.add(records);
        first
    }

    /// A stamped batch was given up.
    pub(crate) const fn give_up(&mut self) {
        self.numbering = Numbering::Broken;
    }

    /// Whether a new epoch is needed before more can be sent.
    pub(crate) fn is_broken(&self) -> bool {
        self.numbering == Numbering::Broken
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

    #[test]
    fn sequences_count_records_and_wrap_after_the_largest() {
        let mut sequence = PartitionSequence::new();
        sequence.adopt(producer(0));
        assert_eq!(sequence.bind(3).get(), 0);
        assert_eq!(sequence.bind(1).get(), 3);
        sequence.start_at(Sequence::new(i32::MAX - 1).unwrap());
        assert_eq!(sequence.bind(3).get(), i32::MAX - 1);
        assert_eq!(sequence.bind(1).get(), 1);
    }

    #[test]
    fn only_another_epoch_restarts_at_zero_and_mends_the_numbering() {
        let mut sequence = PartitionSequence::new();
        sequence.adopt(producer(0));
        sequence.bind(3);
        sequence.give_up();
        sequence.adopt(producer(0));
        assert!(sequence.is_broken());
        assert_eq!(sequence.bind(1).get(), 3);
        sequence.adopt(producer(1));
        assert!(!sequence.is_broken());
        assert_eq!(sequence.bind(1).get(), 0);
    }
}
