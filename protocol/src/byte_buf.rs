//! A reader over a frame that refuses lengths and counts above what can follow. It stands between a frame from a peer and the
//! decoders of the `kafka-protocol` crate, which reserve memory by the count on the wire before they read the first element.
//!
//! In flexible versions (KIP-482) every length and count is an unsigned varint, which the crate reads byte by byte with
//! [`Buf::try_get_u8`]; nothing but booleans is read that way besides. So the reader follows those bytes and judges each number
//! when its last byte comes. It cannot know whether the number is a length, a count or a tag, hence the rule of [`BoundedBuf`].
//! Arrays of versions that are not flexible have a 32-bit count that cannot be told from a value: they must never come here.

use std::ops::Range;

use bytes::{Buf, Bytes, TryGetError};
use kafka_protocol::protocol::buf::ByteBuf;

use crate::unsigned_varint::{PartialVarint, Step};

/// Largest number that is taken unseen: all varints of one byte, so that no tag in use is ever refused.
const FREE: u32 = 127;

/// Longest string that Kafka writes. A number above it (in messages without byte fields) counts elements of an array.
const LONGEST_STRING: usize = i16::MAX as usize;

/// A reader that refuses lengths and counts above what can follow.
///
/// A number `n` passes if it is at most 127, or if `n − 1` bytes remain behind it (compact lengths are stored plus one).
/// If `n − 1` exceeds the longest string, it counts elements, and their smallest size is demanded for each. A refused array
/// ends the message, and an accepted one has consumed at least a byte per element once it is read: all reservations together
/// are therefore at most (bytes of the frame + 127) × the sizes of the structures on the deepest path: up to 400 bytes per byte of
/// a small frame, and a `smallest_element`-th of that for counts above the longest string.
///
/// Not accepted although valid: a tag above 127 with fewer bytes than that behind it. No Kafka version has one.
///
/// Slices that are handed out share the frame's memory.
#[derive(Debug)]
pub struct BoundedBuf {
    bytes: Bytes,
    partial: PartialVarint,
    smallest_element: usize,
    refusal: Option<Refusal>,
}

/// The number that was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// The length or count, without the plus one of compact encoding. `None` if the varint does not end within 32 bits.
    pub announced: Option<u32>,
    /// Bytes that remained behind it.
    pub remaining: usize,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.announced {
            Some(announced) => {
                write!(
                    f,
                    "a length or count announces {announced}, but only {} bytes remain",
                    self.remaining
                )
            }
            None => write!(f, "a length or count does not fit into 32 bits"),
        }
    }
}

impl BoundedBuf {
    /// A reader for any flexible message.
    #[must_use]
    pub fn new(bytes: Bytes) -> Self {
        Self::with_smallest_element(bytes, 1)
    }

    /// A reader for a flexible message without byte fields, in which no array of more than 32,767 elements has any that is shorter
    /// than `smallest_element` bytes.
    #[must_use]
    pub fn with_smallest_element(bytes: Bytes, smallest_element: usize) -> Self {
        Self {
            bytes,
            partial: PartialVarint::default(),
            smallest_element,
            refusal: None,
        }
    }

    /// The number that made a read fail, if that was the reason.
    #[must_use]
    pub fn refusal(&self) -> Option<Refusal> {
        self.refusal
    }

    fn judge(&mut self, number: u32) -> Result<(), TryGetError> {
        let announced = number.saturating_sub(1);
        let elements = announced as usize;
        let needed = if elements > LONGEST_STRING {
            elements.saturating_mul(self.smallest_element)
        } else {
            elements
        };
        if number <= FREE || needed <= self.bytes.len() {
            return Ok(());
        }
        Err(self.refuse(Some(announced), needed))
    }

    fn refuse(&mut self, announced: Option<u32>, requested: usize) -> TryGetError {
        let remaining = self.bytes.len();
        self.refusal = Some(Refusal { announced, remaining });
        TryGetError {
            requested,
            available: remaining,
        }
    }
}

impl Buf for BoundedBuf {
    fn remaining(&self) -> usize {
        self.bytes.len()
    }

    fn chunk(&self) -> &[u8] {
        &self.bytes
    }

    /// Panics if fewer bytes remain, as the trait demands; the crate's decoders check first.
    fn advance(&mut self, count: usize) {
        self.partial = PartialVarint::default();
        self.bytes.advance(count);
    }

