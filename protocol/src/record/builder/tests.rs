//! Limits of the builder, its size estimate, and stamps.

use super::*;
use crate::ids::{ProducerEpoch, ProducerId};
use crate::record::Batches;

const PLAIN: ProducerStamp = ProducerStamp {
    transactional: false,
    producer: ProducerIdAndEpoch::NONE,
    base_sequence: None,
};

fn stamp(epoch: i16, sequence: i32) -> ProducerStamp {
    let producer = ProducerIdAndEpoch {
        id: ProducerId(4_000),
        epoch: ProducerEpoch(epoch),
    };
    ProducerStamp {
        transactional: true,
        producer,
        base_sequence: Sequence::new(sequence),
    }
}

fn header_of(batch: &Bytes) -> BatchHeader {
    let mut batches = Batches::new(batch.clone(), DecodeLimits::default());
    *batches.next().unwrap().unwrap().header()
}

fn small_batch() -> Bytes {
    let mut builder = BatchBuilder::with_capacity(256);
    assert_eq!(builder.append(5, Some(b"k"), Some(b"v"), []), Ok(0));
    assert_eq!(builder.append(3, None, None, [(&b"h"[..], None)]), Ok(1));
    builder.seal(stamp(1, 7))
}

#[test]
fn the_header_says_what_was_appended() {
    let batch = small_batch();
    let header = header_of(&batch);
    let expected = BatchHeader {
        base_offset: 0,
        batch_length: (batch.len() - 12) as i32,
        partition_leader_epoch: -1,
        crc: header.crc,
        attributes: TRANSACTIONAL,
        last_offset_delta: 1,
        base_timestamp: 5,
        max_timestamp: 5,
        producer_id: 4_000,
        producer_epoch: 1,
        base_sequence: 7,
        record_count: 2,
    };
    assert_eq!(header, expected);
    assert_eq!((header.last_offset(), header.next_offset()), (1, 2));
}

#[test]
fn a_batch_without_records_is_readable_and_has_none() {
    let builder = BatchBuilder::with_capacity(0);
    assert!(builder.is_empty());
    assert_eq!(builder.len(), HEADER_LEN);
    let batch = Batches::new(builder.seal(PLAIN), DecodeLimits::default())
        .next()
        .unwrap()
        .unwrap();
    assert_eq!(batch.header().record_count, 0);
    assert!(batch.records().next().is_none());
}

/// Zeroed memory of 2 GiB that nobody touches costs address space only.
#[test]
#[cfg(target_pointer_width = "64")]
fn what_the_format_cannot_say_is_refused_and_changes_nothing() {
    let huge = vec![0; MAX_LENGTH + 1];
    let (too_long, longest) = (&huge[..], &huge[..MAX_LENGTH]);
    let refused = |what, size| {
        Err(EncodeError::TooLarge {
            what,
            size,
            max: MAX_LENGTH,
        })
    };

    let mut builder = BatchBuilder::with_capacity(256);
    builder.append(1, None, Some(b"before"), []).unwrap();
    let before = builder.buffer.clone();

    assert_eq!(
        builder.append(9, Some(too_long), None, []),
        refused("record key", MAX_LENGTH + 1)
    );
    assert_eq!(
        builder.append(9, None, Some(too_long), []),
        refused("record value", MAX_LENGTH + 1)
    );
    let headers = [(too_long, None)];
    assert_eq!(
        builder.append(9, None, None, headers),
        refused("key of a record header", MAX_LENGTH + 1)
    );
    let headers = [(&b"h"[..], Some(too_long))];
    assert_eq!(
        builder.append(9, None, None, headers),
        refused("value of a record header", MAX_LENGTH + 1)
    );
    // Null key, value with length, no headers, attributes and two deltas.
    let size = 1 + 5 + MAX_LENGTH + 1 + 3;
    assert_eq!(
        builder.append(9, None, Some(longest), []),
        refused("record", size)
    );
    let headers = std::iter::repeat((longest, Some(longest)));
    assert!(matches!(
        builder.append(9, None, None, headers),
        Err(EncodeError::TooLarge { what: "record", .. })
    ));
    // The record alone could be said, header and neighbour are too much for the batch.
    let size = before.len() - LENGTH_END + 5 + 1 + 5 + MAX_LENGTH - 60 + 1 + 3;
    let value = &huge[..MAX_LENGTH - 60];
    assert_eq!(
        builder.append(9, None, Some(value), []),
        refused("record batch", size)
    );

    assert_eq!(builder.buffer, before);
    assert_eq!(builder.record_count(), 1);
    assert_eq!(header_of(&builder.seal(PLAIN)).max_timestamp, 1);
}

