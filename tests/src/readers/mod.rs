//! Readers that are not ours: Java's console consumer, and librdkafka's consumer and administrator.

mod console;
mod librdkafka;

pub use console::{java, java_places, java_with_keys};
pub use librdkafka::{group_offsets, librdkafka_places};

/// A record where a reader found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The partition.
    pub partition: i32,
    /// The offset.
    pub offset: i64,
    /// The value.
    pub value: String,
}
