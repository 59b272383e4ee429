//! Cutting a stream into frames.

use bytes::{BufMut, Bytes, BytesMut};
use proptest::prelude::*;
use sealwax_protocol::error::DecodeError;
use sealwax_protocol::frame::FrameDecoder;

const LIMIT: usize = 1 << 20;

fn decode(bytes: &[u8]) -> Result<Option<Bytes>, DecodeError> {
    let mut decoder = FrameDecoder::new(LIMIT);
    decoder.buffer_mut().put_slice(bytes);
    decoder.next_frame()
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_frames(
        frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..12),
        chunks in prop::collection::vec(1usize..97, 1..40),
    ) {
        let mut stream = BytesMut::new();
        for frame in &frames {
            stream.put_u32(frame.len() as u32);
            stream.put_slice(frame);
        }
        let mut decoder = FrameDecoder::new(300);
        let mut seen = Vec::new();
        let mut sizes = chunks.iter().cycle();
        while !stream.is_empty() {
            let chunk = stream.split_to(stream.len().min(*sizes.next().unwrap()));
            decoder.buffer_mut().put_slice(&chunk);
            while let Some(frame) = decoder.next_frame().unwrap() {
                seen.push(frame.to_vec());
            }
        }
        prop_assert_eq!(seen, frames);
        prop_assert!(decoder.buffer_mut().is_empty());
    }
}

#[test]
fn the_limit_itself_is_allowed_and_one_more_is_not() {
    let mut frame = (LIMIT as u32).to_be_bytes().to_vec();
    frame.resize(4 + LIMIT, 7);
    assert_eq!(decode(&frame).unwrap().unwrap().len(), LIMIT);
    assert_eq!(
        decode(&(LIMIT as u32 + 1).to_be_bytes()),
        Err(DecodeError::TooLarge {
            what: "frame",
            announced: LIMIT as u64 + 1,
            allowed: LIMIT as u64
        })
    );
}

#[test]
fn a_negative_length_is_refused() {
    assert_eq!(
        decode(&(-1i32).to_be_bytes()),
        Err(DecodeError::Invalid {
            what: "frame length",
            value: "-1".to_owned()
        })
    );
}

#[test]
fn other_protocols_are_named() {
    for (bytes, expected) in [
        (&b"HTTP/1.1 400 Bad Request\r\n"[..], "HTTP server"),
        (&[0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x50], "TLS port"),
        (b"SSH-2.0-OpenSSH", "SSH server"),
    ] {
        let error = decode(bytes).unwrap_err();
        assert!(matches!(error, DecodeError::NotKafka { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn an_announced_length_makes_no_room_for_itself() {
    let announced = 100 * 1024 * 1024_u32;
    let measured = allocation_counter::measure(|| {
        let mut decoder = FrameDecoder::new(announced as usize);
        decoder.buffer_mut().put_slice(&announced.to_be_bytes());
        assert_eq!(decoder.next_frame(), Ok(None));
    });
    assert!(measured.bytes_max <= 128 * 1024, "{} bytes", measured.bytes_max);
}

#[test]
fn growing_room_copies_a_frame_only_a_few_times() {
    let len = 8 * 1024 * 1024_u32;
    let mut stream = BytesMut::new();
    stream.put_u32(len);
    stream.put_bytes(1, len as usize);
    let measured = allocation_counter::measure(|| {
        let mut decoder = FrameDecoder::new(len as usize);
        for chunk in stream.chunks(16 * 1024) {
            decoder.buffer_mut().put_slice(chunk);
            if let Some(frame) = decoder.next_frame().unwrap() {
                assert_eq!(frame.len(), len as usize);
            }
        }
    });
    assert!(
        measured.bytes_total <= 4 * u64::from(len),
        "{} bytes",
        measured.bytes_total
    );
}
