//! What the header says decides: timestamps, gaps of compaction, control records, formats and codecs that are refused.

use sealwax_protocol::error::DecodeError;
use sealwax_protocol::limits::DecodeLimits;
use sealwax_protocol::record::{Batches, Compression, ControlType, TimestampType};

use crate::sample::{PLAIN, RawBatch, Sample, batches, builder, transactional};

#[test]
fn crc_32c_is_castagnoli() {
    assert_eq!(crc32c::crc32c(b"123456789"), 0xE306_9283);
}

#[test]
fn with_log_append_time_the_largest_timestamp_is_everybodys() {
    let create = RawBatch::default().batch();
    assert_eq!(create.header().timestamp_type(), TimestampType::CreateTime);
    assert_eq!(create.records().next().unwrap().unwrap().timestamp, 1_005);

    let append = RawBatch {
        attributes: 1 << 3,
        ..RawBatch::default()
    }
    .batch();
    assert_eq!(append.header().timestamp_type(), TimestampType::LogAppendTime);
    assert_eq!(append.records().next().unwrap().unwrap().timestamp, 2_000);
}

#[test]
fn compaction_leaves_gaps_and_the_last_offset() {
    let records = vec![12, 0, 10, 4, 1, 1, 0, 12, 0, 10, 10, 1, 1, 0];
    let batch = RawBatch {
        last_offset_delta: 8,
        record_count: 2,
        records,
        ..RawBatch::default()
    }
    .batch();
    let offsets: Vec<_> = batch.records().map(|record| record.unwrap().offset).collect();
    assert_eq!(offsets, [102, 105]);
    assert_eq!(
        (batch.header().last_offset(), batch.header().next_offset()),
        (108, 109)
    );

    let emptied = RawBatch {
        last_offset_delta: 8,
        record_count: 0,
        records: vec![],
        ..RawBatch::default()
    };
    let batch = emptied.batch();
    assert!(batch.records().next().is_none());
    assert_eq!(batch.header().next_offset(), 109);
}

#[test]
fn a_control_batch_tells_its_type() {
    let marker = |key: &[u8]| {
        let mut records = vec![0, 0, 0, key.len() as u8 * 2];
        records.extend_from_slice(key);
        records.extend([1, 0]);
        records.insert(0, records.len() as u8 * 2);
        RawBatch {
            attributes: 0b11_0000,
            records,
            ..RawBatch::default()
        }
        .batch()
    };
    assert!(marker(&[0, 0, 0, 0]).header().is_control());
    assert_eq!(marker(&[0, 0, 0, 0]).control_type(), Ok(Some(ControlType::Abort)));
    assert_eq!(
        marker(&[0, 0, 0, 1]).control_type(),
        Ok(Some(ControlType::Commit))
    );
    assert_eq!(
        marker(&[0, 0, 0, 4]).control_type(),
        Ok(Some(ControlType::Other(4)))
    );
    let short = DecodeError::Truncated {
        what: "key of a control record",
        needed: 4,
        remaining: 2,
    };
    assert_eq!(marker(&[0, 0]).control_type(), Err(short));

    let emptied = RawBatch {
        attributes: 1 << 5,
        record_count: 0,
        records: vec![],
        ..RawBatch::default()
    };
    assert_eq!(emptied.batch().control_type(), Ok(None));
    let broken = RawBatch {
        attributes: 1 << 5,
        records: vec![1; 7],
        ..RawBatch::default()
    };
    assert!(broken.batch().control_type().is_err());
    let data = builder(&[Sample {
        key: Some(vec![0; 4]),
        ..Sample::default()
    }])
    .seal(transactional(1, 1, 1));
    assert_eq!(batches(data).next().unwrap().unwrap().control_type(), Ok(None));
}

