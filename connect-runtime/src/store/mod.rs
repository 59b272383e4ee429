//! State in compacted topics: reading such a topic whole (`log`), and what is in the offsets topic (`offset`).

mod log;
mod offset;

pub use log::{CompactedTopic, ensure_topic, read_to_end};
pub use offset::{MalformedOffset, OffsetTable, SharedOffsets};
