//! Settings of a producer.

use std::time::Duration;

/// Settings of a producer. Both kinds are idempotent with `acks=all`; there is nothing to set for that.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ProducerConfig {
    /// `batch.size`: a batch is sent when it holds this many bytes. Default 16 KiB.
    pub batch_size: usize,
    /// `linger.ms`: how long an open batch waits for more records. Default 5 ms.
    pub linger: Duration,
    /// `buffer.memory`: bytes of unsent and unacknowledged batches; above it `send` waits. Default 32 MiB.
    pub buffer_memory: usize,
    /// `max.block.ms`: how long `send` waits for buffer room or a topic's metadata. Default 60 s.
    pub max_block: Duration,
    /// `max.request.size`: largest record, in bytes as encoded. Default 1 MiB.
    pub max_request_size: usize,
    /// `max.in.flight.requests.per.connection`, 1 to 5. Default 5.
    pub max_in_flight: usize,
    /// `delivery.timeout.ms`: how long a record may take from `send` to its result. Default 120 s.
    pub delivery_timeout: Duration,
    /// `transaction.timeout.ms`: after how long the coordinator aborts an open transaction. Default 60 s. Transactional only.
    pub transaction_timeout: Duration,
}

impl Default for ProducerConfig {
    fn default() -> Self {
        Self {
            batch_size: 16 * 1024,
            linger: Duration::from_millis(5),
            buffer_memory: 32 * 1024 * 1024,
            max_block: Duration::from_secs(60),
            max_request_size: 1024 * 1024,
            max_in_flight: 5,
            delivery_timeout: Duration::from_secs(120),
            transaction_timeout: Duration::from_secs(60),
        }
    }
}
