//! The records of a batch, decoded when they are asked for; every field borrows from the batch.
//!
//! A record is checked whole before it is handed out (lengths, headers, offset), so what it gives cannot fail later.

use super::batch::{BatchHeader, TimestampType};
use crate::error::DecodeError;
use crate::varint::{read_varint, read_varlong};

/// Bytes of the smallest record: length, attributes, two deltas, key and value length, header count.
pub(super) const MIN_RECORD_LEN: usize = 7;
/// Bytes of the smallest header: key and value length.
const MIN_HEADER_LEN: usize = 2;

/// Iterator over a batch's records. Ends after the first error.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    header: &'a BatchHeader,
    rest: &'a [u8],
    remaining: i32,
    next_delta: i64,
}

impl<'a> Records<'a> {
    pub(super) fn new(header: &'a BatchHeader, bytes: &'a [u8]) -> Self {
        Self {
            header,
            rest: bytes,
            remaining: header.record_count,
            next_delta: 0,
        }
    }

    fn decode(&mut self) -> Result<RecordRef<'a>, DecodeError> {
        let length = read_length(&mut self.rest, "record")?;
        let mut input = take(&mut self.rest, length);
        // Attributes: no bit of them is in use.
        if input.is_empty() {
            return Err(DecodeError::Truncated {
                what: "record",
                needed: 1,
                remaining: 0,
            });
        }
        take(&mut input, 1);
        let timestamp_delta = read_varlong(&mut input, "timestamp delta of a record")?;
        let offset = self.read_offset(&mut input)?;
        let key = read_nullable(&mut input, "key of a record")?;
        let value = read_nullable(&mut input, "value of a record")?;
        let headers = Headers::decode(&mut input)?;
        if !input.is_empty() {
            return Err(DecodeError::TrailingBytes {
                what: "record",
                extra: input.len(),
            });
        }
        let timestamp = match self.header.timestamp_type() {
            // Wraps, as Java's does: any sum is a timestamp that somebody could have sent.
            TimestampType::CreateTime => self.header.base_timestamp.wrapping_add(timestamp_delta),
            TimestampType::LogAppendTime => self.header.max_timestamp,
        };
        Ok(RecordRef {
            offset,
            timestamp,
            key,
            value,
            headers,
        })
    }

    fn read_offset(&mut self, input: &mut &'a [u8]) -> Result<i64, DecodeError> {
        let what = "offset delta of a record";
        let delta = i64::from(read_varint(input, what)?);
        let last = i64::from(self.header.last_offset_delta);
        if !(self.next_delta..=last).contains(&delta) {
            let value = format!("{delta} where {} to {last} can stand", self.next_delta);
            return Err(DecodeError::Invalid { what, value });
        }
        self.next_delta = delta + 1;
        // No overflow: the header's check proved it for the last delta.
        Ok(self.header.base_offset.saturating_add(delta))
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<RecordRef<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.remaining > 0 {
            self.remaining -= 1;
            let result = self.decode();
            if result.is_err() {
                (self.remaining, self.rest) = (0, &[]);
            }
            return Some(result);
        }
        let extra = std::mem::take(&mut self.rest).len();
        (extra > 0).then_some(Err(DecodeError::TrailingBytes {
            what: "records of a batch",
            extra,
        }))
    }
}

/// A record that borrows from its batch.
#[derive(Debug, Clone, Copy)]
pub struct RecordRef<'a> {
    /// Offset in the partition.
    pub offset: i64,
    /// Milliseconds since 1970, −1 for none.
    pub timestamp: i64,
    /// The key; `None` is null.
    pub key: Option<&'a [u8]>,
    /// The value; `None` is null.
    pub value: Option<&'a [u8]>,
    /// The headers, in order, repeats kept.
    pub headers: Headers<'a>,
}

/// The headers of a record: validated already, decoded while iterating. Keys are bytes because brokers do not check that they are UTF-8.
#[derive(Debug, Clone, Copy)]
pub struct Headers<'a> {
    count: usize,
    bytes: &'a [u8],
}

impl<'a> Headers<'a> {
    fn decode(input: &mut &'a [u8]) -> Result<Self, DecodeError> {
        let what = "header count of a record";
        let announced = read_varint(input, what)?;
        let Ok(count) = usize::try_from(announced) else {
            return Err(DecodeError::Invalid {
                what,
                value: announced.to_string(),
            });
        };
        let allowed = input.len() / MIN_HEADER_LEN;
        if count > allowed {
            return Err(DecodeError::TooLarge {
                what,
                announced: count as u64,
                allowed: allowed as u64,
            });
        }
        let before = *input;
        for _ in 0..count {
            read_header(input)?;
        }
        let bytes = before.get(..before.len() - input.len()).unwrap_or_default();
        Ok(Self { count, bytes })
    }
}

impl<'a> Iterator for Headers<'a> {
    type Item = (&'a [u8], Option<&'a [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        self.count = self.count.checked_sub(1)?;
        // Cannot fail: the same bytes were read once when the record was decoded.
        read_header(&mut self.bytes).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count, Some(self.count))
    }
}

impl ExactSizeIterator for Headers<'_> {}

fn read_header<'a>(input: &mut &'a [u8]) -> Result<(&'a [u8], Option<&'a [u8]>), DecodeError> {
    let key_length = read_length(input, "key of a record header")?;
    let key = take(input, key_length);
    let value = read_nullable(input, "value of a record header")?;
    Ok((key, value))
}

fn read_nullable<'a>(input: &mut &'a [u8], what: &'static str) -> Result<Option<&'a [u8]>, DecodeError> {
    let announced = read_varint(input, what)?;
    if announced == -1 {
        return Ok(None);
    }
    let length = check_length(announced, input, what)?;
    Ok(Some(take(input, length)))
}

fn read_length(input: &mut &[u8], what: &'static str) -> Result<usize, DecodeError> {
    let announced = read_varint(input, what)?;
    check_length(announced, input, what)
}

fn check_length(announced: i32, input: &[u8], what: &'static str) -> Result<usize, DecodeError> {
    let Ok(length) = usize::try_from(announced) else {
        return Err(DecodeError::Invalid {
            what,
            value: format!("length {announced}"),
        });
    };
    if length > input.len() {
        return Err(DecodeError::TooLarge {
            what,
            announced: length as u64,
            allowed: input.len() as u64,
        });
    }
    Ok(length)
}

/// The next `length` bytes, which were checked to be there.
fn take<'a>(input: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (taken, rest) = input.split_at_checked(length).unwrap_or_default();
    *input = rest;
    taken
}
