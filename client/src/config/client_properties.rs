//! Java's and librdkafka's dotted keys, read into [`ClientConfig`]. Pairs of strings in; settings and the keys of others out.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::value::{MILLIS, invalid, millis, number};
use crate::config::ClientConfig;
use crate::error::{Error, ErrorKind, Result};

/// Kafka's own bound of a frame.
const BYTES: RangeInclusive<u64> = 0..=i32::MAX as u64;

impl ClientConfig {
    /// Reads settings as they stand in a `.properties` file. Keys that are not settings of the shared side of a client come back
    /// in order: they belong to a producer or consumer, or are misspelt, and the caller knows whom to tell.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] names the key, the value and what is allowed. [`ErrorKind::NotBuilt`] if `security.protocol` asks for TLS or
    /// SASL. Whether the values make sense together is checked when the client connects.
    pub fn from_properties<'a>(
        properties: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(Self, Vec<(&'a str, &'a str)>)> {
        let mut config = Self::default();
        let mut others = Vec::new();
        for (key, value) in properties {
            if !config.set(key, value.trim())? {
                others.push((key, value));
            }
        }
        Ok((config, others))
    }

    /// Whether the key is one of these settings.
    fn set(&mut self, key: &str, value: &str) -> Result<bool> {
        if let Some(setting) = self.duration_mut(key) {
            *setting = millis(key, value, &MILLIS)?;
            return Ok(true);
        }
        match key {
            "bootstrap.servers" => self.bootstrap_servers = vec![value.to_owned()],
            "client.id" => self.client_id = value.to_owned(),
            "receive.message.max.bytes" => {
                self.receive_message_max_bytes = number(key, value, &BYTES)?;
            }
            "security.protocol" => security_protocol(value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn duration_mut(&mut self, key: &str) -> Option<&mut Duration> {
        Some(match key {
            "request.timeout.ms" => &mut self.request_timeout,
            "default.api.timeout.ms" => &mut self.default_api_timeout,
            "socket.connection.setup.timeout.ms" => &mut self.socket_connection_setup_timeout,
            "reconnect.backoff.ms" => &mut self.reconnect_backoff,
            "reconnect.backoff.max.ms" => &mut self.reconnect_backoff_max,
            "retry.backoff.ms" => &mut self.retry_backoff,
            "retry.backoff.max.ms" => &mut self.retry_backoff_max,
            "connections.max.idle.ms" => &mut self.connections_max_idle,
            "metadata.max.age.ms" => &mut self.metadata_max_age,
            _ => return None,
        })
    }
}

fn security_protocol(value: &str) -> Result<()> {
    match value.to_ascii_uppercase().as_str() {
        "PLAINTEXT" => Ok(()),
        "SSL" | "SASL_PLAINTEXT" | "SASL_SSL" => Err(Error::new(
            ErrorKind::NotBuilt,
            format!(
                "security.protocol is {value}, but this version of sealwax can only speak PLAINTEXT: TLS and SASL are not built yet"
            ),
        )),
        _ => Err(invalid(
            "security.protocol",
            value,
            "PLAINTEXT (SSL, SASL_PLAINTEXT and SASL_SSL are Kafka's too, but not built yet)",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dotted_keys_are_read_and_those_of_others_come_back() {
        let (config, others) = ClientConfig::from_properties([
            ("bootstrap.servers", "a:1,b:2"),
            ("client.id", "me"),
            ("request.timeout.ms", " 1500 "),
            ("retry.backoff.max.ms", "7"),
            ("linger.ms", "5"),
            ("security.protocol", "plaintext"),
            ("reqest.timeout.ms", "1"),
        ])
        .unwrap();
        assert_eq!(config.addresses().unwrap().len(), 2);
        assert_eq!(config.client_id, "me");
        assert_eq!(config.request_timeout, Duration::from_millis(1500));
        assert_eq!(config.retry_backoff_max, Duration::from_millis(7));
        assert_eq!(others, [("linger.ms", "5"), ("reqest.timeout.ms", "1")]);
    }

    #[test]
    fn a_wrong_value_is_named_with_its_key_and_what_is_allowed() {
        for value in ["", "soon", "-1", "1.5", "4294967296", "2147483648"] {
            let error = ClientConfig::from_properties([("metadata.max.age.ms", value)]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config);
            let message = error.to_string();
            assert!(
                message.contains("metadata.max.age.ms") && message.contains(&format!("{value:?}")),
                "{message}"
            );
        }
    }

    #[test]
    fn encryption_is_not_built_yet_and_says_so() {
        for value in ["SSL", "SASL_SSL", "sasl_plaintext"] {
            let error = ClientConfig::from_properties([("security.protocol", value)]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotBuilt, "{value}");
        }
        let error = ClientConfig::from_properties([("security.protocol", "TLS")]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
    }
}
