//! Record batches, format v2 (magic 2): built in place, read lazily and without a copy.
//!
//! On the way out a [`BatchBuilder`] encodes records and seals them; on the way in [`Batches`] cuts a partition's bytes into
//! [`RecordBatch`]es, and [`Records`] decodes one record at a time. Nothing here allocates by a number that a peer sent.

pub mod batch;
pub mod builder;
pub mod control;
pub mod reader;
pub mod records;

pub use batch::{BatchHeader, Compression, TimestampType};
pub use builder::{BatchBuilder, ProducerStamp, control_batch, place, restamp};
pub use control::ControlType;
pub use reader::{Batches, RecordBatch};
pub use records::{Headers, RecordRef, Records};
