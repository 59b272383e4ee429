//! Cuts a sealed batch into two: the same records, timestamps and sequences, about half of the bytes each. In: a batch's bytes and
//! stamp. Out: two batches.

use bytes::Bytes;
use sealwax_protocol::ids::Sequence;
use sealwax_protocol::limits::DecodeLimits;
use sealwax_protocol::record::{BatchBuilder, Batches, ProducerStamp, RecordRef};

/// One of the two.
#[derive(Debug)]
pub(super) struct Half {
    /// The sealed bytes.
    pub(super) bytes: Bytes,
    /// How many records it has.
    pub(super) record_count: u32,
    /// What it was sealed with.
    pub(super) stamp: ProducerStamp,
}

/// Cuts the batch behind the record with which half of the bytes is reached, but leaves each half at least one record. `None` if the
/// batch has a single record, or if its bytes are not a batch.
pub(super) fn halves(bytes: &Bytes, stamp: ProducerStamp) -> Option<[Half; 2]> {
    // The batch is the client's own: only the format limits its size.
    let limits = DecodeLimits {
        max_batch_bytes: usize::MAX,
        ..DecodeLimits::default()
    };
    let batch = Batches::new(bytes.clone(), limits).next()?.ok()?;
    let count = u32::try_from(batch.header().record_count).ok()?;
    let mut first = BatchBuilder::with_capacity(bytes.len() / 2);
    let mut second = BatchBuilder::with_capacity(bytes.len() / 2);
    for record in batch.records() {
        let taken = first.record_count();
        let goes_first =
            second.is_empty() && (taken == 0 || (first.len() < bytes.len() / 2 && taken + 1 < count));
        let half = if goes_first { &mut first } else { &mut second };
        append(half, &record.ok()?)?;
    }
    if second.is_empty() {
        return None;
    }
    let first_count = first.record_count();
    let later = ProducerStamp {
        base_sequence: stamp
            .base_sequence
            .map(|sequence: Sequence| sequence.add(first_count)),
        ..stamp
    };
    Some([seal(first, stamp), seal(second, later)])
}

fn append(half: &mut BatchBuilder, record: &RecordRef<'_>) -> Option<u32> {
    half.append(record.timestamp, record.key, record.value, record.headers)
        .ok()
}

fn seal(half: BatchBuilder, stamp: ProducerStamp) -> Half {
    Half {
        record_count: half.record_count(),
        bytes: half.seal(stamp),
        stamp,
    }
}

#[cfg(test)]
mod tests {
    use sealwax_protocol::ids::{ProducerEpoch, ProducerId, ProducerIdAndEpoch};

    use super::*;

    fn stamp(first: i32) -> ProducerStamp {
        ProducerStamp {
            transactional: true,
            producer: ProducerIdAndEpoch {
                id: ProducerId(7),
                epoch: ProducerEpoch(3),
            },
            base_sequence: Sequence::new(first),
        }
    }

    fn batch(values: &[usize], stamp: ProducerStamp) -> Bytes {
        let mut builder = BatchBuilder::with_capacity(0);
        for (index, size) in values.iter().enumerate() {
            let value = vec![b'v'; *size];
            let key = [u8::try_from(index).unwrap()];
            let headers = [(&b"h"[..], None), (b"h", Some(&b"2"[..]))];
            let timestamp = 1000 - 10 * i64::try_from(index).unwrap();
            builder
                .append(timestamp, Some(&key), Some(&value), headers)
                .unwrap();
        }
        builder.seal(stamp)
    }

    type Plain = (Vec<u8>, usize, i64, Vec<(Vec<u8>, Option<Vec<u8>>)>);

    fn read(half: &Bytes) -> (i32, bool, Vec<Plain>) {
        let batch = Batches::new(half.clone(), DecodeLimits::default())
            .next()
            .unwrap()
            .unwrap();
        let plain = |record: RecordRef<'_>| {
            let headers = record
                .headers
                .map(|(key, value)| (key.to_vec(), value.map(<[u8]>::to_vec)))
                .collect();
            (
                record.key.unwrap().to_vec(),
                record.value.unwrap().len(),
                record.timestamp,
                headers,
            )
        };
        let records = batch.records().map(|record| plain(record.unwrap())).collect();
        let header = batch.header();
        (header.base_sequence, header.is_transactional(), records)
    }

    #[test]
    fn the_halves_have_the_same_records_and_consecutive_sequences_across_the_wrap() {
        for values in [vec![10; 9], vec![500, 1, 1, 1], vec![1, 1, 1, 500], vec![3, 3]] {
            let whole = batch(&values, stamp(i32::MAX));
            let [first, second] = halves(&whole, stamp(i32::MAX)).unwrap();
            let (_, _, expected) = read(&whole);
            let (first_sequence, first_transactional, mut seen) = read(&first.bytes);
            let (second_sequence, second_transactional, rest) = read(&second.bytes);
            assert_eq!(first_sequence, i32::MAX);
            assert_eq!(second_sequence, i32::try_from(first.record_count).unwrap() - 1);
            assert!(first_transactional && second_transactional);
            assert_eq!(seen.len(), first.record_count as usize);
            assert_eq!(rest.len(), second.record_count as usize);
            seen.extend(rest);
            assert_eq!(seen, expected);
            let larger = first.bytes.len().max(second.bytes.len());
            assert!(larger < whole.len(), "{values:?}");
        }
    }

    #[test]
    fn equal_records_are_divided_about_evenly_and_a_plain_batch_stays_plain() {
        let plain = ProducerStamp {
            transactional: false,
            producer: ProducerIdAndEpoch::NONE,
            base_sequence: None,
        };
        let [first, second] = halves(&batch(&[100; 10], plain), plain).unwrap();
        assert!(
            (4..=6).contains(&first.record_count),
            "{} and {}",
            first.record_count,
            second.record_count
        );
        assert_eq!(read(&second.bytes).0, -1);
    }

    #[test]
    fn a_single_record_is_not_divided() {
        assert!(halves(&batch(&[1000], stamp(0)), stamp(0)).is_none());
        assert!(halves(&Bytes::from_static(b"no batch"), stamp(0)).is_none());
    }
}
