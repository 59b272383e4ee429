//! Records that break a rule, in a batch whose checksum is right: each rule is refused by its own error, and ends the records.

use sealwax_protocol::error::DecodeError;

use crate::sample::{RawBatch, samples_of};

/// What the first record is refused for; `after_length` is all of it but its length.
fn refusal(after_length: &[u8]) -> DecodeError {
    let mut records = vec![after_length.len() as u8 * 2];
    records.extend_from_slice(after_length);
    refusal_of_all(RawBatch {
        records,
        ..RawBatch::default()
    })
}

fn refusal_of_all(raw: RawBatch) -> DecodeError {
    let batch = raw.batch();
    let results: Vec<_> = batch.records().collect();
    let errors = results.iter().filter(|result| result.is_err()).count();
    assert!(errors == 1 && results.last().unwrap().is_err(), "{results:?}");
    samples_of(&batch).unwrap_err()
}

fn invalid(what: &'static str, value: &str) -> DecodeError {
    DecodeError::Invalid {
        what,
        value: value.into(),
    }
}

fn too_large(what: &'static str, announced: u64, allowed: u64) -> DecodeError {
    DecodeError::TooLarge {
        what,
        announced,
        allowed,
    }
}

#[test]
fn a_record_consumes_exactly_its_length() {
    assert_eq!(
        refusal(&[0, 0, 0, 1, 1, 0, 7]),
        DecodeError::TrailingBytes {
            what: "record",
            extra: 1
        }
    );
    let what = "header count of a record";
    // The byte that is missing stands in the batch, but behind the record.
    let raw = RawBatch {
        records: vec![10, 0, 0, 0, 1, 1, 0],
        ..RawBatch::default()
    };
    assert_eq!(
        refusal_of_all(raw),
        DecodeError::Truncated {
            what,
            needed: 1,
            remaining: 0
        }
    );
    let raw = RawBatch {
        records: vec![14, 0, 0, 0, 1, 1, 0],
        ..RawBatch::default()
    };
    assert_eq!(refusal_of_all(raw), too_large("record", 7, 6));
    let raw = RawBatch {
        records: vec![1, 0, 0, 0, 1, 1, 0],
        ..RawBatch::default()
    };
    assert_eq!(refusal_of_all(raw), invalid("record", "length -1"));
    let raw = RawBatch {
        records: vec![0; 7],
        ..RawBatch::default()
    };
    assert_eq!(
        refusal_of_all(raw),
        DecodeError::Truncated {
            what: "record",
            needed: 1,
            remaining: 0
        }
    );
}

#[test]
fn lengths_are_null_or_fit() {
    assert_eq!(
        refusal(&[0, 0, 0, 3, 1, 0]),
        invalid("key of a record", "length -2")
    );
    assert_eq!(refusal(&[0, 0, 0, 6, 1, 0]), too_large("key of a record", 3, 2));
    assert_eq!(
        refusal(&[0, 0, 0, 1, 3, 0]),
        invalid("value of a record", "length -2")
    );
    assert_eq!(refusal(&[0, 0, 0, 1, 4, 0]), too_large("value of a record", 2, 1));
}

#[test]
fn header_lengths_and_counts_fit() {
    assert_eq!(
        refusal(&[0, 0, 0, 1, 1, 1]),
        invalid("header count of a record", "-1")
    );
    assert_eq!(
        refusal(&[0, 0, 0, 1, 1, 4, 0, 1, 0]),
        too_large("header count of a record", 2, 1)
    );
    let count = [0xFE, 0xFF, 0xFF, 0xFF, 0x0F];
    let record = [&[0, 0, 0, 1, 1][..], &count].concat();
    assert_eq!(
        refusal(&record),
        too_large("header count of a record", i32::MAX as u64, 0)
    );
    assert_eq!(
        refusal(&[0, 0, 0, 1, 1, 2, 1, 1]),
        invalid("key of a record header", "length -1")
    );
    assert_eq!(
        refusal(&[0, 0, 0, 1, 1, 2, 4, 1]),
        too_large("key of a record header", 2, 1)
    );
    assert_eq!(
        refusal(&[0, 0, 0, 1, 1, 2, 0, 3]),
        invalid("value of a record header", "length -2")
    );
    assert_eq!(
        refusal(&[0, 0, 0, 1, 1, 2, 0, 2]),
        too_large("value of a record header", 1, 0)
    );
    let what = "record";
    assert_eq!(
        refusal(&[0, 0, 0, 1, 1, 2, 0, 1, 9]),
        DecodeError::TrailingBytes { what, extra: 1 }
    );
}

