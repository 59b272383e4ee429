//! What is appended comes back: every field, in order, at its offset.

use bytes::{Bytes, BytesMut};
use proptest::collection::vec;
use proptest::prelude::*;
use sealwax_protocol::record::restamp;

use crate::sample::{
    PLAIN, Sample, batches, builder, only_batch, sample, samples_of, small_batches, stamp, timestamp,
    transactional,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn records_come_back(samples in vec(sample(timestamp()), 1..40), stamp in stamp()) {
        let sealed = builder(&samples).seal(stamp);
        let batch = only_batch(sealed);
        prop_assert_eq!(samples_of(&batch).unwrap(), &samples[..]);

        let offsets: Vec<_> = batch.records().map(|record| record.unwrap().offset).collect();
        prop_assert_eq!(offsets, (0..samples.len() as i64).collect::<Vec<_>>());

        let header = batch.header();
        prop_assert_eq!(header.record_count as usize, samples.len());
        prop_assert_eq!(header.last_offset(), samples.len() as i64 - 1);
        prop_assert_eq!(header.base_timestamp, samples[0].timestamp);
        prop_assert_eq!(Some(header.max_timestamp), samples.iter().map(|sample| sample.timestamp).max());
        prop_assert_eq!(header.is_transactional(), stamp.transactional);
        prop_assert_eq!(header.producer_id, stamp.producer.id.0);
        prop_assert_eq!(header.producer_epoch, stamp.producer.epoch.0);
        prop_assert_eq!(header.base_sequence, stamp.base_sequence.map_or(-1, |sequence| sequence.get()));
    }

    #[test]
    fn a_new_stamp_leaves_the_records(samples in vec(sample(timestamp()), 1..10), old in stamp(), new in stamp()) {
        let restamped = restamp(builder(&samples).seal(old), new).unwrap();
        prop_assert_eq!(restamped, builder(&samples).seal(new));
    }
}

#[test]
fn thousands_of_records_come_back() {
    let samples: Vec<_> = (0..5_000)
        .map(|index: i64| Sample {
            timestamp: 1_700_000_000_000 + index * 37,
            key: (index % 3 != 0).then(|| index.to_be_bytes().to_vec()),
            value: (index % 7 != 0).then(|| vec![index as u8; index as usize % 300]),
            headers: vec![(b"n".to_vec(), Some(index.to_string().into_bytes())); index as usize % 4],
        })
        .collect();
    let batch = only_batch(builder(&samples).seal(transactional(1, 0, i32::MAX)));
    assert_eq!(samples_of(&batch).unwrap(), samples);
}

#[test]
fn batches_follow_each_other_and_a_cut_one_at_the_end_is_left_out() {
    let parts = small_batches();
    let whole: Bytes = parts.concat().into();
    for cut in 0..parts[1].len() {
        let read: Vec<_> = batches(whole.slice(..whole.len() - cut)).collect();
        let expected = if cut == 0 { 2 } else { 1 };
        assert_eq!(read.len(), expected, "cut by {cut}");
        assert!(read.iter().all(Result::is_ok), "cut by {cut}: {read:?}");
    }
}

#[test]
fn records_borrow_from_the_frame_and_can_be_kept_without_a_copy() {
    let sample = Sample {
        value: Some(b"kept".to_vec()),
        ..Sample::default()
    };
    let sealed = builder(&[sample]).seal(PLAIN);
    let frame = sealed.as_ptr_range();
    let batch = only_batch(sealed);
    let value = batch.records().next().unwrap().unwrap().value.unwrap();
    let kept = batch.slice_ref(value);
    assert_eq!(kept, "kept");
    assert!(frame.contains(&kept.as_ptr()));
    assert_eq!(batch.slice_ref(&value[4..]), "");

    let foreign = BytesMut::from("foreign");
    assert_eq!(batch.slice_ref(&foreign), "foreign");
}
