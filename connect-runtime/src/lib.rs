//! A slim Kafka Connect runtime: exactly-once sources (KIP-618) out of the box.

pub mod api;
pub mod cli;
pub mod config;
pub mod connectors;
pub mod convert;
pub mod offsets;
pub mod store;
pub mod task;
