//! Tests of the runtime against a scripted peer: a listener on the loopback interface that reads as a conversation.

mod admin;
mod bootstrap;
mod cluster;
mod connection;
mod driver;
mod handshake;
mod peer;
mod producer;
mod wire;

use std::time::Duration;

use crate::config::ClientConfig;

/// Settings with short pauses and a short patience, so that failures come soon.
fn config(servers: &[String]) -> ClientConfig {
    ClientConfig {
        bootstrap_servers: servers.to_vec(),
        reconnect_backoff: Duration::from_millis(1),
        reconnect_backoff_max: Duration::from_millis(5),
        retry_backoff: Duration::from_millis(1),
        retry_backoff_max: Duration::from_millis(5),
        ..ClientConfig::default()
    }
}
