//! Record batches, format v2 (magic 2): built in place, read lazily and without a copy.

pub mod batch;
pub mod builder;
pub mod control;
pub mod reader;

pub use batch::{BatchHeader, TimestampType};
pub use builder::{BatchBuilder, ProducerStamp, restamp};
pub use control::ControlType;
pub use reader::{Batches, Headers, RecordBatch, RecordRef, Records};
