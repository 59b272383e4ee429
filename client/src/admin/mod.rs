//! The administrator: topics, configurations, offsets, transactions. One file per call.
//!
//! Every call tries again, with growing pauses, until `default.api.timeout.ms` is over. Calls over several items give one result for
//! each, in order.

mod abort_transaction;
mod create_topics;
mod describe_cluster;
mod describe_configs;
mod describe_producers;
mod describe_topics;
mod describe_transactions;
mod fence_producers;
mod list_offsets;
mod list_topics;
mod list_transactions;
mod retry;
mod routed;

use std::sync::Arc;

pub use create_topics::NewTopic;
pub use describe_cluster::{ClusterDescription, Node};
pub use describe_topics::{PartitionDescription, TopicDescription};
pub use list_offsets::OffsetSpec;
pub use list_transactions::TransactionFilter;

pub use crate::machine::admin::abort_transaction::AbortTransactionSpec;
pub use crate::machine::admin::describe_producers::ProducerState;
pub use crate::machine::admin::describe_transactions::TransactionDescription;
pub use crate::machine::admin::fence_producers::FencedProducer;
pub use crate::machine::admin::list_transactions::TransactionListing;
pub use crate::machine::admin::transaction_state::TransactionState;
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
