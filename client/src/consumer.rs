//! The consumer without a group: partitions are assigned by hand, positions are the caller's to keep.
//!
//! In: assignments and seeks. Out: what was fetched, one partition at a time. The deciding is done by the fetch machine.

use std::sync::Arc;

use sealwax_protocol::fetch::IsolationLevel;
use sealwax_protocol::ids::TopicPartition;
use sealwax_protocol::limits::DecodeLimits;
use sealwax_protocol::record::RecordRef;

use crate::config::ConsumerConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::machine::fetch::{
    FetchMachine, FetchSettings, FetchedPartition, ResetPolicy, Start, VisibleRecords, malformed_record,
};
use crate::runtime::cluster::Cluster;
use crate::runtime::driver::DriverHandle;
use crate::runtime::entropy;

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

impl From<StartOffset> for Start {
    fn from(start: StartOffset) -> Self {
        match start {
            StartOffset::Earliest => Self::Policy(ResetPolicy::Earliest),
            StartOffset::Latest => Self::Policy(ResetPolicy::Latest),
            StartOffset::At(offset) => Self::At(offset),
        }
    }
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

    /// Makes the consumer. Nothing is fetched before partitions are assigned.
    ///
    /// # Errors
    /// If a setting is out of range, or `fetch.max.bytes` does not fit into the largest frame that the client takes.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn build(self) -> Result<Consumer> {
        let client = self.cluster.config();
        self.config.validate(client.receive_message_max_bytes)?;
        let settings = FetchSettings {
            request_timeout: client.request_timeout,
            backoff: self.cluster.retry_backoff(),
            limits: DecodeLimits {
                max_frame_bytes: client.receive_message_max_bytes,
                ..DecodeLimits::default()
            },
            consumer: self.config,
        };
        let machine = FetchMachine::new(settings, entropy::rng());
        let driver = DriverHandle::spawn(self.cluster, machine, |event| match event {});
        Ok(Consumer { driver })
    }
}

/// A consumer of assigned partitions.
///
/// Data of a partition is fetched ahead while the application works on what it took before, one answer at a time. Memory: per broker
/// one answer on its way (`receive_message_max_bytes` at most, `fetch_max_bytes` as a rule), per partition what one answer brought
/// (`max_partition_fetch_bytes` as a rule, one batch at least), and every [`FetchedRecords`] that the application keeps holds on to
/// the frame of its answer.
///
/// An error of a partition halts that partition, and only that: it is not fetched again before [`Consumer::seek`] or
/// [`Consumer::assign`] names it. Trouble that time may mend (a broker that is down, a leader that moves) is no error; it is waited for
/// without end, so a caller with a deadline puts a timeout around [`Consumer::next`].
#[derive(Debug)]
pub struct Consumer {
    driver: DriverHandle<FetchMachine>,
}

impl Consumer {
    /// Replaces the assignment. Positions of partitions that stay are replaced too, and what was fetched ahead is dropped.
    pub fn assign(&mut self, partitions: impl IntoIterator<Item = (TopicPartition, StartOffset)>) {
        let partitions: Vec<_> = partitions
            .into_iter()
            .map(|(partition, start)| (partition, start.into()))
            .collect();
        self.driver.with(|machine, now| machine.assign(now, partitions));
    }

    /// Goes on elsewhere in an assigned partition, also in one that an error has halted. What was fetched ahead of it is dropped.
    ///
    /// # Errors
    /// If the partition is not assigned.
    pub fn seek(&mut self, partition: &TopicPartition, start: StartOffset) -> Result<()> {
        if self
            .driver
            .with(|machine, now| machine.seek(now, partition, start.into()))
        {
            return Ok(());
        }
        let text = format!("partition {partition} is not assigned, so there is nothing to seek in");
        Err(Error::new(ErrorKind::InvalidState, text))
    }

    /// The assigned partitions, sorted.
    #[must_use]
    pub fn assignment(&self) -> Vec<TopicPartition> {
        self.driver
            .with_quietly(|machine, _| machine.assignment().cloned().collect())
    }

