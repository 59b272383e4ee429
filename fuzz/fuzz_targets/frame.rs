//! Cuts any bytes into frames, pushed in two parts.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sealwax_protocol::frame::FrameDecoder;

const MAX_FRAME_BYTES: usize = 1 << 20;

fuzz_target!(|parts: (&[u8], &[u8])| {
    let mut decoder = FrameDecoder::new(MAX_FRAME_BYTES);
    for part in [parts.0, parts.1] {
        decoder.buffer_mut().extend_from_slice(part);
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) => assert!(frame.len() <= MAX_FRAME_BYTES),
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
});
