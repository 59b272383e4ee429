//! Damaged and hostile frames of every API: a value or an error, never a panic, and memory in proportion to the bytes that came.

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::ApiKey;
use proptest::prelude::*;
use sealwax_protocol::ids::CorrelationId;
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;

use crate::samples;

/// Most bytes of memory per byte of a frame. The largest part is the `kafka-protocol` crate's: a structure with a vector and a tree
/// for unknown tagged fields takes some hundred bytes where a few on the wire are enough.
const BYTES_PER_BYTE: u64 = 256;
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
    for (api, version, frame) in response_frames() {
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

/// The largest counts that the bytes behind them allow, at every place of a frame that is long enough for it to hurt.
#[test]
fn a_huge_count_anywhere_reserves_in_proportion() {
    for (api, version, frame) in response_frames() {
        for place in 4..frame.len() {
            for count in [
                &[0xFF, 0xFF, 0xFF, 0xFF, 0x0F][..],
                &[0xFF, 0xFF, 0x03],
                &[0xFF, 0x7F],
                &[0x7F],
            ] {
                let mut hostile = BytesMut::from(&frame[..place]);
                hostile.extend_from_slice(count);
                hostile.extend_from_slice(&frame[place..]);
                hostile.resize(hostile.len() + 20_000, 0);
                assert!(
                    !decode_response(&hostile.freeze(), api, version),
                    "{api:?} {version} at {place}"
                );
            }
        }
    }
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
