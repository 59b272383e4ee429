//! Length-prefixed frames: bytes are pushed in, complete frames come out, the limit is checked before anything is kept.

use bytes::{Bytes, BytesMut};

use crate::error::DecodeError;

/// Cuts a byte stream into frames.
#[derive(Debug)]
pub struct FrameDecoder {
    max_frame_bytes: usize,
    buffer: BytesMut,
}

impl FrameDecoder {
    /// A decoder that refuses frames above `max_frame_bytes`.
    #[must_use]
    pub fn new(max_frame_bytes: usize) -> Self {
        Self {
            max_frame_bytes,
            buffer: BytesMut::new(),
        }
    }

    /// Where the next bytes from the peer are to be appended.
    pub fn buffer_mut(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// The next complete frame without its length, or `None` until more bytes came.
    ///
    /// # Errors
    /// A negative length or one above the limit. The connection cannot be used any more then.
    pub fn next_frame(&mut self) -> Result<Option<Bytes>, DecodeError> {
        todo!()
    }
}
