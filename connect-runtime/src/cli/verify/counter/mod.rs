//! Counts what was read against what must be there. Pure: no broker, no clock.
//!
//! Input: the records of each partition, in the order of their offsets. Output: a [`Tally`]: how many there were, how often
//! each number came, and where the first of each kind of deviation is. Memory: one bit per number, a few words per
//! partition, and at most [`MAX_EXAMPLES`] examples of each kind.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::bitmap::Bitmap;
use super::numbers::Numbers;

/// How many deviations of a kind are kept as examples.
pub(super) const MAX_EXAMPLES: usize = 10;

/// How many bytes of an unexpected value are kept to be shown.
const SHOWN_BYTES: usize = 60;

/// The running count of one verification.
#[derive(Debug)]
pub(super) struct Counter {
    numbers: Numbers,
    seen: Bitmap,
    tally: Tally,
}

/// What was counted. `counted = distinct + duplicates + unexpected` at every moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Records read.
    pub(super) counted: u64,
    /// Different numbers of the range among them.
    pub(super) distinct: u64,
    /// Records whose number had been read before.
    pub(super) duplicates: u64,
    /// The first duplicates.
    pub(super) duplicate_examples: Vec<Duplicate>,
    /// Records whose value is null, no number, or a number outside the range.
    pub(super) unexpected: u64,
    /// The first unexpected records.
    pub(super) unexpected_examples: Vec<Unexpected>,
    /// Records of aborted transactions that the reader passed over.
    pub(super) aborted: u64,
    /// By partition.
    pub(super) partitions: BTreeMap<i32, PartitionTally>,
}

/// What was counted in one partition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PartitionTally {
    /// Records read.
    pub(super) counted: u64,
    /// Records whose number is below a number that stands before it in the partition. A repeat of an old number counts here too.
    pub(super) out_of_order: u64,
    /// The first of them.
    pub(super) first_out_of_order: Option<OutOfOrder>,
    largest: Option<u64>,
}

/// A number that had been read before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Duplicate {
    /// The number.
    pub(super) number: u64,
    /// Where it stands again.
    pub(super) partition: i32,
    /// Where it stands again.
    pub(super) offset: i64,
}

/// A record that is none of the wanted numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unexpected {
    /// Where it stands.
    pub(super) partition: i32,
    /// Where it stands.
    pub(super) offset: i64,
    /// Its value, escaped and cut to be shown.
    pub(super) value: String,
}

/// A number that stands behind a larger one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OutOfOrder {
    /// Where it stands.
    pub(super) offset: i64,
    /// The number.
    pub(super) number: u64,
    /// The largest number before it.
    pub(super) behind: u64,
}

impl Counter {
    /// A count that begins at nothing; `None` if the memory of one bit per number cannot be had.
    pub(super) fn new(numbers: Numbers) -> Option<Self> {
        Some(Self {
            numbers,
            seen: Bitmap::new(numbers.count())?,
            tally: Tally::default(),
        })
    }

    /// Counts a record. Records of one partition must come in the order of their offsets.
    pub(super) fn observe(&mut self, partition: i32, offset: i64, value: Option<&[u8]>) {
        let tally = &mut self.tally;
        let of_partition = tally.partitions.entry(partition).or_default();
        tally.counted += 1;
        of_partition.counted += 1;
        let found = value
            .and_then(parse)
            .and_then(|number| Some((number, self.numbers.index_of(number)?)));
        let Some((number, index)) = found else {
            tally.unexpected += 1;
            keep(&mut tally.unexpected_examples, || Unexpected {
                partition,
                offset,
                value: shown(value),
            });
            return;
        };
        of_partition.order(offset, number);
        if self.seen.insert(index) {
            tally.distinct += 1;
        } else {
            tally.duplicates += 1;
            keep(&mut tally.duplicate_examples, || Duplicate {
                number,
                partition,
                offset,
            });
        }
    }

    /// Counts records of aborted transactions that the reader did not show.
    pub(super) fn pass_over(&mut self, aborted: u64) {
        self.tally.aborted = self.tally.aborted.saturating_add(aborted);
    }

    /// The counts so far.
    pub(super) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The numbers that were not read, as inclusive ranges in ascending order.
    pub(super) fn missing_ranges(&self) -> impl Iterator<Item = (u64, u64)> {
        let first = self.numbers.first();
        self.seen.gaps().map(move |(from, to)| (first + from, first + to))
    }
}

impl Tally {
    /// Records that stand behind a larger number of their partition.
    pub(super) fn out_of_order(&self) -> u64 {
        self.partitions.values().map(|p| p.out_of_order).sum()
    }
}

impl PartitionTally {
    fn order(&mut self, offset: i64, number: u64) {
        match self.largest {
            Some(behind) if number < behind => {
                self.out_of_order += 1;
                self.first_out_of_order.get_or_insert(OutOfOrder {
                    offset,
                    number,
                    behind,
                });
            }
            Some(_) | None => self.largest = Some(number),
        }
    }
}

/// The number that a value spells in decimal digits; leading zeros are allowed, signs and blanks are not.
fn parse(value: &[u8]) -> Option<u64> {
    if value.is_empty() {
        return None;
    }
    value.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

fn shown(value: Option<&[u8]>) -> String {
    let Some(value) = value else {
        return "null".to_owned();
    };
    match value.get(..SHOWN_BYTES) {
        Some(head) if value.len() > SHOWN_BYTES => {
            format!(
                "\"{}\" and {} bytes more",
                head.escape_ascii(),
                value.len() - SHOWN_BYTES
            )
        }
        Some(_) | None => format!("\"{}\"", value.escape_ascii()),
    }
}

fn keep<T>(examples: &mut Vec<T>, example: impl FnOnce() -> T) {
    if examples.len() < MAX_EXAMPLES {
        examples.push(example());
    }
}
