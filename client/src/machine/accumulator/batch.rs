//! A batch from its first record to its result, each state a type that offers only what is legal in it.
//!
//! ```text
//!   Open ──seal──► Sealed ──send──► InFlight ──written / fail──► Finished
//!     │             ▲ ▲ │              │
//!     │   two halves└┐│ └──fail──►     │  (Finished)
//!     └──fail──►    └┴┴──retry─────────┘
//! ```
//! A sealed batch keeps its bytes: a resend is byte-identical. Only [`Sealed::restamp`] and [`Sealed::halve`] make other bytes of its
//! records, and they take only a batch that is proven unwritten. The halves of a batch share its [`Claim`]: what its records are told is
//! put together in `family` when the last half is finished.

use std::time::Instant;

use bytes::Bytes;
use sealwax_protocol::error::EncodeError;
use sealwax_protocol::ids::{Sequence, TopicPartition};
use sealwax_protocol::record::{BatchBuilder, ProducerStamp, restamp};

use super::split;
use crate::error::Error;
use crate::machine::RequestId;
use crate::record::Record;

/// Whether a batch may be in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Never sent, or refused each time before the log was touched.
    Unwritten,
    /// A request with it may have been carried out.
    MaybeWritten,
}

impl Fate {
    /// What is known after one more attempt: a batch that may be in the log stays so.
    pub(crate) const fn and(self, attempt: Self) -> Self {
        match (self, attempt) {
            (Self::Unwritten, Self::Unwritten) => Self::Unwritten,
            (Self::MaybeWritten, _) | (_, Self::MaybeWritten) => Self::MaybeWritten,
        }
    }
}

/// Where a batch's records are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BatchMetadata {
    /// The partition.
    pub(crate) topic_partition: TopicPartition,
    /// Offset of the first record; `None` if the broker no longer knew it or was not asked for it (`acks=0`).
    pub(crate) base_offset: Option<i64>,
    /// The broker's clock in milliseconds since 1970, if the topic uses it.
    pub(crate) log_append_time: Option<i64>,
}

/// The result of what was sent as one batch, the same for all its records.
pub(crate) type BatchResult = Result<BatchMetadata, Error>;

/// What the records of one batch are told.
#[derive(Debug)]
pub(crate) enum Results {
    /// It was never split.
    Whole(BatchResult),
    /// It was split because it was too large: the result of its first piece, then those of the others in the order of the records.
    Split(BatchResult, Vec<Piece>),
}

/// A later piece of a batch that was split.
#[derive(Debug)]
pub(crate) struct Piece {
    /// Index in the batch of its first record.
    pub(crate) first: u32,
    /// Its result.
    pub(crate) result: BatchResult,
}

impl Results {
    /// The result that holds for the record at `index`, and the record's place in what was sent as one.
    pub(crate) fn of(&self, index: u32) -> (&BatchResult, u32) {
        match self {
            Self::Whole(result) => (result, index),
            Self::Split(first, later) => {
                let piece = later.iter().rev().find(|piece| piece.first <= index);
                piece.map_or((first, index), |piece| (&piece.result, index - piece.first))
            }
        }
    }

    /// The first failure among them.
    pub(crate) fn first_error(&self) -> Option<&Error> {
        match self {
            Self::Whole(result) => result.as_ref().err(),
            Self::Split(first, later) => {
                let later = later.iter().map(|piece| &piece.result);
                std::iter::once(first)
                    .chain(later)
                    .find_map(|result| result.as_ref().err())
            }
        }
    }
}

/// Who is told a batch's result.
#[derive(Debug)]
pub(crate) enum Claim<T> {
    /// All that have a record in it.
    Whole {
        /// Its completion tag.
        tag: T,
        /// Bytes of the memory budget.
        reserved: usize,
    },
    /// It is a piece of this batch, from this record on.
    Piece { of: u64, first: u32 },
}

/// A batch, or a piece of one, that has its result.
#[derive(Debug)]
pub(crate) struct Finished<T> {
    /// Who is told.
    pub(crate) claim: Claim<T>,
    /// The result.
    pub(crate) result: BatchResult,
}

/// What a batch keeps all its life.
#[derive(Debug)]
struct Identity<T> {
    serial: u64,
    claim: Claim<T>,
    created: Instant,
}