#[test]
fn numbers_with_too_many_bits_are_refused() {
    let delta = [&[0][..], &[0x80; 9], &[0x02, 0, 1, 1, 0]].concat();
    assert_eq!(
        refusal(&delta),
        invalid("timestamp delta of a record", "a number of more than 64 bits")
    );
    let length = [&[0, 0, 0][..], &[0x80; 4], &[0x10, 1, 0]].concat();
    assert_eq!(
        refusal(&length),
        invalid("key of a record", "a number of more than 32 bits")
    );
}

#[test]
fn offset_deltas_rise_up_to_the_last() {
    let what = "offset delta of a record";
    assert_eq!(
        refusal(&[0, 0, 1, 1, 1, 0]),
        invalid(what, "-1 where 0 to 0 can stand")
    );
    assert_eq!(
        refusal(&[0, 0, 2, 1, 1, 0]),
        invalid(what, "1 where 0 to 0 can stand")
    );
    for (second, found) in [(4, "2"), (2, "1")] {
        let records = vec![12, 0, 0, 4, 1, 1, 0, 12, 0, 0, second, 1, 1, 0];
        let raw = RawBatch {
            last_offset_delta: 5,
            record_count: 2,
            records,
            ..RawBatch::default()
        };
        assert_eq!(
            refusal_of_all(raw),
            invalid(what, &format!("{found} where 3 to 5 can stand"))
        );
    }
}

#[test]
fn the_records_fill_the_batch_exactly() {
    let two = || vec![12, 0, 0, 0, 1, 1, 0, 12, 0, 0, 2, 1, 1, 0];
    let what = "records of a batch";
    let one_announced = RawBatch {
        last_offset_delta: 1,
        records: two(),
        ..RawBatch::default()
    };
    assert_eq!(
        refusal_of_all(one_announced),
        DecodeError::TrailingBytes { what, extra: 7 }
    );
    let none_announced = RawBatch {
        record_count: 0,
        records: two(),
        ..RawBatch::default()
    };
    assert_eq!(
        refusal_of_all(none_announced),
        DecodeError::TrailingBytes { what, extra: 14 }
    );
    let long = [14, 0, 0, 0, 1, 2, 9, 0, 12, 0, 0, 2, 1, 1, 0];
    let missing = [&long[..], &[0; 6]].concat();
    let raw = RawBatch {
        last_offset_delta: 2,
        record_count: 3,
        records: missing,
        ..RawBatch::default()
    };
    assert!(matches!(
        refusal_of_all(raw),
        DecodeError::Truncated { what: "record", .. }
    ));
}

#[test]
fn headers_come_back_in_order_with_repeats_and_nulls() {
    let records = vec![30, 0, 0, 0, 1, 1, 6, 2, b'b', 1, 2, b'a', 2, b'1', 0, 0];
    let batch = RawBatch {
        records,
        ..RawBatch::default()
    }
    .batch();
    let headers = batch.records().next().unwrap().unwrap().headers;
    assert_eq!(headers.len(), 3);
    let expected: [(&[u8], Option<&[u8]>); 3] = [(b"b", None), (b"a", Some(b"1")), (b"", Some(b""))];
    assert_eq!(headers.collect::<Vec<_>>(), expected);
}
