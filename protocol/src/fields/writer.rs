//! Writes fields in order into one buffer; large byte fields are only noted, so that the frame's parts carry them without a copy.

use bytes::{BufMut, Bytes, BytesMut};
use uuid::Uuid;

use crate::error::EncodeError;
use crate::frame::EncodedFrame;
use crate::varint::write_unsigned_varint;

const LENGTH_BYTES: usize = 4;

/// Writes one frame, beginning with room for its length.
#[derive(Debug)]
pub(crate) struct FieldWriter {
    small: BytesMut,
    /// Byte fields, each with the place in `small` that it belongs to.
    large: Vec<(usize, Bytes)>,
}

impl FieldWriter {
    /// A writer with room for `capacity` bytes of small fields.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        let mut small = BytesMut::with_capacity(LENGTH_BYTES.saturating_add(capacity));
        small.put_bytes(0, LENGTH_BYTES);
        Self {
            small,
            large: Vec::new(),
        }
    }

    /// The buffer for codecs that write by themselves.
    pub(crate) fn buffer_mut(&mut self) -> &mut BytesMut {
        &mut self.small
    }

    pub(crate) fn i8(&mut self, value: i8) {
        self.small.put_i8(value);
    }

    pub(crate) fn i16(&mut self, value: i16) {
        self.small.put_i16(value);
    }

    pub(crate) fn i32(&mut self, value: i32) {
        self.small.put_i32(value);
    }

    pub(crate) fn i64(&mut self, value: i64) {
        self.small.put_i64(value);
    }

    pub(crate) fn uuid(&mut self, value: Uuid) {
        self.small.put_slice(value.as_bytes());
    }

    /// A compact length or count: null, or the number plus one.
    fn compact_len(&mut self, what: &'static str, len: Option<usize>) -> Result<(), EncodeError> {
        let number = match len {
            None => 0,
            Some(len) => u32::try_from(len)
                .ok()
                .and_then(|len| len.checked_add(1))
                .filter(|number| *number <= i32::MAX as u32)
                .ok_or(EncodeError::TooLarge {
                    what,
                    size: len,
                    max: i32::MAX as usize - 1,
                })?,
        };
        write_unsigned_varint(&mut self.small, number);
        Ok(())
    }

    /// A compact string; Kafka's strings have at most 32,767 bytes in every encoding.
    pub(crate) fn nullable_text(
        &mut self,
        what: &'static str,
        value: Option<&str>,
    ) -> Result<(), EncodeError> {
        if let Some(text) = value {
            check_text(what, text)?;
        }
        self.compact_len(what, value.map(str::len))?;
        self.small.put_slice(value.unwrap_or_default().as_bytes());
        Ok(())
    }

    pub(crate) fn text(&mut self, what: &'static str, value: &str) -> Result<(), EncodeError> {
        self.nullable_text(what, Some(value))
    }

    /// A string with a 16-bit length, as request headers of every version have it.
    pub(crate) fn text_16(&mut self, what: &'static str, value: &str) -> Result<(), EncodeError> {
        let len = check_text(what, value)?;
        self.i16(len);
        self.small.put_slice(value.as_bytes());
        Ok(())
    }

    /// A compact byte field that stays a part of its own.
    pub(crate) fn bytes(&mut self, what: &'static str, value: &Bytes) -> Result<(), EncodeError> {
        self.compact_len(what, Some(value.len()))?;
        if !value.is_empty() {
            self.large.push((self.small.len(), value.clone()));
        }
        Ok(())
    }

    pub(crate) fn array<T>(
        &mut self,
        what: &'static str,
        elements: &[T],
        mut element: impl FnMut(&mut Self, &T) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        self.compact_len(what, Some(elements.len()))?;
        elements.iter().try_for_each(|value| element(self, value))
    }

    pub(crate) fn nullable_array<T>(
        &mut self,
        what: &'static str,
        elements: Option<&[T]>,
        element: impl FnMut(&mut Self, &T) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        match elements {
            None => self.compact_len(what, None),
            Some(elements) => self.array(what, elements, element),
        }
    }

    /// How many tagged fields follow.
    pub(crate) fn tag_count(&mut self, count: u32) {
        write_unsigned_varint(&mut self.small, count);
    }

    /// A tagged field.
    pub(crate) fn tagged_field(
        &mut self,
        what: &'static str,
        tag: u32,
        value: &[u8],
    ) -> Result<(), EncodeError> {
        let size = u32::try_from(value.len()).map_err(|_| EncodeError::TooLarge {
            what,
            size: value.len(),
            max: u32::MAX as usize,
        })?;
        write_unsigned_varint(&mut self.small, tag);
        write_unsigned_varint(&mut self.small, size);
        self.small.put_slice(value);
        Ok(())
    }

    /// The small fields alone, for a tagged field's content.
    pub(crate) fn into_unframed(mut self) -> BytesMut {
        self.small.split_off(LENGTH_BYTES)
    }

    /// Fills in the frame's length and cuts the buffer where the byte fields belong.
    pub(crate) fn finish(mut self, what: &'static str) -> Result<EncodedFrame, EncodeError> {
        let large_bytes: usize = self.large.iter().map(|(_, bytes)| bytes.len()).sum();
        let len = self.small.len() + large_bytes;
        let body = len.saturating_sub(LENGTH_BYTES);
        let announced = i32::try_from(body).map_err(|_| EncodeError::TooLarge {
            what,
            size: body,
            max: i32::MAX as usize,
        })?;
        if let Some(place) = self.small.first_chunk_mut() {
            *place = announced.to_be_bytes();
        }

        let mut parts = Vec::with_capacity(2 * self.large.len() + 1);
        let mut rest = self.small.freeze();
        let mut cut = 0;
        for (place, bytes) in self.large {
            // Two byte fields never touch: each is followed by at least the count of its structure's tagged fields.
            parts.push(rest.split_to(place - cut));
            parts.push(bytes);
            cut = place;
        }
        if !rest.is_empty() {
            parts.push(rest);
        }
        Ok(EncodedFrame { parts, len })
    }
}

fn check_text(what: &'static str, text: &str) -> Result<i16, EncodeError> {
    i16::try_from(text.len()).map_err(|_| EncodeError::TooLarge {
        what,
        size: text.len(),
        max: i16::MAX as usize,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_fields_are_parts_of_their_own_and_not_copied() {
        let batch = Bytes::from(vec![9; 200]);
        let mut writer = FieldWriter::with_capacity(16);
        writer.i16(7);
        writer.bytes("records", &batch).unwrap();
        writer.tag_count(0);
        let frame = writer.finish("test").unwrap();
        assert_eq!(frame.parts.len(), 3);
        assert_eq!(frame.parts[0][..], [0, 0, 0, 205, 0, 7, 0xC9, 0x01]);
        assert_eq!(frame.parts[1].as_ptr(), batch.as_ptr());
        assert_eq!(frame.len, 209);
        assert_eq!(frame.concat().len(), 209);
    }

    #[test]
    fn text_above_the_limit_is_refused() {
        let long = "x".repeat(32_768);
        let mut writer = FieldWriter::with_capacity(0);
        assert_eq!(
            writer.text("name", &long),
            Err(EncodeError::TooLarge {
                what: "name",
                size: 32_768,
                max: 32_767
            })
        );
        assert!(writer.text_16("name", &long).is_err());
    }
}
