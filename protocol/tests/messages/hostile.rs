//! Damaged and hostile frames of every API: a value or an error, never a panic, and memory in proportion to the bytes that came.

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::describe_configs_response::{
    DescribeConfigsResourceResult, DescribeConfigsResult, DescribeConfigsSynonym,
};
use kafka_protocol::messages::{ApiKey, DescribeConfigsResponse};
use proptest::prelude::*;
use sealwax_protocol::ids::CorrelationId;
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;

use crate::samples;

/// Most bytes of memory per byte of a frame: the sizes of the structures in each other on the deepest path, which the
/// `kafka-protocol` crate reserves before it sees an element (own codecs stay below 10).
const BYTES_PER_BYTE: u64 = 400;
/// What even the smallest frame may take: 127 elements at each depth, and the texts of errors.
const BASE_BYTES: u64 = 128 * 1024;

fn response_frames() -> Vec<(ApiKey, i16, Bytes)> {
    let frame = |api, version| {
        samples::response(api, version)
            .encode(version, CorrelationId(5))
            .unwrap()
            .concat()
    };
    samples::spoken()
        .map(|(api, version)| (api, version, frame(api, version).slice(4..)))
        .collect()
}

fn request_frames() -> Vec<Bytes> {
    let frame = |(api, version)| {
        samples::request(api, version)
            .encode(version, CorrelationId(5), "tester")
            .unwrap()
    };
    samples::spoken()
        .map(|sample| frame(sample).concat().slice(4..))
        .collect()
}

fn within_bounds<T>(frame: &Bytes, decode: impl FnOnce(Bytes) -> T) -> T {
    let mut result = None;
    let measured = allocation_counter::measure(|| result = Some(decode(frame.clone())));
    let allowed = BASE_BYTES + BYTES_PER_BYTE * frame.len() as u64;
    assert!(
        measured.bytes_max <= allowed,
        "{} bytes for {} of a frame",
        measured.bytes_max,
        frame.len()
    );
    result.unwrap()
}

fn decode_response(frame: &Bytes, api: ApiKey, version: i16) -> bool {
    within_bounds(frame, |frame| ResponseBody::decode(frame, api, version).is_ok())
}

fn decode_request(frame: &Bytes) -> bool {
    within_bounds(frame, |frame| RequestBody::decode(frame).is_ok())
}

fn damaged(frame: &Bytes) -> impl Iterator<Item = Bytes> {
    (0..frame.len()).flat_map(move |place| {
        (0..=u8::MAX).filter_map(move |byte| {
            let mut damaged = BytesMut::from(&frame[..]);
            let old = std::mem::replace(&mut damaged[place], byte);
            (old != byte).then(|| damaged.freeze())
        })
    })
}

#[test]
fn every_truncation_is_an_error() {
    for (api, version, frame) in response_frames() {
        assert!(decode_response(&frame, api, version));
        for len in 0..frame.len() {
            assert!(
                !decode_response(&frame.slice(..len), api, version),
                "{api:?} {version}: {len} bytes"
            );
        }
    }
    for frame in request_frames() {
        assert!(decode_request(&frame));
        for len in 0..frame.len() {
            assert!(!decode_request(&frame.slice(..len)), "{len} bytes of {frame:?}");
        }
    }
}

#[test]
fn every_damaged_byte_of_a_response_ends_in_a_value_or_an_error() {
    let (mut values, mut errors) = (0, 0);
    let mut frames = response_frames();
    frames.dedup_by(|(api, _, frame), (earlier_api, _, earlier)| api == earlier_api && frame == earlier);
    for (api, version, frame) in frames {
        for damaged in damaged(&frame) {
            if decode_response(&damaged, api, version) {
                values += 1
            } else {
                errors += 1
            }
        }
    }
    assert!(values > 0 && errors > 0, "{values} values, {errors} errors");
}

#[test]
fn every_damaged_byte_of_a_request_ends_in_a_value_or_an_error() {
    let (mut values, mut errors) = (0, 0);
    for frame in request_frames() {
        for damaged in damaged(&frame) {
            if decode_request(&damaged) {
                values += 1
            } else {
                errors += 1
            }
        }
    }
    assert!(values > 0 && errors > 0, "{values} values, {errors} errors");
}

