//! The tokio shell: sockets, timers and tasks. No Kafka decision is made here.

pub(crate) mod bootstrap;
pub(crate) mod clock;
pub(crate) mod cluster;
pub(crate) mod connection;
pub(crate) mod driver;
pub(crate) mod entropy;
pub(crate) mod handshake;
pub(crate) mod link;
pub(crate) mod lookup;
pub(crate) mod pool;
pub(crate) mod refresh;
pub(crate) mod transport;
pub(crate) mod waiters;
pub(crate) mod wire;

#[cfg(test)]
mod testing;