    fn copy_to_bytes(&mut self, len: usize) -> Bytes {
        self.partial = PartialVarint::default();
        self.bytes.copy_to_bytes(len)
    }

    fn try_get_u8(&mut self) -> Result<u8, TryGetError> {
        let byte = self.bytes.try_get_u8()?;
        match self.partial.push(byte) {
            Step::More(partial) => self.partial = partial,
            Step::Done(number) => {
                self.partial = PartialVarint::default();
                self.judge(number)?;
            }
            Step::Overflow => return Err(self.refuse(None, usize::MAX)),
        }
        Ok(byte)
    }
}

impl ByteBuf for BoundedBuf {
    /// Bytes ahead; less than asked for if the frame is shorter.
    fn peek_bytes(&mut self, range: Range<usize>) -> Bytes {
        let end = range.end.min(self.bytes.len());
        self.bytes.slice(range.start.min(end)..end)
    }

    /// The next bytes; less than asked for if the frame is shorter.
    fn get_bytes(&mut self, size: usize) -> Bytes {
        self.partial = PartialVarint::default();
        self.bytes.split_to(size.min(self.bytes.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buf(bytes: &'static [u8]) -> BoundedBuf {
        BoundedBuf::new(Bytes::from_static(bytes))
    }

    fn read_varint(buf: &mut BoundedBuf) -> Result<(), TryGetError> {
        while buf.try_get_u8()? >= 0x80 {}
        Ok(())
    }

    #[test]
    fn a_count_above_the_remaining_bytes_is_refused_and_named() {
        let mut buf = buf(&[0xFF, 0xFF, 0xFF, 0x7F, 1, 2, 3]);
        assert!(read_varint(&mut buf).is_err());
        assert_eq!(
            buf.refusal(),
            Some(Refusal {
                announced: Some(0x0FFF_FFFE),
                remaining: 3
            })
        );
    }

    #[test]
    fn a_compact_length_may_reach_exactly_to_the_end() {
        let mut frame = vec![0x81, 0x02];
        frame.extend_from_slice(&[b'x'; 256]);
        let mut whole = BoundedBuf::new(Bytes::from(frame.clone()));
        read_varint(&mut whole).unwrap();
        assert_eq!(whole.try_get_bytes(256).unwrap().len(), 256);

        frame.pop();
        assert!(read_varint(&mut BoundedBuf::new(Bytes::from(frame))).is_err());
    }

    #[test]
    fn a_tag_above_the_remaining_bytes_passes() {
        let mut largest_free = buf(&[127, 0]);
        read_varint(&mut largest_free).unwrap();
        let mut small = buf(&[3, 1, 0]);
        read_varint(&mut small).unwrap();
        read_varint(&mut small).unwrap();
        assert_eq!(small.try_get_bytes(1).unwrap().len(), 1);
    }

    #[test]
    fn a_boolean_before_a_count_does_not_hide_the_count() {
        let mut odd = buf(&[0x80, 0xFF, 0xFF, 0x7F, 0]);
        odd.try_get_u8().unwrap();
        assert!(read_varint(&mut odd).is_err());
        let mut plain = buf(&[1, 0xFF, 0xFF, 0x7F, 0]);
        plain.try_get_u8().unwrap();
        assert!(read_varint(&mut plain).is_err());
    }

    #[test]
    fn a_large_count_needs_the_bytes_of_its_elements() {
        let mut frame = vec![0x81, 0x80, 0x04];
        frame.resize(3 + 65_536, 0);
        let frame = Bytes::from(frame);
        read_varint(&mut BoundedBuf::new(frame.clone())).unwrap();
        assert!(read_varint(&mut BoundedBuf::with_smallest_element(frame, 3)).is_err());
    }

    #[test]
    fn a_varint_that_does_not_end_is_refused() {
        let mut buf = buf(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x01]);
        assert!(read_varint(&mut buf).is_err());
        assert_eq!(buf.refusal().map(|refusal| refusal.announced), Some(None));
    }

    #[test]
    fn slices_share_the_frame() {
        let frame = Bytes::from(vec![7; 100]);
        let mut buf = BoundedBuf::new(frame.clone());
        assert_eq!(buf.try_get_bytes(50).unwrap().as_ptr(), frame.as_ptr());
    }
}
