//! Damage of every kind to valid batches ends in an error, or in a batch where no checksum covers the byte; never in a panic.

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use proptest::collection::vec;
use proptest::prelude::*;
use sealwax_protocol::error::DecodeError;
use sealwax_protocol::record::restamp;

use crate::sample::{
    PLAIN, Sample, batches, builder, fix_checksum, samples_of, small_batches, transactional,
};

const BASE_OFFSET: Range<usize> = 0..8;
const PARTITION_LEADER_EPOCH: Range<usize> = 12..16;

/// Reads everything that can be read, and checks what must hold for any input.
fn read_all(bytes: Bytes) -> Vec<Result<Vec<Sample>, DecodeError>> {
    let length = bytes.len();
    let mut read = Vec::new();
    for batch in batches(bytes) {
        assert!(read.last().is_none_or(Result::is_ok), "an error ends the batches");
        read.push(batch.and_then(|batch| {
            let header = *batch.header();
            let mut next = header.base_offset;
            let mut count = 0;
            for record in batch.records().map_while(Result::ok) {
                assert!((next..=header.last_offset()).contains(&record.offset));
                next = record.offset + 1;
                count += 1;
                assert!(record.headers.len() * 2 <= length);
                assert_eq!(record.headers.len(), record.headers.count());
            }
            assert!(count <= header.record_count && count as usize * 7 <= length);
            // The control type is read whatever the batch is.
            let control = batch.control_type();
            assert!(header.is_control() || control == Ok(None));
            samples_of(&batch)
        }));
    }
    read
}

fn corruptions_of(byte: u8) -> impl Iterator<Item = u8> {
    (1..=u8::MAX).map(move |mask| byte ^ mask)
}

fn large_batch() -> Bytes {
    let sample = Sample {
        key: Some(vec![7; 20]),
        value: Some(vec![1; 80]),
        ..Sample::default()
    };
    builder(&vec![sample; 15]).seal(transactional(5, 0, 0))
}

#[test]
fn every_truncation_is_an_error() {
    for batch in small_batches() {
        assert!(read_all(Bytes::new()).is_empty());
        for length in 1..batch.len() {
            let read = read_all(batch.slice(..length));
            assert!(
                matches!(read[..], [Err(DecodeError::Truncated { .. })]),
                "cut to {length}: {read:?}"
            );
        }
    }
}

#[test]
fn every_changed_byte_is_noticed_where_the_checksum_covers_it() {
    for batch in small_batches() {
        let undamaged = read_all(batch.clone());
        for place in 0..batch.len() {
            for byte in corruptions_of(batch[place]) {
                let mut damaged = BytesMut::from(&batch[..]);
                damaged[place] = byte;
                let read = read_all(damaged.freeze());
                let negative = BASE_OFFSET.start == place && byte >= 0x80;
                let uncovered = BASE_OFFSET.contains(&place) && !negative;
                if uncovered || PARTITION_LEADER_EPOCH.contains(&place) {
                    assert_eq!(read, undamaged, "byte {place} as {byte}");
                } else {
                    assert!(matches!(read[..], [Err(_)]), "byte {place} as {byte}: {read:?}");
                }
            }
        }
    }
}

#[test]
fn every_flipped_bit_of_a_larger_batch_is_noticed() {
    let batch = large_batch();
    for place in (8..12).chain(16..batch.len()) {
        for bit in 0..8 {
            let mut damaged = BytesMut::from(&batch[..]);
            damaged[place] ^= 1 << bit;
            let read = read_all(damaged.freeze());
            assert!(
                matches!(read[..], [Err(_)]),
                "bit {bit} of byte {place}: {read:?}"
            );
        }
    }
}

/// The checksum hides what lies behind it from the tests above. A hostile peer computes it anew.
#[test]
fn damage_with_a_right_checksum_breaks_no_invariant() {
    for batch in small_batches() {
        for place in 0..batch.len() {
            for byte in corruptions_of(batch[place]) {
                let mut damaged = BytesMut::from(&batch[..]);
                damaged[place] = byte;
                fix_checksum(&mut damaged);
                assert!(read_all(damaged.freeze()).len() <= 1);
            }
        }
    }
}

proptest! {
    #[test]
    fn noise_breaks_no_invariant(noise in vec(any::<u8>(), 0..400)) {
        read_all(noise.into());
    }

    #[test]
    fn noise_behind_a_right_header_breaks_no_invariant(
        noise in vec(prop_oneof![0..16_u8, any::<u8>()], 0..200),
        header in vec((21..61_usize, any::<u8>()), 0..4),
        count in 0..9_u8,
    ) {
        let mut batch = BytesMut::from(&builder(&[]).seal(PLAIN)[..]);
        batch.extend_from_slice(&noise);
        let length = batch.len() as i32 - 12;
        batch[8..12].copy_from_slice(&length.to_be_bytes());
        (batch[26], batch[60]) = (count, count);
        for (place, byte) in header {
            batch[place] = byte;
        }
        fix_checksum(&mut batch);
        prop_assert!(read_all(batch.freeze()).len() <= 1);
    }

    #[test]
    fn noise_is_never_stamped(noise in vec(any::<u8>(), 0..400)) {
        prop_assert!(restamp(noise.into(), PLAIN).is_err());
    }
}