#[test]
fn another_stamp_is_the_same_as_sealing_with_it() {
    let mut builder = BatchBuilder::with_capacity(256);
    builder.append(5, Some(b"k"), Some(b"v"), []).unwrap();
    builder.append(3, None, None, [(&b"h"[..], None)]).unwrap();
    let expected = builder.seal(PLAIN);
    assert_eq!(restamp(small_batch(), PLAIN), Ok(expected));
}

#[test]
fn a_stamp_is_written_in_place_unless_the_bytes_are_shared() {
    let batch = small_batch();
    let place = batch.as_ptr();
    let batch = restamp(batch, stamp(2, 0)).unwrap();
    assert_eq!(batch.as_ptr(), place);

    let shared = batch.clone();
    let stamped = restamp(batch, stamp(3, 1)).unwrap();
    assert_ne!(stamped.as_ptr(), place);
    assert_eq!(header_of(&shared).producer_epoch, 2);
    assert_eq!(
        (
            header_of(&stamped).producer_epoch,
            header_of(&stamped).base_sequence
        ),
        (3, 1)
    );
}

#[test]
fn only_one_whole_intact_batch_is_stamped() {
    let batch = small_batch();
    for length in 0..batch.len() {
        assert!(
            matches!(
                restamp(batch.slice(..length), PLAIN),
                Err(DecodeError::Truncated { .. })
            ),
            "{length}"
        );
    }
    let mut longer = BytesMut::from(&batch[..]);
    longer.extend_from_slice(b"!");
    let extra = DecodeError::TrailingBytes {
        what: "sealed batch",
        extra: 1,
    };
    assert_eq!(restamp(longer.freeze(), PLAIN), Err(extra));
    let mut damaged = BytesMut::from(&batch[..]);
    damaged[HEADER_LEN] ^= 1;
    assert!(matches!(
        restamp(damaged.freeze(), PLAIN),
        Err(DecodeError::Corrupt { .. })
    ));
}

#[test]
fn a_marker_reads_back_as_one() {
    for control in [ControlType::Commit, ControlType::Abort] {
        let producer = ProducerIdAndEpoch {
            id: ProducerId(7),
            epoch: ProducerEpoch(3),
        };
        let bytes = control_batch(control, producer, 5, 99);
        let batch = Batches::new(bytes, DecodeLimits::default())
            .next()
            .unwrap()
            .unwrap();
        assert_eq!(batch.control_type(), Ok(Some(control)));
        let header = batch.header();
        assert!(header.is_control() && header.is_transactional());
        assert_eq!(
            (header.producer_id, header.producer_epoch, header.base_sequence),
            (7, 3, -1)
        );
        let record = batch.records().next().unwrap().unwrap();
        assert_eq!(record.timestamp, 99);
        assert_eq!(
            record.value,
            Some(&[0, 0, 0, 0, 0, 5][..]),
            "version and coordinator epoch"
        );
    }
}

#[test]
fn a_batch_is_placed_without_breaking_its_checksum() {
    let batch = small_batch();
    let mut log = BytesMut::from(&b"before"[..]);
    place(&batch, 1234, 56, &mut log);
    let placed = log.split_off(6).freeze();
    let header = header_of(&placed);
    assert_eq!((header.base_offset, header.partition_leader_epoch), (1234, 56));
    assert_eq!(placed.len(), batch.len());
    assert_eq!(placed[16..], batch[16..], "nothing else changes");
    let read = Batches::new(placed, DecodeLimits::default())
        .next()
        .unwrap()
        .unwrap();
    assert_eq!(read.records().next().unwrap().unwrap().offset, 1234);
}
