//! Whatever bytes come, a decoder allocates at most a constant times their number. To cover another decoder, add a test that
//! hands valid bytes of it to [`attack`].

// The lint spares test functions only, not the functions that they share.
#![allow(clippy::unwrap_used)]

use bytes::{BufMut, Bytes, BytesMut};
use sealwax_protocol::ids::ProducerIdAndEpoch;
use sealwax_protocol::limits::DecodeLimits;
use sealwax_protocol::record::{BatchBuilder, Batches, ProducerStamp};

/// Bytes that may be allocated per byte of input.
const FACTOR: u64 = 16;
/// Bytes that may be allocated whatever the input is: an error's text and a reference count.
const CONSTANT: u64 = 1024;

/// Runs `decode` over `valid`, over each front part of it, and over copies in which one to five neighbouring bytes are replaced by
/// those that announce much; `repair` can then make the damage pass a checksum. Returns how many inputs there were.
fn attack(name: &str, valid: &[u8], repair: impl Fn(&mut [u8]), decode: impl Fn(Bytes)) -> usize {
    // Large as a fixed-size number, as an unsigned and as a zigzag varint, and negative.
    let announcements: [&[u8]; 7] = [
        &[0x7F],
        &[0xFF],
        &[0x7F, 0xFF, 0xFF, 0xFF],
        &[0xFF, 0xFF, 0xFF, 0xFF],
        &[0xFF, 0xFF, 0x7F],
        &[0xFF, 0xFF, 0xFF, 0xFF, 0x07],
        &[0xFE, 0xFF, 0xFF, 0xFF, 0x0F],
    ];
    let fronts = (0..=valid.len()).map(|length| valid[..length].to_vec());
    let damaged = announcements.into_iter().flat_map(|announcement| {
        (0..=valid.len().saturating_sub(announcement.len())).map(|place| {
            let mut input = valid.to_vec();
            input[place..place + announcement.len()].copy_from_slice(announcement);
            input
        })
    });
    let mut inputs = 0;
    for mut input in fronts.chain(damaged) {
        repair(&mut input);
        let length = input.len() as u64;
        let input = Bytes::from(input);
        let used = allocation_counter::measure(|| decode(input.clone()));
        let allowed = CONSTANT + FACTOR * length;
        assert!(
            used.bytes_total <= allowed,
            "{name} allocated {} bytes, {allowed} are allowed, for {input:?}",
            used.bytes_total
        );
        inputs += 1;
    }
    inputs
}

const PLAIN: ProducerStamp = ProducerStamp {
    transactional: false,
    producer: ProducerIdAndEpoch::NONE,
    base_sequence: None,
};

fn batch_of(records: usize) -> Bytes {
    let mut builder = BatchBuilder::with_capacity(64);
    for _ in 0..records {
        builder
            .append(
                1,
                Some(b"key"),
                Some(b"value"),
                [(&b"header"[..], Some(&b"1"[..]))],
            )
            .unwrap();
    }
    builder.seal(PLAIN)
}

/// Reads all there is and returns the number of records.
fn read_records(bytes: Bytes) -> usize {
    let mut count = 0;
    for batch in Batches::new(bytes, DecodeLimits::default()).flatten() {
        count += batch
            .records()
            .flatten()
            .map(|record| record.headers.map(|(key, _)| key.len().min(1)).sum::<usize>())
            .sum::<usize>();
    }
    count
}

#[test]
fn record_batches() {
    let valid = batch_of(3);
    let fix_checksum = |batch: &mut [u8]| {
        if batch.len() > 21 {
            let crc = crc32c::crc32c(&batch[21..]);
            (&mut batch[17..]).put_u32(crc);
        }
    };
    let read = |bytes: Bytes| {
        read_records(bytes);
    };
    let checked = attack("record batches", &valid, |_| {}, read);
    let repaired = attack("record batches with right checksums", &valid, fix_checksum, read);
    assert!(checked > 8 * valid.len() - 30 && repaired == checked);
}

#[test]
fn reading_a_record_allocates_nothing() {
    for records in [1, 5_000] {
        let batch = batch_of(records);
        // The handle is shared already, so that the reader's own is a count and not an allocation.
        let _held = batch.clone();
        let used = allocation_counter::measure(|| assert_eq!(read_records(batch), records));
        assert_eq!(used.count_total, 0, "{records} records");
    }
}

#[test]
fn appending_within_the_capacity_allocates_nothing() {
    let mut builder = BatchBuilder::with_capacity(16 * 1024);
    let used = allocation_counter::measure(|| {
        for index in 0..200 {
            let headers = [(&b"header"[..], None)];
            assert_eq!(
                builder.append(1, Some(b"key"), Some(&[7; 40]), headers),
                Ok(index)
            );
        }
    });
    assert!(builder.len() > 200 * 50);
    assert_eq!(used.count_total, 0);
}

/// The measure itself must see an allocation by a count on the wire.
#[test]
#[should_panic(expected = "eager allocated")]
fn a_decoder_that_believes_a_count_is_caught() {
    let eager = |mut bytes: Bytes| {
        let count = if bytes.len() >= 4 {
            bytes.split_to(4)[1] as usize * 0x1_0000
        } else {
            0
        };
        assert!(BytesMut::with_capacity(count).is_empty());
    };
    attack("eager", &[0, 0, 0, 1, 5], |_| {}, eager);
}
