//! A Kafka client in pure Rust whose transactions are its heart.
//!
//! ```no_run
//! # async fn first_transaction() -> sealwax::Result<()> {
//! use sealwax::{Client, Record};
//!
//! let client = Client::builder(["localhost:9092"]).connect().await?;
//! let mut producer = client.transactional_producer("orders-1").build().await?; // fences older instances
//! let mut txn = producer.begin().await?; // borrows: a second open transaction does not compile
//! txn.send(Record::new("orders", "42 crates").key("customer-7")).await?;
//! let _proof = txn.commit().await?; // or an error that says aborted, fenced, fatal, or unknown
//! # Ok(())
//! # }
//! ```
//!
//! [`Client`] holds connections and metadata; producers, consumers and the administrator are made from it and share them.
//! [`TransactionalProducer`] and [`Transaction`] write, [`Consumer`] reads (read_committed unless told otherwise), [`admin::Admin`]
//! looks after topics. Every error is an [`Error`] that answers what to do about it; a commit's is a [`CommitError`].
//!
//! # Inside
//!
//! Three floors, imports only downwards: the public API in this folder is thin and async, `runtime/` moves bytes and keeps
//! time (tokio), `machine/` decides (no I/O, no clock, no async). Without the feature `runtime` only the machines are built.

#![cfg_attr(
    not(feature = "runtime"),
    allow(
        dead_code,
        unused_imports,
        unreachable_pub,
        reason = "without the runtime nobody here calls the machines or hands out their values: this build only proves that they stand alone"
    )
)]

pub mod config;
pub mod error;
pub(crate) mod machine;
mod offsets;
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
#[cfg(test)]
mod simulation;
#[cfg(feature = "runtime")]
mod transaction;

#[doc(inline)]
pub use error::{Error, ErrorKind, Result};
#[doc(inline)]
pub use offsets::{ConsumerGroupMetadata, OffsetAndMetadata};
#[doc(inline)]
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
pub use transaction::{CommitError, Committed, Resolution, Transaction};
