//! Settings, by role. Names are Kafka's keys in snake_case with real types; each is checked once, when the role is built.

mod address;
mod client;
mod client_properties;
mod consumer;
mod partitioner;
mod producer;
mod producer_properties;
mod value;

pub(crate) use address::Address;
pub use client::ClientConfig;
pub use consumer::ConsumerConfig;
pub use partitioner::{Partitioner, Partitioning};
pub use producer::{Acks, EpochBump, ProducerConfig};
