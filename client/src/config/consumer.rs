//! Settings of a consumer.

use std::time::Duration;

use sealwax_protocol::fetch::IsolationLevel;

/// Settings of a consumer.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConsumerConfig {
    /// `isolation.level`. Default read_committed: who uses this client wants to see what was committed.
    pub isolation_level: IsolationLevel,
    /// `fetch.min.bytes`. Default 1.
    pub fetch_min_bytes: i32,
    /// `fetch.max.bytes`: soft bound of one answer. Default 50 MiB.
    pub fetch_max_bytes: i32,
    /// `max.partition.fetch.bytes`: soft bound of one partition in one answer. Default 1 MiB.
    pub max_partition_fetch_bytes: i32,
    /// `fetch.max.wait.ms`: how long the broker may wait for `fetch_min_bytes`. Default 500 ms.
    pub fetch_max_wait: Duration,
}

impl Default for ConsumerConfig {
    fn default() -> Self {
        Self {
            isolation_level: IsolationLevel::ReadCommitted,
            fetch_min_bytes: 1,
            fetch_max_bytes: 50 * 1024 * 1024,
            max_partition_fetch_bytes: 1024 * 1024,
            fetch_max_wait: Duration::from_millis(500),
        }
    }
}
