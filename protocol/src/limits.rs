//! Upper bounds for what a decoder accepts from a peer. A value past its bound is an error, never an allocation.

/// The bounds of one connection's decoders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeLimits {
    /// Largest frame that is read, in bytes, without its 4-byte length. Default 100 MiB (Java's `socket.request.max.bytes`).
    pub max_frame_bytes: usize,
    /// Largest batch after decompression, in bytes. Default 128 MiB.
    pub max_batch_bytes: usize,
}

impl Default for DecodeLimits {
    fn default() -> Self {
        Self {
            max_frame_bytes: 100 * 1024 * 1024,
            max_batch_bytes: 128 * 1024 * 1024,
        }
    }
}
