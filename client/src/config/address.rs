//! Broker addresses as people write them: `host:port`, `[ipv6]:port`. Text in, address or an error that says what is allowed out.

use std::fmt;
use std::sync::Arc;

use crate::error::{Error, ErrorKind};

/// Where a broker listens.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Address {
    /// Host name or IP address, without brackets.
    pub(crate) host: Arc<str>,
    /// Port, never 0.
    pub(crate) port: u16,
}

impl Address {
    /// Reads one address.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let refuse = |why: &str| {
            Error::new(
                ErrorKind::Config,
                format!(
                    "bootstrap.servers: {text:?} is not an address: {why}. Allowed are host:port, 192.0.2.1:9092 and [::1]:9092"
                ),
            )
        };
        let (host, port) = text
            .rsplit_once(':')
            .ok_or_else(|| refuse("the port is missing"))?;
        let host = match host.strip_prefix('[') {
            Some(rest) => rest
                .strip_suffix(']')
                .filter(|inner| inner.contains(':'))
                .ok_or_else(|| refuse("the brackets do not enclose an IPv6 address"))?,
            None if host.contains("://") => return Err(refuse("a protocol in front does not belong there")),
            None if host.contains(':') => return Err(refuse("an IPv6 address must stand in brackets")),
            None => host,
        };
        if host.is_empty() {
            return Err(refuse("the host is missing"));
        }
        if host
            .chars()
            .any(|c| !c.is_alphanumeric() && !matches!(c, '.' | '-' | '_' | ':' | '%'))
        {
            return Err(refuse("the host holds a character that host names cannot have"));
        }
        let port = port
            .parse::<u16>()
            .ok()
            .filter(|port| *port != 0)
            .ok_or_else(|| refuse("the port must be a number from 1 to 65535"))?;
        Ok(Self {
            host: host.into(),
            port,
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_both_kinds_of_ip_addresses_are_read_and_shown_alike() {
        for text in [
            "localhost:9092",
            "192.0.2.1:1",
            "[::1]:65535",
            "[fe80::1%eth0]:9092",
            "k_1.b-c:9092",
        ] {
            assert_eq!(Address::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(&*Address::parse("[::1]:9092").unwrap().host, "::1");
    }

    #[test]
    fn what_is_not_an_address_is_named_with_what_is_allowed() {
        for text in [
            "",
            "localhost",
            "localhost:",
            ":9092",
            "localhost:0",
            "localhost:65536",
            "localhost:x",
            "::1:9092",
            "[::1:9092",
            "[]:9092",
            "SSL://localhost:9092",
            "a b:9092",
            "localhost:-1",
        ] {
            let error = Address::parse(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config, "{text}");
            let message = error.to_string();
            assert!(
                message.contains(&format!("{text:?}")) && message.contains("[::1]:9092"),
                "{message}"
            );
        }
    }
}
