//! ListOffsets (API key 2).

use std::collections::BTreeMap;

use sealwax_protocol::fetch::IsolationLevel;
use sealwax_protocol::ids::TopicPartition;

use crate::admin::Admin;
use crate::error::Result;

/// Which offset is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffsetSpec {
    /// The first offset that the log has.
    Earliest,
    /// The end: the high watermark, or the last stable offset under read_committed.
    Latest,
    /// The first offset whose record is not older than this, in milliseconds since 1970.
    Timestamp(i64),
}

impl Admin {
    /// The offset of each partition. For [`OffsetSpec::Timestamp`] a partition without such a record is left out.
    ///
    /// # Errors
    /// If a partition is unknown, or no answer was had in `default.api.timeout.ms`.
    ///
    /// *Cancel safety*: reads only.
    pub async fn list_offsets(
        &self,
        _partitions: &[(TopicPartition, OffsetSpec)],
        _isolation_level: IsolationLevel,
    ) -> Result<BTreeMap<TopicPartition, i64>> {
        todo!()
    }
}
