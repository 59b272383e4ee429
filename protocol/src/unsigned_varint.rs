//! Reading unsigned variable-length integers of flexible messages (KIP-482) byte by byte: seven bits a byte, lowest first,
//! at most five bytes. Writing them, and reading them from a slice, is in `varint`.

/// A number of which some bytes were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PartialVarint {
    value: u32,
    shift: u32,
}

/// What a further byte makes of a [`PartialVarint`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// More bytes belong to the number.
    More(PartialVarint),
    /// The number is complete.
    Done(u32),
    /// The number does not fit into 32 bits.
    Overflow,
}

impl PartialVarint {
    const LAST_SHIFT: u32 = 28;

    /// Takes the next byte in.
    pub(crate) const fn push(self, byte: u8) -> Step {
        if self.shift == Self::LAST_SHIFT && byte > 0x0F {
            return Step::Overflow;
        }
        let value = self.value | ((byte & 0x7F) as u32) << self.shift;
        if byte < 0x80 {
            Step::Done(value)
        } else {
            Step::More(Self {
                value,
                shift: self.shift + 7,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Step {
        let mut step = Step::More(PartialVarint::default());
        for &byte in bytes {
            let Step::More(partial) = step else {
                panic!("bytes behind the end")
            };
            step = partial.push(byte);
        }
        step
    }

    #[test]
    fn every_width_is_read_back() {
        for value in [
            0,
            1,
            127,
            128,
            300,
            16_383,
            16_384,
            2_097_151,
            2_097_152,
            268_435_455,
            268_435_456,
            u32::MAX,
        ] {
            let mut buf = Vec::new();
            crate::varint::write_unsigned_varint(&mut buf, value);
            assert_eq!(read(&buf), Step::Done(value));
        }
    }

    #[test]
    fn a_fifth_byte_above_32_bits_is_refused() {
        assert_eq!(read(&[0xFF, 0xFF, 0xFF, 0xFF, 0x0F]), Step::Done(u32::MAX));
        assert_eq!(read(&[0xFF, 0xFF, 0xFF, 0xFF, 0x10]), Step::Overflow);
        assert_eq!(read(&[0x80, 0x80, 0x80, 0x80, 0x80]), Step::Overflow);
    }
}
