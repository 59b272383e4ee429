//! Building a batch in place: each record is encoded once into the open batch, header and checksum are written when it is sealed.

use bytes::{Bytes, BytesMut};

use crate::error::{DecodeError, EncodeError};
use crate::ids::{ProducerIdAndEpoch, Sequence};

/// What a producer writes into a batch's header when it is sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProducerStamp {
    /// Whether the batch belongs to a transaction.
    pub transactional: bool,
    /// Producer id and epoch; [`ProducerIdAndEpoch::NONE`] for a plain producer.
    pub producer: ProducerIdAndEpoch,
    /// Sequence of the first record; `None` for a plain producer.
    pub base_sequence: Option<Sequence>,
}

/// An open batch.
#[derive(Debug)]
pub struct BatchBuilder {
    buffer: BytesMut,
}

impl BatchBuilder {
    /// An empty batch whose buffer has room for `capacity` bytes (it grows if one record needs more).
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            buffer: BytesMut::with_capacity(capacity),
        }
    }

    /// Appends a record and returns its index in the batch.
    ///
    /// # Errors
    /// If a field or the batch would be longer than the format can say. The batch is unchanged then.
    pub fn append<'h>(
        &mut self,
        _timestamp: i64,
        _key: Option<&[u8]>,
        _value: Option<&[u8]>,
        _headers: impl IntoIterator<Item = (&'h [u8], Option<&'h [u8]>), IntoIter: Clone>,
    ) -> Result<u32, EncodeError> {
        todo!()
    }

    /// Bytes that the batch would grow by at most if such a record was appended.
    #[must_use]
    pub fn upper_bound<'h>(
        _key: Option<&[u8]>,
        _value: Option<&[u8]>,
        _headers: impl IntoIterator<Item = (&'h [u8], Option<&'h [u8]>)>,
    ) -> usize {
        todo!()
    }

    /// Bytes of the batch so far, header included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Whether there is no record yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        todo!()
    }

    /// Records so far.
    #[must_use]
    pub fn record_count(&self) -> u32 {
        todo!()
    }

    /// Writes header and checksum. The bytes are what goes into a Produce request.
    #[must_use]
    pub fn seal(self, _stamp: ProducerStamp) -> Bytes {
        todo!()
    }
}

/// Writes another producer stamp into a sealed batch, after an epoch bump. In place if nobody else holds the bytes, else on a copy.
///
/// # Errors
/// If the bytes are not a sealed batch.
pub fn restamp(_batch: Bytes, _stamp: ProducerStamp) -> Result<Bytes, DecodeError> {
    todo!()
}
