//! A record to send. It borrows its parts: sending encodes them once, straight into the open batch of the partition.

/// A record's header: a key and a value that may be null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header<'a> {
    /// The key.
    pub key: &'a str,
    /// The value; `None` is null.
    pub value: Option<&'a [u8]>,
}

/// A record to send.
///
/// ```
/// use sealwax::Record;
/// let record = Record::new("orders", "42 crates").key("customer-7");
/// assert_eq!(record.value, Some("42 crates".as_bytes()));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// The topic.
    pub topic: &'a str,
    /// The partition; `None` lets the partitioner choose.
    pub partition: Option<i32>,
    /// Milliseconds since 1970; `None` takes the time of sending.
    pub timestamp: Option<i64>,
    /// The key; `None` is null.
    pub key: Option<&'a [u8]>,
    /// The value; `None` is null (a tombstone in a compacted topic).
    pub value: Option<&'a [u8]>,
    /// The headers, in order; keys may repeat.
    pub headers: &'a [Header<'a>],
}

impl<'a> Record<'a> {
    /// A record with a value and nothing else.
    pub fn new(topic: &'a str, value: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        Self {
            value: Some(value.as_ref()),
            ..Self::tombstone(topic)
        }
    }

    /// A record without a value: in a compacted topic it deletes its key.
    #[must_use]
    pub const fn tombstone(topic: &'a str) -> Self {
        Self {
            topic,
            partition: None,
            timestamp: None,
            key: None,
            value: None,
            headers: &[],
        }
    }

    /// Sets the key.
    #[must_use]
    pub fn key(self, key: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        Self {
            key: Some(key.as_ref()),
            ..self
        }
    }

    /// Sets the partition.
    #[must_use]
    pub const fn partition(self, partition: i32) -> Self {
        Self {
            partition: Some(partition),
            ..self
        }
    }

    /// Sets the timestamp in milliseconds since 1970.
    #[must_use]
    pub const fn timestamp(self, timestamp: i64) -> Self {
        Self {
            timestamp: Some(timestamp),
            ..self
        }
    }

    /// Sets the headers.
    #[must_use]
    pub const fn headers(self, headers: &'a [Header<'a>]) -> Self {
        Self { headers, ..self }
    }
}
