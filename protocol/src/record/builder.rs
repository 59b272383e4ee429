//! Building a batch in place: each record is encoded once into the open batch, header and checksum are written when it is sealed.
//!
//! The buffer begins with room for the header. A record's size is computed first, so that all limits are checked and all bytes are
//! reserved before the first one is written.

use bytes::{Bytes, BytesMut};

use super::batch::{
    BASE_OFFSET_END, BatchHeader, CONTROL, Framed, HEADER_LEN, LEADER_EPOCH_END, LENGTH_END, TRANSACTIONAL,
    frame,
};
use super::control::ControlType;
use crate::error::{DecodeError, EncodeError};
use crate::ids::{ProducerIdAndEpoch, Sequence};
use crate::limits::DecodeLimits;
use crate::varint::{size_of_varint, size_of_varlong, write_varint, write_varlong};

/// Largest length that the format can say, in bytes.
const MAX_LENGTH: usize = i32::MAX as usize;
/// Bytes of a record's length, attributes, timestamp delta and offset delta, at most.
const MAX_RECORD_OVERHEAD: usize = 5 + 1 + 10 + 5;
/// The wire's "null" for a length and "none" for a sequence.
const NONE: i32 = -1;
/// The wire's "no timestamp".
const NO_TIMESTAMP: i64 = -1;

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

impl ProducerStamp {
    fn write_to(self, header: &mut BatchHeader) {
        if self.transactional {
            header.attributes |= TRANSACTIONAL;
        } else {
            header.attributes &= !TRANSACTIONAL;
        }
        header.producer_id = self.producer.id.0;
        header.producer_epoch = self.producer.epoch.0;
        header.base_sequence = self.base_sequence.map_or(NONE, Sequence::get);
    }
}

/// An open batch.
#[derive(Debug)]
pub struct BatchBuilder {
    /// Begins with [`HEADER_LEN`] bytes for the header; records follow.
    buffer: BytesMut,
    /// At most [`MAX_LENGTH`], because each record takes bytes.
    record_count: u32,
    timestamps: Option<Timestamps>,
}

/// The timestamps of a batch that has records.
#[derive(Debug, Clone, Copy)]
struct Timestamps {
    base: i64,
    max: i64,
}