impl<T> Identity<T> {
    fn finish(self, result: BatchResult) -> Finished<T> {
        Finished {
            claim: self.claim,
            result,
        }
    }
}

/// A batch that takes records.
#[derive(Debug)]
pub(crate) struct Open<T> {
    serial: u64,
    tag: T,
    created: Instant,
    /// Bytes of the memory budget.
    reserved: usize,
    builder: BatchBuilder,
}

impl<T> Open<T> {
    /// An empty batch whose buffer has all of the memory budget that was reserved for it.
    pub(crate) fn new(serial: u64, tag: T, created: Instant, reserved: usize) -> Self {
        Self {
            serial,
            tag,
            created,
            reserved,
            builder: BatchBuilder::with_capacity(reserved),
        }
    }

    /// Encodes a record at the end and returns its index.
    ///
    /// # Errors
    /// If the format cannot hold it; the batch is unchanged then.
    pub(crate) fn append(&mut self, record: &Record<'_>, timestamp: i64) -> Result<u32, EncodeError> {
        let headers = record
            .headers
            .iter()
            .map(|header| (header.key.as_bytes(), header.value));
        self.builder.append(timestamp, record.key, record.value, headers)
    }

    /// What has to be reserved on top so that `bound` bytes more have room. A buffer that has to grow doubles, so that is what is counted.
    pub(crate) fn growth(&self, bound: usize) -> usize {
        let needed = self.builder.len().saturating_add(bound);
        if needed <= self.reserved {
            return 0;
        }
        needed.max(self.reserved.saturating_mul(2)) - self.reserved
    }

    /// Adds bytes of the memory budget.
    pub(crate) const fn add_reserved(&mut self, bytes: usize) {
        self.reserved += bytes;
    }

    /// Bytes so far.
    pub(crate) fn len(&self) -> usize {
        self.builder.len()
    }

    /// Its completion tag.
    pub(crate) const fn tag(&self) -> &T {
        &self.tag
    }

    /// Its number among all batches of the accumulator.
    pub(crate) const fn serial(&self) -> u64 {
        self.serial
    }

    /// When its first record came.
    pub(crate) const fn created(&self) -> Instant {
        self.created
    }

    /// Records so far.
    pub(crate) fn record_count(&self) -> u32 {
        self.builder.record_count()
    }

    /// Writes header and checksum.
    pub(crate) fn seal(self, stamp: ProducerStamp) -> Sealed<T> {
        Sealed {
            record_count: self.builder.record_count(),
            bytes: self.builder.seal(stamp),
            identity: Identity {
                serial: self.serial,
                claim: Claim::Whole {
                    tag: self.tag,
                    reserved: self.reserved,
                },
                created: self.created,
            },
            stamp,
            fate: Fate::Unwritten,
            attempts: 0,
            cause: None,
        }
    }

    /// Ends it without a send.
    pub(crate) fn fail(self, error: Error) -> Finished<T> {
        Finished {
            claim: Claim::Whole {
                tag: self.tag,
                reserved: self.reserved,
            },
            result: Err(error),
        }
    }
}

/// An attempt that failed but may be made again.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    /// Whether it may have put the batch into the log.
    pub(crate) fate: Fate,
    /// Why it failed.
    pub(crate) cause: Error,
    /// What it counts for.
    pub(crate) weight: Weight,
}

/// What a failed attempt counts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    /// It is one of `retries`, and there is a pause before the next.
    Counted,
    /// There is a pause before the next.
    Paused,
    /// Nothing: another batch is the cause.
    Nothing,
}

/// A batch with its sequences and final bytes, not on the wire.
#[derive(Debug)]
pub(crate) struct Sealed<T> {
    identity: Identity<T>,
    bytes: Bytes,
    record_count: u32,
    stamp: ProducerStamp,
    fate: Fate,
    /// Failed attempts that `retries` counts.
    attempts: u32,
    /// Why the last attempt failed.
    cause: Option<Error>,
}

impl<T> Sealed<T> {
    /// Puts it on the wire.
    pub(crate) const fn send(self, request: RequestId) -> InFlight<T> {
        InFlight {
            sealed: self,
            request,
        }
    }

