//! Reads fields in order. Every length and count is checked against the bytes that remain before anything is reserved.

use bytes::{Buf, Bytes, TryGetError};
use uuid::Uuid;

use crate::error::DecodeError;
use crate::unsigned_varint::{PartialVarint, Step};

/// Reads the fields of one message or structure.
#[derive(Debug)]
pub(crate) struct FieldReader {
    bytes: Bytes,
}

impl FieldReader {
    pub(crate) const fn new(bytes: Bytes) -> Self {
        Self { bytes }
    }

    /// What was not read yet.
    pub(crate) fn into_rest(self) -> Bytes {
        self.bytes
    }

    /// The next 16-bit number, without passing it.
    pub(crate) fn peek_i16(&self, what: &'static str) -> Result<i16, DecodeError> {
        (&self.bytes[..])
            .try_get_i16()
            .map_err(|short| truncated(what, short))
    }

    pub(crate) fn i8(&mut self, what: &'static str) -> Result<i8, DecodeError> {
        self.bytes.try_get_i8().map_err(|short| truncated(what, short))
    }

    pub(crate) fn i16(&mut self, what: &'static str) -> Result<i16, DecodeError> {
        self.bytes.try_get_i16().map_err(|short| truncated(what, short))
    }

    pub(crate) fn i32(&mut self, what: &'static str) -> Result<i32, DecodeError> {
        self.bytes.try_get_i32().map_err(|short| truncated(what, short))
    }

    pub(crate) fn i64(&mut self, what: &'static str) -> Result<i64, DecodeError> {
        self.bytes.try_get_i64().map_err(|short| truncated(what, short))
    }

    pub(crate) fn uuid(&mut self, what: &'static str) -> Result<Uuid, DecodeError> {
        self.bytes
            .try_get_u128()
            .map(Uuid::from_u128)
            .map_err(|short| truncated(what, short))
    }

    pub(crate) fn unsigned_varint(&mut self, what: &'static str) -> Result<u32, DecodeError> {
        let mut partial = PartialVarint::default();
        loop {
            let byte = self.bytes.try_get_u8().map_err(|short| truncated(what, short))?;
            match partial.push(byte) {
                Step::More(next) => partial = next,
                Step::Done(value) => return Ok(value),
                Step::Overflow => {
                    return Err(DecodeError::Invalid {
                        what,
                        value: "a varint of more than 32 bits".to_owned(),
                    });
                }
            }
        }
    }

    /// The next `len` bytes, sharing the frame.
    pub(crate) fn take(&mut self, what: &'static str, len: usize) -> Result<Bytes, DecodeError> {
        if len > self.bytes.len() {
            return Err(DecodeError::Truncated {
                what,
                needed: len,
                remaining: self.bytes.len(),
            });
        }
        Ok(self.bytes.split_to(len))
    }

    pub(crate) fn nullable_bytes(&mut self, what: &'static str) -> Result<Option<Bytes>, DecodeError> {
        match self.unsigned_varint(what)?.checked_sub(1) {
            None => Ok(None),
            Some(len) => self.take(what, len as usize).map(Some),
        }
    }

