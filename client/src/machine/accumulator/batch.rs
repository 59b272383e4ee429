//! A batch from its first record to its result, each state a type that offers only what is legal in it.
//!
//! ```text
//!   Open ──seal──► Sealed ──send──► InFlight ──written / fail──► Resolved
//!     │               ▲ │              │
//!     │               │ └──fail──►     │  (Resolved)
//!     └──fail──►      └────retry───────┘
//! ```
//! A sealed batch keeps its bytes: a resend is byte-identical. Only [`Sealed::restamp`] changes them, and it takes only a batch that
//! is proven unwritten.

use std::time::Instant;

use bytes::Bytes;
use sealwax_protocol::error::{DecodeError, EncodeError};
use sealwax_protocol::ids::{ProducerIdAndEpoch, Sequence, TopicPartition};
use sealwax_protocol::record::{BatchBuilder, ProducerStamp, restamp};

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
    /// Offset of the first record; `None` if the broker no longer knew it.
    pub(crate) base_offset: Option<i64>,
    /// The broker's clock in milliseconds since 1970, if the topic uses it.
    pub(crate) log_append_time: Option<i64>,
}

/// A batch's result, the same for all its records.
pub(crate) type BatchResult = Result<BatchMetadata, Error>;

/// What a batch keeps all its life.
#[derive(Debug)]
struct Identity<T> {
    serial: u64,
    tag: T,
    created: Instant,
    /// Bytes of the memory budget.
    reserved: usize,
}

impl<T> Identity<T> {
    fn resolve(self, result: BatchResult) -> Resolved<T> {
        Resolved {
            tag: self.tag,
            reserved: self.reserved,
            result,
        }
    }
}

/// A batch that takes records.
#[derive(Debug)]
pub(crate) struct Open<T> {
    identity: Identity<T>,
    builder: BatchBuilder,
}

impl<T> Open<T> {
    /// An empty batch. `reserved` is what it has of the memory budget.
    pub(crate) fn new(serial: u64, tag: T, created: Instant, capacity: usize, reserved: usize) -> Self {
        Self {
            identity: Identity {
                serial,
                tag,
                created,
                reserved,
            },
            builder: BatchBuilder::with_capacity(capacity),
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

    /// Adds bytes of the memory budget.
    pub(crate) const fn add_reserved(&mut self, bytes: usize) {
        self.identity.reserved += bytes;
    }

    /// Bytes of the memory budget that it has.
    pub(crate) const fn reserved(&self) -> usize {
        self.identity.reserved
    }

    /// Bytes so far.
    pub(crate) fn len(&self) -> usize {
        self.builder.len()
    }

    /// Its completion tag.
    pub(crate) const fn tag(&self) -> &T {
        &self.identity.tag
    }

    /// Its number among all batches of the accumulator.
    pub(crate) const fn serial(&self) -> u64 {
        self.identity.serial
    }

    /// When its first record came.
    pub(crate) const fn created(&self) -> Instant {
        self.identity.created
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
            identity: self.identity,
            fate: Fate::Unwritten,
        }
    }

    /// Ends it without a send.
    pub(crate) fn fail(self, error: Error) -> Resolved<T> {
        self.identity.resolve(Err(error))
    }
}

/// A batch with its sequences and final bytes, not on the wire.
#[derive(Debug)]
pub(crate) struct Sealed<T> {
    identity: Identity<T>,
    bytes: Bytes,
    record_count: u32,
    fate: Fate,
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
    /// The batch itself, if it may be in the log; or why the bytes could not be stamped.
    pub(crate) fn restamp(self, stamp: ProducerStamp) -> Result<Self, (Self, Option<DecodeError>)> {
        match self.fate {
            Fate::MaybeWritten => Err((self, None)),
            Fate::Unwritten => match restamp(self.bytes.clone(), stamp) {
                Ok(bytes) => Ok(Self { bytes, ..self }),
                Err(error) => Err((self, Some(error))),
            },
        }
    }

    /// Gives it up.
    pub(crate) fn fail(self, error: Error) -> Resolved<T> {
        self.identity.resolve(Err(error))
    }

    /// The bytes to send.
    pub(crate) const fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// How many records it has.
    pub(crate) const fn record_count(&self) -> u32 {
        self.record_count
    }

    /// Whether it may be in the log.
    pub(crate) const fn fate(&self) -> Fate {
        self.fate
    }

    /// When its first record came.
    pub(crate) const fn created(&self) -> Instant {
        self.identity.created
    }

    /// Its number among all batches of the accumulator.
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
    pub(crate) fn written(self, metadata: BatchMetadata) -> Resolved<T> {
        self.sealed.identity.resolve(Ok(metadata))
    }

    /// The attempt is over without success.
    pub(crate) fn retry(self, attempt: Fate) -> Sealed<T> {
        let fate = self.sealed.fate.and(attempt);
        Sealed { fate, ..self.sealed }
    }

    /// The request that carries it.
    pub(crate) const fn request(&self) -> RequestId {
        self.request
    }

    /// Its number among all batches of the accumulator.
    pub(crate) const fn serial(&self) -> u64 {
        self.sealed.identity.serial
    }
}

/// A batch whose result is known.
#[derive(Debug)]
pub(crate) struct Resolved<T> {
    /// Its completion tag.
    pub(crate) tag: T,
    /// Bytes to give back to the memory budget.
    pub(crate) reserved: usize,
    /// The result of all its records.
    pub(crate) result: BatchResult,
}

/// The stamp of a batch that starts at a sequence.
pub(crate) const fn stamp(
    transactional: bool,
    producer: ProducerIdAndEpoch,
    base_sequence: Sequence,
) -> ProducerStamp {
    ProducerStamp {
        transactional,
        producer,
        base_sequence: Some(base_sequence),
    }
}