impl BatchBuilder {
    /// An empty batch whose buffer has room for `capacity` bytes (it grows if one record needs more).
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        let mut buffer = BytesMut::with_capacity(capacity.max(HEADER_LEN));
        buffer.resize(HEADER_LEN, 0);
        Self {
            buffer,
            record_count: 0,
            timestamps: None,
        }
    }

    /// Appends a record and returns its index in the batch.
    ///
    /// `timestamp` is in milliseconds since 1970, −1 for none; any number can be written. The headers are gone through twice and
    /// must be the same both times.
    ///
    /// # Errors
    /// If a field or the batch would be longer than the format can say. The batch is unchanged then.
    pub fn append<'h>(
        &mut self,
        timestamp: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: impl IntoIterator<Item = (&'h [u8], Option<&'h [u8]>), IntoIter: Clone>,
    ) -> Result<u32, EncodeError> {
        let headers = headers.into_iter();
        let index = self.record_count;
        let timestamps = self.timestamps.unwrap_or(Timestamps {
            base: timestamp,
            max: timestamp,
        });
        let prefix = Prefix {
            timestamp_delta: timestamp.wrapping_sub(timestamps.base),
            index,
        };
        let body = BodySize::checked(key, value, headers.clone())?;
        let length = check("record", body.bytes.saturating_add(prefix.size()))?;
        let growth = (length as usize).saturating_add(size_of_varint(length));
        let grown = self.buffer.len().saturating_add(growth);
        check("record batch", grown - LENGTH_END)?;

        self.buffer.reserve(growth);
        write_varint(&mut self.buffer, length);
        prefix.write(&mut self.buffer);
        write_field(&mut self.buffer, key);
        write_field(&mut self.buffer, value);
        write_varint(&mut self.buffer, body.header_count);
        for (key, value) in headers {
            write_field(&mut self.buffer, Some(key));
            write_field(&mut self.buffer, value);
        }
        debug_assert_eq!(
            self.buffer.len(),
            grown,
            "the headers changed between the two passes"
        );

        self.timestamps = Some(Timestamps {
            max: timestamps.max.max(timestamp),
            ..timestamps
        });
        self.record_count += 1;
        Ok(index)
    }

    /// Bytes that the batch would grow by at most if such a record was appended.
    #[must_use]
    pub fn upper_bound<'h>(
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: impl IntoIterator<Item = (&'h [u8], Option<&'h [u8]>)>,
    ) -> usize {
        let fixed = MAX_RECORD_OVERHEAD
            .saturating_add(size_of_field(key))
            .saturating_add(size_of_field(value));
        let (bytes, count) = headers
            .into_iter()
            .fold((fixed, 0_usize), |(bytes, count), (key, value)| {
                let header = size_of_field(Some(key)).saturating_add(size_of_field(value));
                (bytes.saturating_add(header), count + 1)
            });
        bytes.saturating_add(size_of_varint(i32::try_from(count).unwrap_or(i32::MAX)))
    }

    /// Bytes of the batch so far, header included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Whether there is no record yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.record_count == 0
    }

    /// Records so far.
    #[must_use]
    pub fn record_count(&self) -> u32 {
        self.record_count
    }

    /// Writes header and checksum. The bytes are what goes into a Produce request.
    ///
    /// Base offset is 0 and partition leader epoch −1: the broker sets both. A batch without records is readable, but no
    /// broker takes it.
    #[must_use]
    pub fn seal(self, stamp: ProducerStamp) -> Bytes {
        self.seal_with(stamp, 0)
    }

    fn seal_with(mut self, stamp: ProducerStamp, attributes: i16) -> Bytes {
        let timestamps = self.timestamps.unwrap_or(Timestamps {
            base: NO_TIMESTAMP,
            max: NO_TIMESTAMP,
        });
        let record_count = self.record_count as i32;
        let mut header = BatchHeader {
            base_offset: 0,
            batch_length: (self.buffer.len() - LENGTH_END) as i32,
            partition_leader_epoch: -1,
            crc: 0,
            attributes,
            last_offset_delta: (record_count - 1).max(0),
            base_timestamp: timestamps.base,
            max_timestamp: timestamps.max,
            producer_id: 0,
            producer_epoch: 0,
            base_sequence: 0,
            record_count,
        };
        stamp.write_to(&mut header);
        write_header(&mut self.buffer, &header);
        self.buffer.freeze()
    }
}

/// Writes another producer stamp into a sealed batch, after an epoch bump. In place if nobody else holds the bytes, else on a copy.
///
/// # Errors
/// If the bytes are not a sealed batch, exactly one, with the checksum that it was sealed with.
pub fn restamp(batch: Bytes, stamp: ProducerStamp) -> Result<Bytes, DecodeError> {
    // The batch is the client's own: only the format limits its size.
    let limits = DecodeLimits {
        max_batch_bytes: usize::MAX,
        ..DecodeLimits::default()
    };
    let (mut header, length) = match frame(&batch, &limits)? {
        Framed::Complete { header, length } => (header, length),
        Framed::Incomplete { needed } => {
            return Err(DecodeError::Truncated {
                what: "sealed batch",
                needed,
                remaining: batch.len(),
            });
        }
    };
    if batch.len() > length {
        return Err(DecodeError::TrailingBytes {
            what: "sealed batch",
            extra: batch.len() - length,
        });
    }
    header.verify_checksum(&batch)?;
    stamp.write_to(&mut header);
    let mut buffer = batch
        .try_into_mut()
        .unwrap_or_else(|shared| BytesMut::from(&shared[..]));
    write_header(&mut buffer, &header);
    Ok(buffer.freeze())
}