#[test]
fn a_compressed_batch_is_refused_by_the_name_of_its_codec() {
    for (attributes, codec) in [
        (1, Compression::Gzip),
        (2, Compression::Snappy),
        (3, Compression::Lz4),
        (4, Compression::Zstd),
    ] {
        let refusal = RawBatch {
            attributes,
            ..RawBatch::default()
        }
        .refusal();
        let expected = format!(
            "compressed record batch is not supported: the batch at offset 100 is compressed with {}, and compression is not built yet",
            codec.name()
        );
        assert_eq!(refusal.to_string(), expected);
    }
    let unknown = RawBatch {
        attributes: 5,
        ..RawBatch::default()
    }
    .refusal();
    assert!(
        matches!(
            unknown,
            DecodeError::Invalid {
                what: "compression codec of a batch",
                ..
            }
        ),
        "{unknown}"
    );
}

#[test]
fn old_formats_are_refused_as_unsupported_and_unknown_ones_as_invalid() {
    for magic in [0, 1] {
        // A message of the old formats can be shorter than a batch's header.
        let mut message = vec![0; 30];
        message[11] = 18;
        message[16] = magic;
        let refusal = batches(message).next().unwrap().unwrap_err();
        assert!(
            matches!(
                refusal,
                DecodeError::Unsupported {
                    what: "old record format",
                    ..
                }
            ),
            "{refusal}"
        );
        assert!(
            refusal.to_string().contains(&format!("magic {magic}")),
            "{refusal}"
        );
    }
    let mut newer = RawBatch::default().bytes();
    newer[16] = 3;
    let refusal = batches(newer).next().unwrap().unwrap_err();
    assert!(
        matches!(
            refusal,
            DecodeError::Invalid {
                what: "magic of a record batch",
                ..
            }
        ),
        "{refusal}"
    );
}

#[test]
fn a_batch_above_the_limit_is_refused() {
    let sealed = builder(&[Sample::default()]).seal(PLAIN);
    let with_limit = |max_batch_bytes| {
        let limits = DecodeLimits {
            max_batch_bytes,
            ..DecodeLimits::default()
        };
        Batches::new(sealed.clone(), limits).next().unwrap()
    };
    assert!(with_limit(sealed.len()).is_ok());
    let (announced, allowed) = (sealed.len() as u64, sealed.len() as u64 - 1);
    let refusal = DecodeError::TooLarge {
        what: "record batch",
        announced,
        allowed,
    };
    assert_eq!(with_limit(sealed.len() - 1).unwrap_err(), refusal);
}

#[test]
fn header_fields_must_fit_each_other() {
    let raw = RawBatch::default;
    for (refused, what) in [
        (
            RawBatch {
                record_count: -1,
                ..raw()
            },
            "record count of a batch",
        ),
        (
            RawBatch {
                record_count: i32::MIN,
                ..raw()
            },
            "record count of a batch",
        ),
        (
            RawBatch {
                last_offset_delta: -1,
                record_count: 0,
                ..raw()
            },
            "last offset delta of a batch",
        ),
        (
            RawBatch {
                record_count: 2,
                ..raw()
            },
            "last offset delta of a batch",
        ),
        (
            RawBatch {
                base_offset: -1,
                ..raw()
            },
            "base offset of a batch",
        ),
        (
            RawBatch {
                base_offset: i64::MAX,
                last_offset_delta: 1,
                ..raw()
            },
            "base offset of a batch",
        ),
    ] {
        match refused.refusal() {
            DecodeError::Invalid { what: found, .. } => assert_eq!(found, what),
            other => panic!("{what}: {other}"),
        }
    }
    let many = RawBatch {
        last_offset_delta: i32::MAX,
        record_count: i32::MAX,
        ..raw()
    };
    let (announced, allowed) = (i32::MAX as u64, 1);
    let refusal = DecodeError::TooLarge {
        what: "record count of a batch",
        announced,
        allowed,
    };
    assert_eq!(many.refusal(), refusal);
}

#[test]
fn a_length_that_no_batch_has_is_refused() {
    for length in [i32::MIN, -1, 0, 48] {
        let mut bytes = RawBatch::default().bytes();
        bytes[8..12].copy_from_slice(&length.to_be_bytes());
        let refusal = batches(bytes).next().unwrap().unwrap_err();
        let expected = DecodeError::Invalid {
            what: "length of a record batch",
            value: length.to_string(),
        };
        assert_eq!(refusal, expected);
    }
}
