//! Settings of the shared side of a client, and whether they make sense.

use std::time::Duration;

use crate::config::Address;
use crate::error::{Error, ErrorKind};

/// The shortest time limit that makes sense.
const SHORTEST: Duration = Duration::from_millis(1);

/// The longest time that any setting takes, which is the largest that Java's client takes.
const LONGEST: Duration = Duration::from_millis(i32::MAX as u64);

/// The smallest frame limit that makes sense: Kafka's own default for one batch.
const MIN_RECEIVE_BYTES: usize = 1024 * 1024;

/// Settings of connections and metadata.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ClientConfig {
    /// `bootstrap.servers`: addresses `host:port` that are tried until one answers. One string may hold several, with commas.
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
    /// `connections.max.idle.ms`: a connection unused for this long is closed; the next request opens it again. Default 9 min,
    /// below the broker's 10.
    pub connections_max_idle: Duration,
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
            connections_max_idle: Duration::from_secs(540),
            metadata_max_age: Duration::from_secs(300),
            receive_message_max_bytes: 100 * 1024 * 1024,
        }
    }
}

impl ClientConfig {
    /// The bootstrap addresses, if these and all other settings make sense.
    pub(crate) fn validate(&self) -> Result<Vec<Address>, Error> {
        let durations = [
            ("request.timeout.ms", self.request_timeout, SHORTEST),
            ("default.api.timeout.ms", self.default_api_timeout, SHORTEST),
            (
                "socket.connection.setup.timeout.ms",
                self.socket_connection_setup_timeout,
                SHORTEST,
            ),
            ("connections.max.idle.ms", self.connections_max_idle, SHORTEST),
            ("metadata.max.age.ms", self.metadata_max_age, SHORTEST),
            ("reconnect.backoff.ms", self.reconnect_backoff, Duration::ZERO),
            (
                "reconnect.backoff.max.ms",
                self.reconnect_backoff_max,
                Duration::ZERO,
            ),
            ("retry.backoff.ms", self.retry_backoff, Duration::ZERO),
            ("retry.backoff.max.ms", self.retry_backoff_max, Duration::ZERO),
        ];
        for (key, value, min) in durations {
            if value < min || value > LONGEST {
                return Err(refuse(format!(
                    "{key} is {value:?}; allowed is {min:?} to {LONGEST:?}"
                )));
            }
        }
        let pairs = [
            (
                "reconnect.backoff",
                self.reconnect_backoff,
                self.reconnect_backoff_max,
            ),
            ("retry.backoff", self.retry_backoff, self.retry_backoff_max),
        ];
        if let Some((key, pause, max)) = pairs.into_iter().find(|(_, pause, max)| pause > max) {
            return Err(refuse(format!(
                "{key}.ms is {pause:?}, above {key}.max.ms, which is {max:?}"
            )));
        }
        if self.receive_message_max_bytes < MIN_RECEIVE_BYTES {
            return Err(refuse(format!(
                "the largest frame is set to {} bytes; it must be at least {MIN_RECEIVE_BYTES}",
                self.receive_message_max_bytes
            )));
        }
        if i16::try_from(self.client_id.len()).is_err() {
            return Err(refuse("client.id is longer than 32767 bytes".to_owned()));
        }
        self.addresses()
    }

    /// The bootstrap addresses.
    pub(super) fn addresses(&self) -> Result<Vec<Address>, Error> {
        let addresses = self
            .bootstrap_servers
            .iter()
            .flat_map(|entry| entry.split(','))
            .map(str::trim)
            .filter(|text| !text.is_empty())
            .map(Address::parse)
            .collect::<Result<Vec<_>, _>>()?;
        if addresses.is_empty() {
            return Err(refuse(
                "bootstrap.servers is empty; it must hold at least one host:port".to_owned(),
            ));
        }
        Ok(addresses)
    }
}

fn refuse(message: String) -> Error {
    Error::new(ErrorKind::Config, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_servers(servers: &[&str]) -> ClientConfig {
        ClientConfig {
            bootstrap_servers: servers.iter().map(|&server| server.to_owned()).collect(),
            ..ClientConfig::default()
        }
    }

    #[test]
    fn several_addresses_may_stand_in_one_string() {
        let addresses = with_servers(&["a:1, b:2", "[::1]:3"]).validate().unwrap();
        let shown: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["a:1", "b:2", "[::1]:3"]);
    }

    #[test]
    fn nobody_to_ask_is_an_error() {
        for servers in [&[] as &[&str], &[""], &[" , "]] {
            let error = with_servers(servers).validate().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config);
            assert!(
                error.to_string().contains("bootstrap.servers is empty"),
                "{error}"
            );
        }
    }

    #[test]
    fn settings_that_make_no_sense_are_named() {
        let check = |change: fn(&mut ClientConfig), named: &str| {
            let mut config = with_servers(&["a:1"]);
            change(&mut config);
            let error = config.validate().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config);
            assert!(error.to_string().contains(named), "{error}");
        };
        check(
            |config| config.request_timeout = Duration::ZERO,
            "request.timeout.ms",
        );
        check(
            |config| config.metadata_max_age = Duration::MAX,
            "metadata.max.age.ms",
        );
        check(
            |config| config.retry_backoff = Duration::from_secs(9),
            "retry.backoff.ms is 9s",
        );
        check(|config| config.receive_message_max_bytes = 10, "10 bytes");
        check(|config| config.client_id = "x".repeat(40_000), "client.id");
    }
}
