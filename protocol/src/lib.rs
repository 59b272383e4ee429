//! Kafka's wire protocol: bytes to values and back.
//!
//! No I/O, no clock, no async and no logging happens here. Every decoder is bounded: whatever a peer sends, it allocates
//! at most a constant times the bytes that really arrived (see [`byte_buf`] and [`limits`]), and it never panics.
//!
//! Cold APIs use the message types of the `kafka-protocol` crate (re-exported as [`messages`]) in flexible versions only;
//! Produce, Fetch and record batches have codecs of their own.

mod api_versions;
mod body;
pub mod byte_buf;
pub mod error;
pub mod error_code;
pub mod fetch;
mod fields;
pub mod frame;
pub mod ids;
mod leader;
pub mod limits;
pub mod produce;
pub mod record;
pub mod request;
pub mod response;
mod unsigned_varint;
pub mod varint;
pub mod version;

pub use kafka_protocol::messages;
pub use kafka_protocol::messages::ApiKey;
pub use kafka_protocol::protocol::StrBytes;
pub use uuid::Uuid;
