//! Producers: the one without transactions and the transactional one, and the delivery of a record.

mod core;
mod delivery;
mod idempotent;
mod settings;
mod transactional;

pub(crate) use self::core::Core;
pub use self::delivery::{Delivery, RecordMetadata};
pub use self::idempotent::{Producer, ProducerBuilder};
pub use self::transactional::{TransactionalProducer, TransactionalProducerBuilder};
