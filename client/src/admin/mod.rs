//! The administrator: topics, configurations, offsets. One file per call.

mod create_topics;
mod describe_cluster;
mod describe_configs;
mod describe_topics;
mod list_offsets;
mod retry;

use std::sync::Arc;

pub use create_topics::NewTopic;
pub use describe_cluster::{ClusterDescription, Node};
pub use describe_topics::{PartitionDescription, TopicDescription};
pub use list_offsets::OffsetSpec;

use crate::runtime::cluster::Cluster;

/// The administrator.
#[derive(Debug, Clone)]
pub struct Admin {
    cluster: Arc<Cluster>,
}

impl Admin {
    pub(crate) fn new(cluster: Arc<Cluster>) -> Self {
        Self { cluster }
    }
}