    pub(crate) fn nullable_text<T>(&mut self, what: &'static str) -> Result<Option<T>, DecodeError>
    where
        T: for<'a> From<&'a str>,
    {
        self.nullable_bytes(what)?
            .map(|bytes| text(what, &bytes))
            .transpose()
    }

    pub(crate) fn text<T>(&mut self, what: &'static str) -> Result<T, DecodeError>
    where
        T: for<'a> From<&'a str>,
    {
        self.nullable_text(what)?.ok_or_else(|| null(what))
    }

    /// A nullable string with a 16-bit length, as request headers of every version have it.
    pub(crate) fn nullable_text_16<T>(&mut self, what: &'static str) -> Result<Option<T>, DecodeError>
    where
        T: for<'a> From<&'a str>,
    {
        match self.i16(what)? {
            -1 => Ok(None),
            len => {
                let len = usize::try_from(len).map_err(|_| DecodeError::Invalid {
                    what,
                    value: format!("length {len}"),
                })?;
                let bytes = self.take(what, len)?;
                text(what, &bytes).map(Some)
            }
        }
    }

    /// An array of elements that take at least `smallest` bytes each (never 0).
    pub(crate) fn array<T>(
        &mut self,
        what: &'static str,
        smallest: usize,
        element: impl FnMut(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        self.nullable_array(what, smallest, element)?
            .ok_or_else(|| null(what))
    }

    /// As [`FieldReader::array`], but the array may be null.
    pub(crate) fn nullable_array<T>(
        &mut self,
        what: &'static str,
        smallest: usize,
        element: impl FnMut(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Option<Vec<T>>, DecodeError> {
        match self.unsigned_varint(what)?.checked_sub(1) {
            None => Ok(None),
            Some(count) => self.elements(what, count, smallest, element).map(Some),
        }
    }

    /// As [`FieldReader::array`], with the 32-bit count of versions that are not flexible.
    pub(crate) fn plain_array<T>(
        &mut self,
        what: &'static str,
        smallest: usize,
        element: impl FnMut(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        let count = self.i32(what)?;
        let count = u32::try_from(count).map_err(|_| DecodeError::Invalid {
            what,
            value: format!("count {count}"),
        })?;
        self.elements(what, count, smallest, element)
    }

    fn elements<T>(
        &mut self,
        what: &'static str,
        count: u32,
        smallest: usize,
        mut element: impl FnMut(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        let allowed = self.bytes.len() / smallest.max(1);
        if count as usize > allowed {
            return Err(DecodeError::TooLarge {
                what,
                announced: count.into(),
                allowed: allowed as u64,
            });
        }
        let mut elements = Vec::with_capacity(count as usize);
        for _ in 0..count {
            elements.push(element(self)?);
        }
        Ok(elements)
    }

    /// Tagged fields: `known` reads those that it knows, completely, and says `false` to skip the others.
    pub(crate) fn tagged_fields(
        &mut self,
        what: &'static str,
        mut known: impl FnMut(u32, &mut Self) -> Result<bool, DecodeError>,
    ) -> Result<(), DecodeError> {
        let count = self.unsigned_varint(what)?;
        let mut next_tag = 0;
        for _ in 0..count {
            let tag = self.unsigned_varint(what)?;
            if u64::from(tag) < next_tag {
                return Err(DecodeError::Invalid {
                    what,
                    value: format!("tag {tag} out of order"),
                });
            }
            next_tag = u64::from(tag) + 1;
            let size = self.unsigned_varint(what)?;
            let mut field = Self::new(self.take(what, size as usize)?);
            if known(tag, &mut field)? {
                field.end(what)?;
            }
        }
        Ok(())
    }

    /// Tagged fields of which none is known.
    pub(crate) fn skip_tagged_fields(&mut self, what: &'static str) -> Result<(), DecodeError> {
        self.tagged_fields(what, |_, _| Ok(false))
    }

    /// Checks that nothing is left.
    pub(crate) fn end(self, what: &'static str) -> Result<(), DecodeError> {
        match self.bytes.len() {
            0 => Ok(()),
            extra => Err(DecodeError::TrailingBytes { what, extra }),
        }
    }
}

fn text<T>(what: &'static str, bytes: &[u8]) -> Result<T, DecodeError>
where
    T: for<'a> From<&'a str>,
{
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(T::from(text)),
        Err(error) => Err(DecodeError::Invalid {
            what,
            value: format!("text that is not UTF-8: {error}"),
        }),
    }
}

fn null(what: &'static str) -> DecodeError {
    DecodeError::Invalid {
        what,
        value: "null".to_owned(),
    }
}

fn truncated(what: &'static str, short: TryGetError) -> DecodeError {
    DecodeError::Truncated {
        what,
        needed: short.requested,
        remaining: short.available,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(bytes: &'static [u8]) -> FieldReader {
        FieldReader::new(Bytes::from_static(bytes))
    }

    #[test]
    fn a_count_must_fit_the_smallest_elements() {
        let read = |bytes| reader(bytes).array("numbers", 4, |r| r.i32("number"));
        assert_eq!(read(&[3, 0, 0, 0, 1, 0, 0, 0, 2]).unwrap(), [1, 2]);
        assert_eq!(
            read(&[4, 0, 0, 0, 1, 0, 0, 0, 2]),
            Err(DecodeError::TooLarge {
                what: "numbers",
                announced: 3,
                allowed: 2
            })
        );
        assert!(read(&[0]).is_err(), "null where nothing may be null");
    }

    #[test]
    fn tags_must_ascend_and_be_read_whole() {
        let read = |bytes| {
            let mut seen = Vec::new();
            reader(bytes)
                .tagged_fields("tags", |tag, field| {
                    seen.push(tag);
                    if tag == 0 {
                        field.i8("byte").map(|_| true)
                    } else {
                        Ok(false)
                    }
                })
                .map(|()| seen)
        };
        assert_eq!(read(&[2, 0, 1, 9, 5, 2, 1, 1]).unwrap(), [0, 5]);
        assert!(read(&[2, 0, 1, 9, 0, 1, 9]).is_err());
        assert!(read(&[2, 5, 0, 4, 0]).is_err());
        assert_eq!(
            read(&[1, 0, 2, 9, 9]),
            Err(DecodeError::TrailingBytes {
                what: "tags",
                extra: 1
            })
        );
        assert!(read(&[1, 0, 0]).is_err(), "a known field without its bytes");
        assert!(read(&[1, 7, 3, 1]).is_err(), "an unknown field behind the end");
    }

    #[test]
    fn text_must_be_utf8() {
        assert_eq!(reader(&[3, b'h', b'i']).text::<String>("t").unwrap(), "hi");
        assert_eq!(reader(&[0]).nullable_text::<String>("t").unwrap(), None);
        assert!(reader(&[2, 0xFF]).text::<String>("t").is_err());
        assert!(
            reader(&[0xFF, 0xFE, 0]).nullable_text_16::<String>("t").is_err(),
            "length −2"
        );
    }
}
