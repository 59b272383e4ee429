//! What a cluster is made of: nodes, release, levels of features, delays. Plain data.

use std::time::Duration;

/// Whose behaviour the brokers have, where releases differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Release {
    /// Kafka 3.9: the last before TV2.
    V3_9,
    /// Kafka 4.4.
    V4_4,
}

/// How a cluster is made.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// Nodes, numbered from 1; each is broker and controller. Default 3.
    pub nodes: i32,
    /// The release that all nodes run. Default 4.4; versions of single nodes are capped with [`crate::Cluster::cap_version`].
    pub release: Release,
    /// The finalized level of `transaction.version`: 0 or 1 is TV1, 2 is TV2. Default 2. Kafka 3.9 does not have the feature and
    /// is TV1 whatever stands here.
    pub transaction_version: i16,
    /// How long the coordinator takes from PREPARE (when EndTxn is answered) to the last marker (when the next may begin). Default 2 ms.
    pub marker_delay: Duration,
    /// How long a coordinator that moved says `COORDINATOR_LOAD_IN_PROGRESS`. Default 1 ms.
    pub load_delay: Duration,
    /// `transaction.max.timeout.ms`. Default 15 minutes.
    pub transaction_max_timeout: Duration,
    /// `add.partitions.to.txn.retry.backoff.ms`: the pause of a TV2 leader before it asks the coordinator again. Default 20 ms.
    pub add_partitions_retry_backoff: Duration,
    /// `add.partitions.to.txn.retry.backoff.max.ms`: how long a TV2 leader goes on asking. Default 100 ms.
    pub add_partitions_retry_limit: Duration,
    /// Partitions of each of the internal topics that spread transactional ids and groups over the nodes. Default 3.
    pub internal_partitions: i32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            nodes: 3,
            release: Release::V4_4,
            transaction_version: 2,
            marker_delay: Duration::from_millis(2),
            load_delay: Duration::from_millis(1),
            transaction_max_timeout: Duration::from_secs(15 * 60),
            add_partitions_retry_backoff: Duration::from_millis(20),
            add_partitions_retry_limit: Duration::from_millis(100),
            internal_partitions: 3,
        }
    }
}

impl Settings {
    /// The level of `transaction.version` that is in force.
    pub(crate) fn effective_transaction_version(&self) -> i16 {
        match self.release {
            Release::V3_9 => 0,
            Release::V4_4 => self.transaction_version,
        }
    }
}
