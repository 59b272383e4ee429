//! Variable-length integers: zigzag for records (Kafka's varint and varlong), unsigned for flexible messages.
//!
//! In: a slice that is advanced past the number; out: the number, or an error if the bytes end early or say more bits than
//! the type has. As in Java, a number that is padded with zero groups up to its type's longest form is accepted.

use bytes::BufMut;

use crate::error::DecodeError;

/// Reads a zigzag `i32` (Kafka's `varint`, 1 to 5 bytes). `what` names the field in errors.
///
/// # Errors
/// If the bytes end inside the number, or it has more than 32 bits.
#[inline]
pub fn read_varint(input: &mut &[u8], what: &'static str) -> Result<i32, DecodeError> {
    let raw = read_unsigned_varint(input, what)?;
    Ok((raw >> 1) as i32 ^ -((raw & 1) as i32))
}

/// Reads a zigzag `i64` (Kafka's `varlong`, 1 to 10 bytes). `what` names the field in errors.
///
/// # Errors
/// If the bytes end inside the number, or it has more than 64 bits.
#[inline]
pub fn read_varlong(input: &mut &[u8], what: &'static str) -> Result<i64, DecodeError> {
    let raw = match read_single_byte(input) {
        Some(byte) => u64::from(byte),
        None => read_several_bytes(input, u64::BITS, what)?,
    };
    Ok((raw >> 1) as i64 ^ -((raw & 1) as i64))
}

/// Reads an unsigned `u32` (1 to 5 bytes). `what` names the field in errors.
///
/// # Errors
/// If the bytes end inside the number, or it has more than 32 bits.
#[inline]
pub fn read_unsigned_varint(input: &mut &[u8], what: &'static str) -> Result<u32, DecodeError> {
    match read_single_byte(input) {
        Some(byte) => Ok(u32::from(byte)),
        None => read_several_bytes(input, u32::BITS, what).map(|raw| raw as u32),
    }
}

/// Writes a zigzag `i32`.
#[inline]
pub fn write_varint(output: &mut impl BufMut, value: i32) {
    write(output, u64::from(zigzag(value)));
}

/// Writes a zigzag `i64`.
#[inline]
pub fn write_varlong(output: &mut impl BufMut, value: i64) {
    write(output, zigzag_long(value));
}

/// Writes an unsigned `u32`.
#[inline]
pub fn write_unsigned_varint(output: &mut impl BufMut, value: u32) {
    write(output, u64::from(value));
}

/// Bytes that [`write_varint`] needs: 1 to 5.
#[inline]
#[must_use]
pub fn size_of_varint(value: i32) -> usize {
    size(u64::from(zigzag(value)))
}

/// Bytes that [`write_varlong`] needs: 1 to 10.
#[inline]
#[must_use]
pub fn size_of_varlong(value: i64) -> usize {
    size(zigzag_long(value))
}

/// Bytes that [`write_unsigned_varint`] needs: 1 to 5.
#[inline]
#[must_use]
pub fn size_of_unsigned_varint(value: u32) -> usize {
    size(u64::from(value))
}

fn zigzag(value: i32) -> u32 {
    (value << 1 ^ value >> 31) as u32
}

