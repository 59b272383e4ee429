//! What a workload did and what it was told, event by event: the input of the [`crate::checker`].
//!
//! An intention is written down before it is acted on, so that an act whose author died is still known. Values are unique in a
//! history: a record that is sent again after an abort is another value.

mod event;
mod journal;
mod json;

pub use event::{Event, Op, Phase, Start};
pub use journal::{Journal, Scribe};
pub use json::{from_line, read, to_line};