    /// The next records of one partition. Also returns, without records, when a position moved over records that are not
    /// for this reader (aborted ones, transaction markers), so that a caller who reads up to a known end sees it reached.
    /// Partitions take turns.
    ///
    /// # Errors
    /// Errors of one partition name it and halt it; the others can be read on:
    /// - [`ErrorKind::UnknownTopic`]: the cluster has said for 10 s that there is no such partition, or the topic was deleted and
    ///   created again since it was assigned.
    /// - [`ErrorKind::OffsetOutOfRange`]: the log does not have the position. A position that came from
    ///   [`StartOffset::Earliest`] or [`StartOffset::Latest`] and from which nothing was read yet is looked up again instead.
    /// - [`ErrorKind::Corrupt`]: the batch at the position was unreadable, and again when it was fetched anew. It is never skipped.
    /// - [`ErrorKind::NotBuilt`]: the batch at the position is of a kind that this client cannot read yet.
    /// - [`ErrorKind::Authorization`] and [`ErrorKind::Broker`]: the broker refuses.
    ///
    /// [`ErrorKind::InvalidState`] if no partition is assigned, or an error has halted every one: nothing would ever come.
    ///
    /// *Cancel safety*: nothing is lost if the future is dropped: records are taken in the moment in which they are returned.
    pub async fn next(&mut self) -> Result<FetchedRecords> {
        self.driver
            .wait_for(|machine, now| machine.take(now))
            .await
            .map(|fetched| FetchedRecords { fetched })
    }

    /// The offset of the next record to be returned; `None` while it is not known yet (or the partition is not assigned).
    /// After [`Consumer::next`] gave records it is their [`FetchedRecords::next_offset`].
    #[must_use]
    pub fn position(&self, partition: &TopicPartition) -> Option<i64> {
        self.driver.with_quietly(|machine, _| machine.position(partition))
    }

    /// The end of committed data as of the last answer (last stable offset); `None` if not known yet.
    #[must_use]
    pub fn last_stable_offset(&self, partition: &TopicPartition) -> Option<i64> {
        self.driver
            .with_quietly(|machine, _| machine.last_stable_offset(partition))
    }

    /// The high watermark as of the last answer; `None` if not known yet.
    #[must_use]
    pub fn high_watermark(&self, partition: &TopicPartition) -> Option<i64> {
        self.driver
            .with_quietly(|machine, _| machine.high_watermark(partition))
    }
}

/// Records of one partition: slices of the answer that brought them, whose memory they hold.
#[derive(Debug, Clone)]
pub struct FetchedRecords {
    fetched: FetchedPartition,
}

impl FetchedRecords {
    /// The partition.
    #[must_use]
    pub fn topic_partition(&self) -> &TopicPartition {
        &self.fetched.partition
    }

    /// The records, decoded one by one without a copy, in order of their offsets. Ends after the first error: a record that its
    /// producer wrote against the format ([`ErrorKind::Corrupt`]). The position is behind it then; seek to read on elsewhere.
    pub fn records(&self) -> impl Iterator<Item = Result<RecordRef<'_>>> {
        Decoded {
            partition: &self.fetched.partition,
            records: self.fetched.records(),
        }
    }

    /// How many records there are, by the headers of their batches: exact, except that a first batch which begins below the
    /// position is counted whole.
    #[must_use]
    pub fn record_count_hint(&self) -> usize {
        self.fetched.record_count_hint()
    }

    /// The position behind these records, and behind whatever else was passed over (KIP-1094).
    #[must_use]
    pub fn next_offset(&self) -> i64 {
        self.fetched.visible.next_offset
    }

    /// How many records of aborted transactions were passed over (read_committed only).
    #[must_use]
    pub fn aborted_records(&self) -> u64 {
        self.fetched.visible.aborted_records
    }
}

struct Decoded<'a> {
    partition: &'a TopicPartition,
    records: VisibleRecords<'a>,
}

impl<'a> Iterator for Decoded<'a> {
    type Item = Result<RecordRef<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.records.next()?;
        Some(record.map_err(|(offset, reason)| malformed_record(self.partition, offset, &reason)))
    }
}