    /// Binds it to another epoch. Only for a batch that is proven unwritten: else its records could stand in the log twice.
    ///
    /// # Errors
    /// The batch itself, if it may be in the log, or if its bytes are not what was sealed.
    pub(crate) fn restamp(self, stamp: ProducerStamp) -> Result<Self, Self> {
        match self.fate {
            Fate::MaybeWritten => Err(self),
            Fate::Unwritten => match restamp(self.bytes.clone(), stamp) {
                Ok(bytes) => Ok(Self { bytes, stamp, ..self }),
                Err(_) => Err(self),
            },
        }
    }

    /// Makes two batches of its records, which share its sequences. Only for a batch that is proven unwritten. `divide` is told
    /// its number, its claim and how many records the first one has, and makes a claim for each of both.
    ///
    /// # Errors
    /// The batch itself, if it may be in the log or has a single record.
    pub(crate) fn halve(
        self,
        divide: impl FnOnce(u64, Claim<T>, u32) -> [Claim<T>; 2],
    ) -> Result<[Self; 2], Self> {
        let halves = match self.fate {
            Fate::MaybeWritten => None,
            Fate::Unwritten => split::halves(&self.bytes, self.stamp),
        };
        let Some([first, second]) = halves else {
            return Err(self);
        };
        let Identity {
            serial,
            claim,
            created,
        } = self.identity;
        let [first_claim, second_claim] = divide(serial, claim, first.record_count);
        let half = |half: split::Half, claim| Self {
            identity: Identity {
                serial,
                claim,
                created,
            },
            bytes: half.bytes,
            record_count: half.record_count,
            stamp: half.stamp,
            fate: Fate::Unwritten,
            attempts: self.attempts,
            cause: self.cause.clone(),
        };
        Ok([half(first, first_claim), half(second, second_claim)])
    }

    /// Gives it up.
    pub(crate) fn fail(self, error: Error) -> Finished<T> {
        self.identity.finish(Err(error))
    }

    /// The bytes to send.
    pub(crate) const fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// How many records it has.
    pub(crate) const fn record_count(&self) -> u32 {
        self.record_count
    }

    /// The sequence behind its last one; `None` if it has none.
    pub(crate) fn end(&self) -> Option<Sequence> {
        self.stamp.base_sequence.map(|first| first.add(self.record_count))
    }

    /// Whether it may be in the log.
    pub(crate) const fn fate(&self) -> Fate {
        self.fate
    }

    /// Why the last attempt failed.
    pub(crate) const fn cause(&self) -> Option<&Error> {
        self.cause.as_ref()
    }

    /// When its first record came.
    pub(crate) const fn created(&self) -> Instant {
        self.identity.created
    }

    /// Its number among all batches of the accumulator; pieces have that of the whole.
    pub(crate) const fn serial(&self) -> u64 {
        self.identity.serial
    }
}

/// A batch on the wire.
#[derive(Debug)]
pub(crate) struct InFlight<T> {
    sealed: Sealed<T>,
    request: RequestId,
}

impl<T> InFlight<T> {
    /// The broker has it.
    pub(crate) fn written(self, metadata: BatchMetadata) -> Finished<T> {
        self.sealed.identity.finish(Ok(metadata))
    }

    /// The attempt is over without success.
    pub(crate) fn retry(self, attempt: Attempt) -> Sealed<T> {
        Sealed {
            fate: self.sealed.fate.and(attempt.fate),
            attempts: self
                .sealed
                .attempts
                .saturating_add(u32::from(attempt.weight == Weight::Counted)),
            cause: Some(attempt.cause),
            ..self.sealed
        }
    }

    /// It is no longer waited for; `attempt` is what is known of its last attempt.
    pub(crate) fn give_up(self, attempt: Fate) -> Sealed<T> {
        let fate = self.sealed.fate.and(attempt);
        Sealed { fate, ..self.sealed }
    }

    /// How many of its attempts have failed that `retries` counts.
    pub(crate) const fn attempts(&self) -> u32 {
        self.sealed.attempts
    }

    /// The request that carries it.
    pub(crate) const fn request(&self) -> RequestId {
        self.request
    }

    /// The batch itself.
    pub(crate) const fn sealed(&self) -> &Sealed<T> {
        &self.sealed
    }
}

/// A batch whose records all have their result.
#[derive(Debug)]
pub(crate) struct Resolved<T> {
    /// Its completion tag.
    pub(crate) tag: T,
    /// Bytes to give back to the memory budget.
    pub(crate) reserved: usize,
    /// What its records are told.
    pub(crate) results: Results,
}
