//! ListOffsets (API key 2): each partition is asked at its leader, which the call's own metadata names.
//!
//! Rounds: [`ListOffsets::metadata_request`] → [`ListOffsets::route`] → the requests → [`ListOffsets::take`] for each answer, until
//! [`ListOffsets::is_done`]. The metadata never creates a topic.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sealwax_protocol::StrBytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::fetch::IsolationLevel;
use sealwax_protocol::ids::{NodeId, TopicPartition};
use sealwax_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use sealwax_protocol::messages::{
    BrokerId, ListOffsetsRequest, MetadataRequest, MetadataResponse, TopicName,
};
use sealwax_protocol::response::ResponseBody;

use crate::error::{Error, Result};
use crate::machine::admin::leaders::{leader, name};
use crate::machine::admin::{Verdict, describe_topics, unexpected, verdict};

/// The wire's "the end".
pub(crate) const LATEST: i64 = -1;
/// The wire's "the beginning".
pub(crate) const EARLIEST: i64 = -2;

/// How often a topic must be told unknown before it is believed: a broker may not have heard of a new topic yet.
const UNKNOWN_BEFORE_BELIEVED: u32 = 3;

/// One call.
#[derive(Debug)]
pub(crate) struct ListOffsets {
    isolation_level: IsolationLevel,
    timeout: Duration,
    open: BTreeMap<TopicPartition, i64>,
    found: BTreeMap<TopicPartition, i64>,
    rounds_unknown: u32,
    last: Option<Error>,
}

impl ListOffsets {
    /// A call for partitions with the timestamp (or [`LATEST`], [`EARLIEST`]) that is asked for.
    pub(crate) fn new(
        partitions: impl Iterator<Item = (TopicPartition, i64)>,
        isolation_level: IsolationLevel,
        timeout: Duration,
    ) -> Self {
        Self {
            isolation_level,
            timeout,
            open: partitions.collect(),
            found: BTreeMap::new(),
            rounds_unknown: 0,
            last: None,
        }
    }

    /// Whether every partition is answered.
    pub(crate) fn is_done(&self) -> bool {
        self.open.is_empty()
    }

    /// The offsets. A partition that has no such offset is left out.
    pub(crate) fn into_offsets(self) -> BTreeMap<TopicPartition, i64> {
        self.found
    }

    /// Why the call is not done.
    pub(crate) fn last_reason(&self) -> Option<&Error> {
        self.last.as_ref()
    }

    /// An attempt failed, and another one may help.
    pub(crate) fn postpone(&mut self, reason: Error) {
        self.last = Some(reason);
    }

    /// Asks who leads the open partitions.
    pub(crate) fn metadata_request(&self) -> MetadataRequest {
        let topics: BTreeSet<&str> = self.open.keys().map(|partition| &*partition.topic).collect();
        describe_topics::request(&topics.into_iter().collect::<Vec<_>>())
    }

    /// A request for each leader of open partitions.
    ///
    /// # Errors
    /// If a partition is unknown or may not be described.
    pub(crate) fn route(&mut self, response: &MetadataResponse) -> Result<Vec<(NodeId, ListOffsetsRequest)>> {
        let mut by_leader: BTreeMap<NodeId, BTreeMap<&str, Vec<ListOffsetsPartition>>> = BTreeMap::new();
        let mut unknown = None;
        let mut last = None;
        for (partition, timestamp) in &self.open {
            match leader(response, partition) {
                Verdict::Done(leader) => {
                    let entry = ListOffsetsPartition::default()
                        .with_partition_index(partition.partition)
                        .with_current_leader_epoch(-1)
                        .with_timestamp(*timestamp);
                    let topics = by_leader.entry(leader).or_default();
                    topics.entry(&*partition.topic).or_default().push(entry);
                }
                Verdict::Again(error) => last = Some(error),
                Verdict::Failed(error) if error.code() == Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION) => {
                    unknown = Some(error);
                }
                Verdict::Failed(error) => return Err(error),
            }
        }
        let requests = by_leader
            .into_iter()
            .map(|(leader, topics)| (leader, self.request(topics)))
            .collect();
        match unknown {
            Some(error) => {
                self.rounds_unknown = self.rounds_unknown.saturating_add(1);
                if self.rounds_unknown >= UNKNOWN_BEFORE_BELIEVED {
                    return Err(error);
                }
                self.last = Some(error);
            }
            None => self.last = last,
        }
        Ok(requests)
    }

    /// Takes a leader's answer.
    ///
    /// # Errors
    /// If a partition is refused.
    pub(crate) fn take(&mut self, body: ResponseBody) -> Result<()> {
        let ResponseBody::ListOffsets(response) = body else {
            return Err(unexpected("ListOffsets", &body));
        };
        for topic in &response.topics {
            for answer in &topic.partitions {
                let partition = TopicPartition::new(topic.name.0.as_str(), answer.partition_index);
                if !self.open.contains_key(&partition) {
                    continue;
                }
                let code = ErrorCode(answer.error_code);
                let what = format!("the offset of {} cannot be told", name(&partition));
                match verdict(code, &what, None, answer.offset) {
                    Verdict::Done(offset) => {
                        self.open.remove(&partition);
                        if offset >= 0 {
                            self.found.insert(partition, offset);
                        }
                    }
                    // The leader has moved, or has not heard of the partition yet: the next metadata will tell.
                    Verdict::Again(error) => self.last = Some(error),
                    Verdict::Failed(error) if code.is_retriable() => self.last = Some(error),
                    Verdict::Failed(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    fn request(&self, topics: BTreeMap<&str, Vec<ListOffsetsPartition>>) -> ListOffsetsRequest {
        let topic = |(name, partitions): (&str, Vec<ListOffsetsPartition>)| {
            ListOffsetsTopic::default()
                .with_name(TopicName(StrBytes::from_string(name.to_owned())))
                .with_partitions(partitions)
        };
        ListOffsetsRequest::default()
            .with_replica_id(BrokerId(-1))
            .with_isolation_level(self.isolation_level.code())
            .with_timeout_ms(i32::try_from(self.timeout.as_millis()).unwrap_or(i32::MAX))
            .with_topics(topics.into_iter().map(topic).collect())
    }
}

#[cfg(test)]
mod tests;
