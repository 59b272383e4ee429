//! DescribeProducers (API key 61).

use sealwax_protocol::ids::TopicPartition;

use crate::admin::Admin;
use crate::error::Result;
use crate::machine::admin::describe_producers::{DescribeProducers, ProducerState};

impl Admin {
    /// Describes the producers that each partition's leader remembers, in order of the partitions: which of them have a transaction
    /// open there, and since which offset.
    ///
    /// Each result's own errors: the partition is not known, its topic may not be read (operation Read on Topic), or no answer was
    /// had in `default.api.timeout.ms`.
    ///
    /// *Cancel safety*: reads only.
    pub async fn describe_producers(&self, partitions: &[TopicPartition]) -> Vec<Result<Vec<ProducerState>>> {
        self.at_leaders(partitions, DescribeProducers).await
    }
}
