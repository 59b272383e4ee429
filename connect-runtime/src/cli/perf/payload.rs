//! The values that are sent. Pure once the file is read.
//!
//! Input: how values are made. Output: one value after the other, borrowed, so that making a value costs next to nothing
//! beside sending it.

use std::io::Write;

/// How many bytes of random letters are kept beyond one value, so that values differ from each other.
const SPARE: usize = 64 * 1024;

/// A source of values.
#[derive(Debug)]
pub(super) enum Payload {
    /// Random letters A to Z: a window at a random place of a buffer that was filled once.
    Random {
        /// The letters.
        letters: Vec<u8>,
        /// The size of a value.
        size: usize,
    },
    /// The lines of a file, one chosen at random for each record. Never empty.
    Lines(Vec<Vec<u8>>),
    /// 0, 1, 2, … in decimal digits.
    Monotonic {
        /// The next number.
        next: u64,
        /// The digits of the last value.
        digits: Vec<u8>,
    },
}

impl Payload {
    /// Values of `size` random letters.
    pub(super) fn random(size: usize) -> Self {
        let letters = (0..size.saturating_add(SPARE))
            .map(|_| fastrand::u8(b'A'..=b'Z'))
            .collect();
        Self::Random { letters, size }
    }

    /// The pieces of `text` between delimiters, empty ones left out; `None` if nothing is left.
    pub(super) fn lines(text: &[u8], delimiter: &[u8]) -> Option<Self> {
        let lines: Vec<Vec<u8>> = split(text, delimiter)
            .filter(|line| !line.is_empty())
            .map(<[u8]>::to_vec)
            .collect();
        (!lines.is_empty()).then_some(Self::Lines(lines))
    }

    /// The numbers from 0.
    pub(super) fn monotonic() -> Self {
        Self::Monotonic {
            next: 0,
            digits: Vec::new(),
        }
    }

    /// The next value.
    pub(super) fn next(&mut self) -> &[u8] {
        match self {
            Self::Random { letters, size } => {
                let start = fastrand::usize(..SPARE);
                letters.get(start..start + *size).unwrap_or_default()
            }
            Self::Lines(lines) => {
                let choice = fastrand::usize(..lines.len().max(1));
                lines.get(choice).map_or(&[], Vec::as_slice)
            }
            Self::Monotonic { next, digits } => {
                digits.clear();
                // Writing into a Vec cannot fail.
                let _ = write!(digits, "{next}");
                *next += 1;
                digits
            }
        }
    }
}

fn split<'a>(text: &'a [u8], delimiter: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let found = (!delimiter.is_empty())
            .then(|| {
                text.windows(delimiter.len())
                    .position(|window| window == delimiter)
            })
            .flatten();
        let piece = match found {
            Some(at) => {
                rest = text.get(at + delimiter.len()..);
                text.get(..at)
            }
            None => {
                rest = None;
                Some(text)
            }
        };
        Some(piece.unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_values_have_their_size_and_differ() {
        let mut payload = Payload::random(100);
        let first = payload.next().to_vec();
        assert_eq!(first.len(), 100);
        assert!(first.iter().all(u8::is_ascii_uppercase));
        assert!((0..10).any(|_| payload.next() != first));
        assert_eq!(Payload::random(0).next(), b"");
    }

    #[test]
    fn monotonic_values_count_from_zero() {
        let mut payload = Payload::monotonic();
        let values: Vec<_> = (0..11)
            .map(|_| String::from_utf8(payload.next().to_vec()).unwrap())
            .collect();
        assert_eq!(values[0], "0");
        assert_eq!(values[10], "10");
    }

    #[test]
    fn lines_are_split_at_the_delimiter() {
        let Some(Payload::Lines(lines)) = Payload::lines(b"a--bc----d", b"--") else {
            panic!("no lines")
        };
        assert_eq!(lines, [b"a".to_vec(), b"bc".to_vec(), b"d".to_vec()]);
        assert!(Payload::lines(b"\n\n", b"\n").is_none());
        assert!(Payload::lines(b"", b"\n").is_none());
    }
}