fn zigzag_long(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

fn size(raw: u64) -> usize {
    (u64::BITS - (raw | 1).leading_zeros()).div_ceil(7) as usize
}

#[inline]
fn write(output: &mut impl BufMut, mut raw: u64) {
    // Byte by byte: most numbers have one or two, for which a copy of a slice is a call too many.
    while raw >= 0x80 {
        output.put_u8(raw as u8 | 0x80);
        raw >>= 7;
    }
    output.put_u8(raw as u8);
}

#[inline]
fn read_single_byte(input: &mut &[u8]) -> Option<u8> {
    let (&byte, rest) = input.split_first()?;
    if byte >= 0x80 {
        return None;
    }
    *input = rest;
    Some(byte)
}

fn read_several_bytes(input: &mut &[u8], bits: u32, what: &'static str) -> Result<u64, DecodeError> {
    let mut value = 0;
    let mut shift = 0;
    for (index, &byte) in input.iter().enumerate() {
        let group = u64::from(byte & 0x7F);
        let room = bits.saturating_sub(shift);
        if room == 0 || (room < 7 && group >> room != 0) {
            return Err(DecodeError::Invalid {
                what,
                value: format!("a number of more than {bits} bits"),
            });
        }
        value |= group << shift;
        if byte < 0x80 {
            *input = input.get(index + 1..).unwrap_or_default();
            return Ok(value);
        }
        shift += 7;
    }
    Err(DecodeError::Truncated {
        what,
        needed: input.len() + 1,
        remaining: input.len(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_encodings() {
        for (value, bytes) in [
            (0, &[0x00][..]),
            (-1, &[0x01]),
            (1, &[0x02]),
            (63, &[0x7E]),
            (-64, &[0x7F]),
            (64, &[0x80, 0x01]),
            (i32::MAX, &[0xFE, 0xFF, 0xFF, 0xFF, 0x0F]),
            (i32::MIN, &[0xFF, 0xFF, 0xFF, 0xFF, 0x0F]),
        ] {
            let mut written = Vec::new();
            write_varint(&mut written, value);
            assert_eq!(written, bytes, "{value}");
            assert_eq!(size_of_varint(value), bytes.len());
            assert_eq!(read_varint(&mut &*written, "x"), Ok(value));
        }
        let mut written = Vec::new();
        write_varlong(&mut written, i64::MIN);
        assert_eq!(
            written,
            [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]
        );
    }

    #[test]
    fn a_number_with_too_many_bits_is_refused() {
        let invalid = |bits: u32| DecodeError::Invalid {
            what: "x",
            value: format!("a number of more than {bits} bits"),
        };
        for bytes in [
            &[0xFF, 0xFF, 0xFF, 0xFF, 0x10][..],
            &[0x80, 0x80, 0x80, 0x80, 0x80, 0x00],
        ] {
            assert_eq!(read_varint(&mut &*bytes, "x"), Err(invalid(32)));
            assert_eq!(read_unsigned_varint(&mut &*bytes, "x"), Err(invalid(32)));
        }
        let mut bytes = [0xFF; 10];
        bytes[9] = 0x02;
        assert_eq!(read_varlong(&mut &bytes[..], "x"), Err(invalid(64)));
        assert_eq!(read_varlong(&mut &[0x80; 11][..], "x"), Err(invalid(64)));
    }

    #[test]
    fn a_padded_number_is_read_as_java_reads_it() {
        let mut input = &[0x82, 0x80, 0x80, 0x80, 0x00, 0x09][..];
        assert_eq!(read_varint(&mut input, "x"), Ok(1));
        assert_eq!(input, [0x09]);
    }

    #[test]
    fn an_unfinished_number_is_truncated() {
        for bytes in [&[][..], &[0x80], &[0xFF, 0xFF]] {
            let mut input = bytes;
            assert_eq!(
                read_varlong(&mut input, "x"),
                Err(DecodeError::Truncated {
                    what: "x",
                    needed: bytes.len() + 1,
                    remaining: bytes.len()
                })
            );
            assert_eq!(input, bytes, "the input stands still after an error");
        }
    }

    proptest! {
        #[test]
        fn every_number_comes_back(int: i32, long: i64, unsigned: u32, shift in 0_u32..64) {
            let (int, long, unsigned) = (int >> (shift / 2), long >> shift, unsigned >> (shift / 2));
            let mut written = Vec::new();
            write_varint(&mut written, int);
            write_varlong(&mut written, long);
            write_unsigned_varint(&mut written, unsigned);
            let sizes = size_of_varint(int) + size_of_varlong(long) + size_of_unsigned_varint(unsigned);
            prop_assert_eq!(written.len(), sizes);
            let mut input = &*written;
            prop_assert_eq!(read_varint(&mut input, "x"), Ok(int));
            prop_assert_eq!(read_varlong(&mut input, "x"), Ok(long));
            prop_assert_eq!(read_unsigned_varint(&mut input, "x"), Ok(unsigned));
            prop_assert!(input.is_empty());
        }
    }
}
