//! Why bytes could not be turned into a value, or a value into bytes.

use thiserror::Error;

/// Bytes from a peer that are not what the protocol allows.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes end inside a field.
    #[error("{what} ends early: {needed} bytes are needed, {remaining} remain")]
    Truncated {
        /// The field or structure that was read.
        what: &'static str,
        /// Bytes that it needs.
        needed: usize,
        /// Bytes that were left.
        remaining: usize,
    },
    /// A length or count is larger than what can follow it.
    #[error("{what} announces {announced}, but at most {allowed} can follow")]
    TooLarge {
        /// The field that was read.
        what: &'static str,
        /// What it says.
        announced: u64,
        /// What the remaining bytes, or the limit, allow.
        allowed: u64,
    },
    /// A field holds a value that the protocol does not know or allow.
    #[error("{what} holds {value}, which is not allowed")]
    Invalid {
        /// The field that was read.
        what: &'static str,
        /// The value as text.
        value: String,
    },
    /// The checksum of a record batch does not fit its bytes.
    #[error(
        "record batch at offset {base_offset} is corrupt: checksum {computed:#010x} computed, {stored:#010x} stored"
    )]
    Corrupt {
        /// Base offset in the batch's header (itself not covered by the checksum).
        base_offset: i64,
        /// CRC-32C of the bytes.
        computed: u32,
        /// CRC-32C in the header.
        stored: u32,
    },
    /// The peer speaks another protocol.
    #[error("the peer is not a Kafka broker's plain listener: this looks like {looks_like}")]
    NotKafka {
        /// What the first bytes are typical of.
        looks_like: &'static str,
    },
    /// Bytes are left over behind a complete value.
    #[error("{extra} bytes are left over behind {what}")]
    TrailingBytes {
        /// The structure that was read.
        what: &'static str,
        /// How many bytes too many.
        extra: usize,
    },
    /// Valid, but not built yet or not offered by this client.
    #[error("{what} is not supported: {detail}")]
    Unsupported {
        /// The feature.
        what: &'static str,
        /// What was met and what can be done.
        detail: String,
    },
    /// A message of the `kafka-protocol` crate refused the bytes.
    #[error("{api} version {version}: {reason}")]
    Message {
        /// The API whose message was read.
        api: &'static str,
        /// The version that was spoken.
        version: i16,
        /// The crate's reason.
        reason: String,
    },
}

/// A value that cannot be written in the wanted version.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// A field is longer than the protocol can say.
    #[error("{what} is {size} bytes long; at most {max} can be sent")]
    TooLarge {
        /// The field.
        what: &'static str,
        /// Its size in bytes.
        size: usize,
        /// The largest size.
        max: usize,
    },
    /// The version on the connection cannot carry the value.
    #[error("{api} version {version} cannot carry {what}")]
    Version {
        /// The API.
        api: &'static str,
        /// The version.
        version: i16,
        /// What does not fit.
        what: &'static str,
    },
    /// A message of the `kafka-protocol` crate refused the value.
    #[error("{api} version {version}: {reason}")]
    Message {
        /// The API whose message was written.
        api: &'static str,
        /// The version.
        version: i16,
        /// The crate's reason.
        reason: String,
    },
}
