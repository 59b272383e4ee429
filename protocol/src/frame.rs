//! Length-prefixed frames: bytes are pushed in, complete frames come out, the limit is checked before anything is kept.
//! On the way out a frame is a list of parts, so that record batches stay the buffers that they were built in.

use bytes::{Buf, Bytes, BytesMut};

use crate::error::DecodeError;

const LENGTH_BYTES: usize = 4;

/// Room that is made ahead of bytes that did not arrive yet, at least (and at most as much as did arrive).
const CHUNK: usize = 64 * 1024;

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
    /// The frame shares the buffer's memory: a slice that is kept keeps the buffer's block.
    ///
    /// # Errors
    /// A negative length or one above the limit. The connection cannot be used any more then.
    pub fn next_frame(&mut self) -> Result<Option<Bytes>, DecodeError> {
        let Some(prefix) = self.buffer.first_chunk::<LENGTH_BYTES>() else {
            return Ok(None);
        };
        let len = self.checked_len(*prefix)?;
        let missing = LENGTH_BYTES.saturating_add(len).saturating_sub(self.buffer.len());
        if missing > 0 {
            self.buffer.reserve(missing.min(self.buffer.len().max(CHUNK)));
            return Ok(None);
        }
        self.buffer.advance(LENGTH_BYTES);
        Ok(Some(self.buffer.split_to(len).freeze()))
    }

    fn checked_len(&self, prefix: [u8; LENGTH_BYTES]) -> Result<usize, DecodeError> {
        let announced = i32::from_be_bytes(prefix);
        match usize::try_from(announced) {
            Ok(len) if len <= self.max_frame_bytes => Ok(len),
            out_of_range => Err(match (foreign_protocol(prefix), out_of_range) {
                (Some(looks_like), _) => DecodeError::NotKafka { looks_like },
                (None, Ok(len)) => DecodeError::TooLarge {
                    what: "frame",
                    announced: len as u64,
                    allowed: self.max_frame_bytes as u64,
                },
                (None, Err(_)) => DecodeError::Invalid {
                    what: "frame length",
                    value: announced.to_string(),
                },
            }),
        }
    }
}

/// What speaks there, if the first bytes are those of a well-known other protocol. As a length each is far above any sane limit.
fn foreign_protocol(prefix: [u8; LENGTH_BYTES]) -> Option<&'static str> {
    match prefix {
        [b'H', b'T', b'T', b'P'] => Some("an HTTP server"),
        [0x15, 0x03, ..] => Some("a TLS port: encryption must be switched on for this listener"),
        [b'S', b'S', b'H', b'-'] => Some("an SSH server"),
        _ => None,
    }
}

/// A frame ready to be written: its parts in order. Record batches stay the buffers that they were built in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedFrame {
    /// The parts, the first one beginning with the frame's length.
    pub parts: Vec<Bytes>,
    /// Bytes of all parts together.
    pub len: usize,
}

impl EncodedFrame {
    /// All parts in one buffer. A copy, unless there is only one part: for cold paths.
    #[must_use]
    pub fn concat(&self) -> Bytes {
        match self.parts.as_slice() {
            [only] => only.clone(),
            parts => parts.concat().into(),
        }
    }
}
