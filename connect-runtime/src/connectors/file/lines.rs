//! Splits bytes into lines, whatever the chunks in which they arrive.
//!
//! Input: bytes in order. Output: complete lines with the position behind each. `\n`, `\r\n` and a lone `\r` end a line,
//! as in Java. A `\r` at the very end is not decided until the next byte is known, so the rest always starts at a line.

use bytes::{Bytes, BytesMut};

/// A complete line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// The line without its end; shares the memory of the chunk.
    pub(super) bytes: Bytes,
    /// The byte position in the file behind the line's end.
    pub(super) end: u64,
}

/// A line is longer than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineTooLong {
    /// The position of its first byte.
    pub(super) start: u64,
}

/// Bytes that are not yet a line. Holds at most one line and one chunk.
#[derive(Debug)]
pub(super) struct LineSplitter {
    rest: BytesMut,
    /// How many bytes of `rest` are known to hold no complete line.
    scanned: usize,
    /// The file position of the first byte of `rest`.
    position: u64,
    max_line: usize,
}

impl LineSplitter {
    pub(super) fn new(position: u64, max_line: usize) -> Self {
        Self {
            rest: BytesMut::new(),
            scanned: 0,
            position,
            max_line,
        }
    }

    /// The buffer to read the next chunk into.
    pub(super) fn buffer(&mut self) -> &mut BytesMut {
        &mut self.rest
    }

    /// The position behind everything that was read.
    pub(super) fn read_position(&self) -> u64 {
        self.position + self.rest.len() as u64
    }

    /// Appends up to `limit` complete lines to `lines`.
    ///
    /// The limit on a line's length holds for the line as a whole, so the answer does not depend on the chunks: lines
    /// before a line that is too long are returned first, by this call; the error comes with the next.
    pub(super) fn take_lines(&mut self, limit: usize, lines: &mut Vec<Line>) -> Result<(), LineTooLong> {
        let (ends, too_long) = self.find_ends(limit);
        if let Some((_, behind)) = ends.last() {
            let position = self.position;
            let whole = self.rest.split_to(*behind).freeze();
            let mut start = 0;
            for (end, next) in &ends {
                lines.push(Line {
                    bytes: whole.slice(start..*end),
                    end: position + *next as u64,
                });
                start = *next;
            }
            self.position += *behind as u64;
            self.scanned = self.scanned.saturating_sub(*behind);
            return Ok(());
        }
        if too_long {
            Err(LineTooLong { start: self.position })
        } else {
            Ok(())
        }
    }

    /// For each complete line where it ends and where the next begins; and whether the line behind them is too long.
    fn find_ends(&mut self, limit: usize) -> (Vec<(usize, usize)>, bool) {
        let mut ends = Vec::new();
        let mut start = 0;
        let mut from = self.scanned;
        while ends.len() < limit {
            let found = find_end(&self.rest, from);
            let length = found.map_or(self.rest.len(), |(end, _)| end) - start;
            // An undecided \r at the end is not part of the line.
            let undecided = usize::from(found.is_none() && self.rest.last() == Some(&b'\r'));
            if length - undecided.min(length) > self.max_line {
                self.scanned = start;
                return (ends, true);
            }
            let Some((end, next)) = found else {
                self.scanned = self.rest.len() - undecided;
                return (ends, false);
            };
            ends.push((end, next));
            start = next;
            from = next;
        }
        self.scanned = start;
        (ends, false)
    }
}

