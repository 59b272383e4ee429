//! A Kafka client in pure Rust whose transactions are its heart.
//!
//! Three floors, imports only downwards: the public API in this folder is thin and async, `runtime/` moves bytes and keeps
//! time (tokio), `machine/` decides (no I/O, no clock, no async). Without the feature `runtime` only the machines are built.

#![cfg_attr(
    not(feature = "runtime"),
    allow(
        dead_code,
        unused_imports,
        reason = "without the runtime nobody here calls the machines: this build only proves that they stand alone"
    )
)]

pub mod config;
pub mod error;
pub(crate) mod machine;
pub mod record;

#[cfg(feature = "runtime")]
pub mod admin;
#[cfg(feature = "runtime")]
mod client;
#[cfg(feature = "runtime")]
mod consumer;
#[cfg(feature = "runtime")]
mod producer;
#[cfg(feature = "runtime")]
pub(crate) mod runtime;
#[cfg(feature = "runtime")]
mod transaction;

pub use error::{Error, ErrorKind, Result};
pub use record::{Header, Record};
pub use sealwax_protocol::error_code::{ErrorClass, ErrorCode};
pub use sealwax_protocol::fetch::IsolationLevel;
pub use sealwax_protocol::ids::{LeaderEpoch, NodeId, ProducerEpoch, ProducerId, TopicPartition};
pub use sealwax_protocol::record::{Headers, RecordRef};

#[cfg(feature = "runtime")]
pub use client::{Client, ClientBuilder};
#[cfg(feature = "runtime")]
pub use consumer::{Consumer, ConsumerBuilder, FetchedRecords, StartOffset};
#[cfg(feature = "runtime")]
pub use producer::{
    Delivery, Producer, ProducerBuilder, RecordMetadata, TransactionalProducer, TransactionalProducerBuilder,
};
#[cfg(feature = "runtime")]
pub use transaction::{CommitError, Committed, Transaction};