/// A transaction marker as a coordinator has it written: a control batch whose one record says commit or abort. For brokers.
#[must_use]
pub fn control_batch(
    control: ControlType,
    producer: ProducerIdAndEpoch,
    coordinator_epoch: i32,
    timestamp: i64,
) -> Bytes {
    let [type_high, type_low] = control.code().to_be_bytes();
    let [e0, e1, e2, e3] = coordinator_epoch.to_be_bytes();
    let mut batch = BatchBuilder::with_capacity(HEADER_LEN + 24);
    // Six bytes of value cannot be too long.
    let _ = batch.append(
        timestamp,
        Some(&[0, 0, type_high, type_low]),
        Some(&[0, 0, e0, e1, e2, e3]),
        [],
    );
    let stamp = ProducerStamp {
        transactional: true,
        producer,
        base_sequence: None,
    };
    batch.seal_with(stamp, CONTROL)
}

/// Appends `batch`, sealed, to `out` as it lies in a log: with its offset and the epoch of the leader, which no checksum covers. For brokers.
pub fn place(batch: &[u8], base_offset: i64, leader_epoch: i32, out: &mut BytesMut) {
    out.extend_from_slice(&base_offset.to_be_bytes());
    out.extend_from_slice(batch.get(BASE_OFFSET_END..LENGTH_END).unwrap_or_default());
    out.extend_from_slice(&leader_epoch.to_be_bytes());
    out.extend_from_slice(batch.get(LEADER_EPOCH_END..).unwrap_or_default());
}

fn write_header(buffer: &mut BytesMut, header: &BatchHeader) {
    // Both callers hold a buffer of at least a header.
    if let Some((place, records)) = buffer.split_first_chunk_mut() {
        header.seal_into(place, records);
    }
}

/// What stands between a record's length and its key.
struct Prefix {
    timestamp_delta: i64,
    index: u32,
}

impl Prefix {
    fn size(&self) -> usize {
        1 + size_of_varlong(self.timestamp_delta) + size_of_varint(self.index as i32)
    }

    fn write(&self, buffer: &mut BytesMut) {
        buffer.extend_from_slice(&[0]);
        write_varlong(buffer, self.timestamp_delta);
        write_varint(buffer, self.index as i32);
    }
}

/// Size of a record from the key's length on.
struct BodySize {
    bytes: usize,
    header_count: i32,
}

impl BodySize {
    fn checked<'h>(
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: impl Iterator<Item = (&'h [u8], Option<&'h [u8]>)>,
    ) -> Result<Self, EncodeError> {
        let mut bytes = checked_size("record key", key)?.saturating_add(checked_size("record value", value)?);
        let mut header_count = 0;
        for (key, value) in headers {
            bytes = bytes
                .saturating_add(checked_size("key of a record header", Some(key))?)
                .saturating_add(checked_size("value of a record header", value)?);
            // Inside of the loop: it bounds the count, which is smaller than the bytes.
            check("record", bytes)?;
            header_count += 1;
        }
        bytes = bytes.saturating_add(size_of_varint(header_count));
        Ok(Self { bytes, header_count })
    }
}

/// Bytes of a field with its length. `None` is null.
fn size_of_field(field: Option<&[u8]>) -> usize {
    let length = field.map_or(0, <[u8]>::len);
    length.saturating_add(size_of_varint(i32::try_from(length).unwrap_or(i32::MAX)))
}

fn checked_size(what: &'static str, field: Option<&[u8]>) -> Result<usize, EncodeError> {
    check(what, field.map_or(0, <[u8]>::len))?;
    Ok(size_of_field(field))
}

fn check(what: &'static str, size: usize) -> Result<i32, EncodeError> {
    i32::try_from(size).map_err(|_| EncodeError::TooLarge {
        what,
        size,
        max: MAX_LENGTH,
    })
}

fn write_field(buffer: &mut BytesMut, field: Option<&[u8]>) {
    match field {
        // `checked_size` has seen the length.
        Some(bytes) => {
            write_varint(buffer, bytes.len() as i32);
            buffer.extend_from_slice(bytes);
        }
        None => write_varint(buffer, NONE),
    }
}

#[cfg(test)]
mod tests;
