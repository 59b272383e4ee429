//! Settings of the shared side of a client.

use std::time::Duration;

/// Settings of connections and metadata.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ClientConfig {
    /// `bootstrap.servers`: addresses `host:port` that are tried until one answers.
    pub bootstrap_servers: Vec<String>,
    /// `client.id`, shown in the broker's logs and quotas. Default `sealwax`.
    pub client_id: String,
    /// `request.timeout.ms`: how long an answer may take. Default 30 s.
    pub request_timeout: Duration,
    /// `default.api.timeout.ms`: how long an admin call may take with all its retries. Default 60 s.
    pub default_api_timeout: Duration,
    /// `socket.connection.setup.timeout.ms`: how long connecting and the version handshake may take. Default 10 s.
    pub socket_connection_setup_timeout: Duration,
    /// `reconnect.backoff.ms`: pause after a failed connection, doubled with each failure. Default 50 ms.
    pub reconnect_backoff: Duration,
    /// `reconnect.backoff.max.ms`: the longest such pause. Default 1 s.
    pub reconnect_backoff_max: Duration,
    /// `retry.backoff.ms`: pause before a request is tried again, doubled with each failure. Default 100 ms.
    pub retry_backoff: Duration,
    /// `retry.backoff.max.ms`: the longest such pause. Default 1 s.
    pub retry_backoff_max: Duration,
    /// `metadata.max.age.ms`: metadata older than this is got anew. Default 5 min.
    pub metadata_max_age: Duration,
    /// Largest frame that is accepted from a broker, in bytes. Default 100 MiB.
    pub receive_message_max_bytes: usize,
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self {
            bootstrap_servers: Vec::new(),
            client_id: "sealwax".to_owned(),
            request_timeout: Duration::from_secs(30),
            default_api_timeout: Duration::from_secs(60),
            socket_connection_setup_timeout: Duration::from_secs(10),
            reconnect_backoff: Duration::from_millis(50),
            reconnect_backoff_max: Duration::from_secs(1),
            retry_backoff: Duration::from_millis(100),
            retry_backoff_max: Duration::from_secs(1),
            metadata_max_age: Duration::from_secs(300),
            receive_message_max_bytes: 100 * 1024 * 1024,
        }
    }
}
