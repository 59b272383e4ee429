//! The consumer without a group: partitions are assigned by hand, positions are the caller's to keep.

use std::sync::Arc;

use sealwax_protocol::fetch::IsolationLevel;
use sealwax_protocol::ids::TopicPartition;
use sealwax_protocol::record::RecordRef;

use crate::config::ConsumerConfig;
use crate::error::Result;
use crate::runtime::cluster::Cluster;

/// Where to begin to read a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartOffset {
    /// The first record that the log still has.
    Earliest,
    /// Behind the last record (behind the last stable one under read_committed).
    Latest,
    /// This offset. If the log does not have it, [`Consumer::next`] reports [`crate::ErrorKind::OffsetOutOfRange`].
    At(i64),
}

/// Settings of a consumer that is about to be built.
#[derive(Debug)]
#[must_use]
pub struct ConsumerBuilder {
    cluster: Arc<Cluster>,
    config: ConsumerConfig,
}

impl ConsumerBuilder {
    pub(crate) fn new(cluster: Arc<Cluster>) -> Self {
        Self {
            cluster,
            config: ConsumerConfig::default(),
        }
    }

    /// `isolation.level`. Default read_committed.
    pub fn isolation_level(mut self, level: IsolationLevel) -> Self {
        self.config.isolation_level = level;
        self
    }

    /// Replaces all settings at once.
    pub fn config(mut self, config: ConsumerConfig) -> Self {
        self.config = config;
        self
    }

    /// Makes the consumer.
    ///
    /// # Errors
    /// If a setting is out of range.
    pub fn build(self) -> Result<Consumer> {
        let _ = (self.cluster, self.config);
        todo!()
    }
}

/// A consumer of assigned partitions.
#[derive(Debug)]
pub struct Consumer {}

impl Consumer {
    /// Replaces the assignment. Positions of partitions that stay are replaced too.
    pub fn assign(&mut self, _partitions: impl IntoIterator<Item = (TopicPartition, StartOffset)>) {
        todo!()
    }

    /// The next records of one partition. Also returns, without records, when a position moved over records that are not
    /// for this reader (aborted ones, transaction markers), so that a caller who reads up to a known end sees it reached.
    ///
    /// # Errors
    /// Errors of one partition (unknown topic, offset out of range, damaged batch) name it; the others can be read on.
    ///
    /// *Cancel safety*: nothing is lost if the future is dropped.
    pub async fn next(&mut self) -> Result<FetchedRecords> {
        todo!()
    }

    /// The offset of the next record to be returned; `None` while it is not known yet (or the partition is not assigned).
    #[must_use]
    pub fn position(&self, _partition: &TopicPartition) -> Option<i64> {
        todo!()
    }

    /// The end of committed data as of the last answer (last stable offset); `None` if not known yet.
    #[must_use]
    pub fn last_stable_offset(&self, _partition: &TopicPartition) -> Option<i64> {
        todo!()
    }

    /// The high watermark as of the last answer; `None` if not known yet.
    #[must_use]
    pub fn high_watermark(&self, _partition: &TopicPartition) -> Option<i64> {
        todo!()
    }
}

/// Records of one partition.
#[derive(Debug)]
pub struct FetchedRecords {}

impl FetchedRecords {
    /// The partition.
    #[must_use]
    pub fn topic_partition(&self) -> &TopicPartition {
        todo!()
    }

    /// The records, decoded one by one without a copy, in order of their offsets.
    pub fn records(&self) -> impl Iterator<Item = Result<RecordRef<'_>>> {
        std::iter::empty()
    }

    /// The position behind these records, and behind whatever else was passed over.
    #[must_use]
    pub fn next_offset(&self) -> i64 {
        todo!()
    }

    /// How many records of aborted transactions were passed over (read_committed only).
    #[must_use]
    pub fn aborted_records(&self) -> u64 {
        todo!()
    }
}
