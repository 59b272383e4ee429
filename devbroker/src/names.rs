//! How names and times stand in messages, and the hash that places a key on a partition of an internal topic.

use std::sync::Arc;
use std::time::Duration;

use sealwax_protocol::StrBytes;
use sealwax_protocol::messages::TopicName;

/// The topic of committed offsets, as it stands in a transaction's partitions.
pub(crate) const OFFSETS_TOPIC: &str = "__consumer_offsets";

/// A name in the messages' string type.
pub(crate) fn text(name: &str) -> StrBytes {
    StrBytes::from_string(name.to_owned())
}

/// A topic's name in the messages' type.
pub(crate) fn topic_name(name: &str) -> TopicName {
    TopicName(text(name))
}

/// A shared name from a message's string.
pub(crate) fn shared(name: &StrBytes) -> Arc<str> {
    Arc::from(name.as_str())
}

/// A time as the wire has it.
pub(crate) fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// The partition, of `partitions`, of an internal topic that a group or transactional id belongs to: Java's `String.hashCode`, its sign
/// bit cleared.
pub(crate) fn internal_partition(key: &str, partitions: i32) -> i32 {
    let hash = key.encode_utf16().fold(0_i32, |hash, unit| {
        hash.wrapping_mul(31).wrapping_add(i32::from(unit))
    });
    (hash & i32::MAX) % partitions.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_placed_as_java_places_them() {
        // "hello".hashCode() is 99162322, "polygenelubricants".hashCode() is i32::MIN.
        assert_eq!(internal_partition("hello", i32::MAX), 99_162_322);
        assert_eq!(internal_partition("polygenelubricants", 50), 0);
    }
}