/// A compact count, in two bytes, and a byte more than it counts elements.
const LARGE_COUNT: u16 = 16_001;
const LARGE_COUNT_VARINT: [u8; 2] = [(LARGE_COUNT & 0x7F) as u8 | 0x80, (LARGE_COUNT >> 7) as u8];

/// The largest count that the bytes behind it allow, and larger ones, at every place of every answer.
#[test]
fn a_large_count_anywhere_reserves_in_proportion() {
    for (api, version, frame) in response_frames() {
        for place in 4..frame.len() {
            for count in [
                &LARGE_COUNT_VARINT[..],
                &[0xFF, 0xFF, 0x03],
                &[0xFF, 0xFF, 0xFF, 0xFF, 0x0F],
                &[0x7F],
            ] {
                let mut hostile = BytesMut::from(&frame[..place]);
                hostile.extend_from_slice(count);
                hostile.extend_from_slice(&frame[place..]);
                hostile.resize(place + count.len() + usize::from(LARGE_COUNT) - 1, 0);
                assert!(
                    !decode_response(&hostile.freeze(), api, version),
                    "{api:?} {version} at {place}"
                );
            }
        }
    }
}

/// Three arrays in each other, each with the largest count that still passes: the worst that the rule of the reader lets through.
#[test]
fn large_counts_in_each_other_reserve_in_proportion() {
    let mut hostile = BytesMut::from(&[0, 0, 0, 5, 0, 0, 0, 0, 0][..]);
    for fields_before_the_next_array in [&[0, 0, 0, 2, 1][..], &[1, 0, 0, 0, 0], &[]] {
        hostile.extend_from_slice(&LARGE_COUNT_VARINT);
        hostile.extend_from_slice(fields_before_the_next_array);
    }
    hostile.resize(hostile.len() + usize::from(LARGE_COUNT) - 1, 0);
    let frame = hostile.freeze();
    let measured = allocation_counter::measure(|| {
        assert!(ResponseBody::decode(frame.clone(), ApiKey::DescribeConfigs, 4).is_err());
    });
    let elements = u64::from(LARGE_COUNT);
    assert!(
        measured.bytes_max >= 300 * elements,
        "only {} bytes: some array was not reached",
        measured.bytes_max
    );
    within_bounds(&frame, |frame| {
        ResponseBody::decode(frame, ApiKey::DescribeConfigs, 4).is_err()
    });
}

/// Valid elements that are as small as they can be and as large in memory: a tree for one empty unknown tagged field each.
#[test]
fn many_small_elements_with_unknown_tags_take_memory_in_proportion() {
    let config = DescribeConfigsSynonym::default().with_unknown_tagged_field(9, Bytes::new());
    let result = DescribeConfigsResult::default().with_configs(vec![
        DescribeConfigsResourceResult::default().with_synonyms(vec![config; 5_000]),
    ]);
    let body = ResponseBody::DescribeConfigs(DescribeConfigsResponse::default().with_results(vec![result]));
    let frame = body.encode(4, CorrelationId(5)).unwrap().concat().slice(4..);
    assert!(decode_response(&frame, ApiKey::DescribeConfigs, 4));
}

proptest! {
    #[test]
    fn noise_ends_in_a_value_or_an_error(
        (api, version) in prop::sample::select(samples::spoken().collect::<Vec<_>>()),
        noise in prop::collection::vec(prop_oneof![any::<u8>(), 0u8..4, Just(0xFF)], 0..400),
    ) {
        let mut frame = BytesMut::from(&[0, 0, 0, 5, 0][..]);
        frame.extend_from_slice(&noise);
        decode_response(&frame.freeze(), api, version);
        let mut frame = BytesMut::from(&[0, api as u8, 0, version as u8, 0, 0, 0, 5, 0, 0, 0][..]);
        frame.extend_from_slice(&noise);
        decode_request(&frame.freeze());
    }
}