/// The first line end at or behind `from`: where the line ends and where the next begins.
fn find_end(bytes: &[u8], from: usize) -> Option<(usize, usize)> {
    let end = from
        + bytes
            .get(from..)?
            .iter()
            .position(|byte| matches!(byte, b'\n' | b'\r'))?;
    match (bytes.get(end), bytes.get(end + 1)) {
        (Some(b'\n'), _) => Some((end, end + 1)),
        (_, Some(b'\n')) => Some((end, end + 2)),
        (_, Some(_)) => Some((end, end + 1)),
        (_, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All lines of chunks, the error if there is one, and the position behind the last line.
    fn split(chunks: &[&[u8]], max_line: usize, limit: usize) -> (Vec<(Vec<u8>, u64)>, Option<LineTooLong>) {
        let mut splitter = LineSplitter::new(0, max_line);
        let mut lines = Vec::new();
        for chunk in chunks {
            splitter.buffer().extend_from_slice(chunk);
            loop {
                let before = lines.len();
                if let Err(error) = splitter.take_lines(limit, &mut lines) {
                    return (plain(lines), Some(error));
                }
                if lines.len() == before {
                    break;
                }
            }
        }
        (plain(lines), None)
    }

    fn plain(lines: Vec<Line>) -> Vec<(Vec<u8>, u64)> {
        lines
            .into_iter()
            .map(|line| (line.bytes.to_vec(), line.end))
            .collect()
    }

    #[test]
    fn all_three_line_ends_and_an_unfinished_line() {
        let (lines, error) = split(&[b"a\nb\r\nc\r\rd\n\ne"], 100, 100);
        let expected: Vec<(&[u8], u64)> =
            vec![(b"a", 2), (b"b", 5), (b"c", 7), (b"", 8), (b"d", 10), (b"", 11)];
        assert_eq!(
            lines,
            expected
                .into_iter()
                .map(|(line, end)| (line.to_vec(), end))
                .collect::<Vec<_>>()
        );
        assert_eq!(error, None);
    }

    #[test]
    fn a_carriage_return_at_the_end_is_decided_by_the_next_byte() {
        assert_eq!(split(&[b"a\r"], 100, 100).0, []);
        assert_eq!(split(&[b"a\r", b"\nb"], 100, 100).0, [(b"a".to_vec(), 3)]);
        assert_eq!(split(&[b"a\r", b"b"], 100, 100).0, [(b"a".to_vec(), 2)]);
    }

    #[test]
    fn the_longest_allowed_line_passes_and_one_byte_more_does_not() {
        assert_eq!(
            split(&[b"abc\r\nabc\rx"], 3, 100),
            (vec![(b"abc".to_vec(), 5), (b"abc".to_vec(), 9)], None)
        );
        let (lines, error) = split(&[b"abc\nabcd\n"], 3, 100);
        assert_eq!(lines, [(b"abc".to_vec(), 4)]);
        assert_eq!(error, Some(LineTooLong { start: 4 }));
        assert_eq!(split(&[b"ab", b"cd"], 3, 100).1, Some(LineTooLong { start: 0 }));
    }

    /// The definition, byte by byte.
    fn reference(bytes: &[u8]) -> Vec<(Vec<u8>, u64)> {
        let (mut lines, mut line, mut place) = (Vec::new(), Vec::new(), 0);
        while let Some(byte) = bytes.get(place) {
            place += 1;
            match (byte, bytes.get(place)) {
                (b'\n', _) => lines.push((std::mem::take(&mut line), place as u64)),
                (b'\r', None) => break,
                (b'\r', Some(next)) => {
                    place += usize::from(*next == b'\n');
                    lines.push((std::mem::take(&mut line), place as u64));
                }
                (other, _) => line.push(*other),
            }
        }
        lines
    }

    fn some_bytes() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'x'), any::<u8>()];
        proptest::collection::vec(byte, 0..120)
    }

    proptest! {
        #[test]
        fn any_chunks_give_the_same_lines(
            bytes in some_bytes(), cuts in proptest::collection::vec(1..20usize, 0..40), limit in 1..5usize,
            max_line in 1..12usize,
        ) {
            let mut chunks = Vec::new();
            let mut rest = bytes.as_slice();
            for cut in cuts {
                let (chunk, behind) = rest.split_at(cut.min(rest.len()));
                chunks.push(chunk);
                rest = behind;
            }
            chunks.push(rest);
            prop_assert_eq!(split(&chunks, 1000, limit), (reference(&bytes), None));
            prop_assert_eq!(split(&chunks, max_line, limit), split(&[&bytes], max_line, 1000));
        }

        #[test]
        fn each_position_is_a_place_to_start_again(bytes in some_bytes()) {
            let all = reference(&bytes);
            for (done, (_, end)) in all.iter().enumerate() {
                let rest = bytes.get(usize::try_from(*end).unwrap()..).unwrap();
                let mut splitter = LineSplitter::new(*end, 1000);
                splitter.buffer().extend_from_slice(rest);
                let mut lines = Vec::new();
                splitter.take_lines(1000, &mut lines).unwrap();
                prop_assert_eq!(plain(lines), all[done + 1..].to_vec());
            }
        }
    }
}
