//! The tokio shell: sockets, timers and tasks. No Kafka decision is made here.

pub(crate) mod clock;
pub(crate) mod cluster;
pub(crate) mod driver;
