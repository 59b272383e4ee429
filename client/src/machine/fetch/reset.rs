//! ListOffsets (API key 2): where a partition's log begins and ends, asked of its leader, one request per broker at a time.
//!
//! Asked for a start policy, and for the words of an "out of range" error: the broker that refuses an offset does not say what it has.

use std::collections::BTreeMap;
use std::time::Instant;

use sealwax_protocol::StrBytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{LeaderEpoch, NodeId, TopicPartition};
use sealwax_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use sealwax_protocol::messages::list_offsets_response::ListOffsetsPartitionResponse;
use sealwax_protocol::messages::{BrokerId, ListOffsetsRequest, ListOffsetsResponse, TopicName};
use sealwax_protocol::request::RequestBody;

use crate::error::{Error, ErrorKind};
use crate::machine::fetch::failure::{Reaction, classify, out_of_range, refused};
use crate::machine::fetch::leader::{Leader, find};
use crate::machine::fetch::position::{Position, Question, ResetPolicy, State, Suspicion};
use crate::machine::fetch::{FetchMachine, Request};
use crate::machine::{Lane, Outbound, RequestId};

/// The wire's replica id of a reader that is no broker.
const CONSUMER: BrokerId = BrokerId(-1);

/// The wire's timestamps that stand for an end of the log.
const fn timestamp(policy: ResetPolicy) -> i64 {
    match policy {
        ResetPolicy::Latest => -1,
        ResetPolicy::Earliest => -2,
    }
}

/// What an answer means for one partition.
#[derive(Debug)]
pub(super) enum Answer {
    /// It is to go on in this state.
    Next(State),
    /// To be tried again in this state, after a pause and with newer metadata.
    Again(State),
    /// The application must decide.
    Failed(Error),
}

type Ask = (TopicPartition, LeaderEpoch, Question);

impl FetchMachine {
    /// The next ListOffsets request that is due.
    pub(super) fn next_list_offsets(&mut self, now: Instant) -> Option<Outbound> {
        let (node, asks) = self.open_questions().pop_first()?;
        let id = self.next_id();
        for (name, _, question) in &asks {
            if let Some(partition) = self.partitions.get_mut(name) {
                partition.state = State::Resolving(*question, id);
            }
        }
        let body = RequestBody::from(self.list_offsets_request(&asks));
        let asked = asks.into_iter().map(|(name, ..)| name).collect();
        self.requests.insert(id, Request::ListOffsets { node, asked });
        self.brokers.entry(node).or_default().list_offsets = Some(id);
        Some(self.outbound(id, node, Lane::General, body, now))
    }

    /// The questions that can be asked now, by leader.
    fn open_questions(&self) -> BTreeMap<NodeId, Vec<Ask>> {
        let mut questions = BTreeMap::<NodeId, Vec<Ask>>::new();
        for (name, partition) in &self.partitions {
            let State::Unresolved(question) = partition.state else {
                continue;
            };
            let Leader::Known { node, epoch, .. } = find(&self.cluster, name, partition.topic_id) else {
                continue;
            };
            let is_free = self
                .brokers
                .get(&node)
                .is_none_or(|broker| broker.list_offsets.is_none());
            if partition.is_due() && is_free {
                questions
                    .entry(node)
                    .or_default()
                    .push((name.clone(), epoch, question));
            }
        }
        questions
    }

    fn list_offsets_request(&self, asks: &[Ask]) -> ListOffsetsRequest {
        let mut topics = Vec::<ListOffsetsTopic>::new();
        for (name, epoch, question) in asks {
            let partition = ListOffsetsPartition::default()
                .with_partition_index(name.partition)
                .with_current_leader_epoch(epoch.0)
                .with_timestamp(timestamp(question.policy()));
            // The partitions come sorted, so a topic's stand together.
            match topics.last_mut() {
                Some(topic) if topic.name.0.as_str() == &*name.topic => topic.partitions.push(partition),
                _ => topics.push(
                    ListOffsetsTopic::default()
                        .with_name(TopicName(StrBytes::from_string(name.topic.to_string())))
                        .with_partitions(vec![partition]),
                ),
            }
        }
        ListOffsetsRequest::default()
            .with_replica_id(CONSUMER)
            .with_isolation_level(self.settings.consumer.isolation_level.code())
            .with_topics(topics)
            .with_timeout_ms(i32::try_from(self.settings.request_timeout.as_millis()).unwrap_or(i32::MAX))
    }

    /// Takes in a ListOffsets answer.
    pub(super) fn handle_list_offsets(
        &mut self,
        now: Instant,
        id: RequestId,
        asked: &[TopicPartition],
        response: &ListOffsetsResponse,
    ) {
        let answers: BTreeMap<(&str, i32), &ListOffsetsPartitionResponse> = response
            .topics
            .iter()
            .flat_map(|topic| {
                topic
                    .partitions
                    .iter()
                    .map(|answer| ((topic.name.0.as_str(), answer.partition_index), answer))
            })
            .collect();
        for name in asked {
            let answer = answers.get(&(&*name.topic, name.partition)).copied();
            self.settle_list_offsets(now, id, name, |question| match answer {
                Some(answer) => judge(name, question, answer),
                None => Answer::Again(State::Unresolved(question)),
            });
        }
    }

    /// Moves a partition on, if it waits for an offset by this request.
    pub(super) fn settle_list_offsets(
        &mut self,
        now: Instant,
        id: RequestId,
        name: &TopicPartition,
        verdict: impl FnOnce(Question) -> Answer,
    ) {
        let Some(partition) = self.awaiting(id, name) else {
            return;
        };
        let State::Resolving(question, _) = partition.state else {
            return;
        };
        match verdict(question) {
            Answer::Next(state) => {
                partition.retry.succeed();
                partition.state = state;
            }
            Answer::Again(state) => self.try_again(now, name, state),
            Answer::Failed(error) => self.fail(name, error),
        }
    }
}

/// What an answer means for a partition that asked a question.
fn judge(partition: &TopicPartition, question: Question, answer: &ListOffsetsPartitionResponse) -> Answer {
    let code = ErrorCode(answer.error_code);
    match classify(code) {
        Reaction::Accept if answer.offset >= 0 => {}
        Reaction::Accept | Reaction::Retry => return Answer::Again(State::Unresolved(question)),
        Reaction::OutOfRange | Reaction::Corrupt => {
            return Answer::Failed(refused(ErrorKind::Broker, code, partition));
        }
        Reaction::Fail(kind) => return Answer::Failed(refused(kind, code, partition)),
    }
    match question {
        Question::Start(policy) => Answer::Next(State::Fetchable(Position::new(answer.offset, Some(policy)))),
        Question::LogStart(position) => {
            Answer::Next(State::Unresolved(Question::LogEnd(position, answer.offset)))
        }
        Question::LogEnd(position, start) => range_verdict(partition, position, start, answer.offset),
    }
}

/// A broker that has just become leader may say "out of range" although the log has the offset: that is asked once more.
fn range_verdict(partition: &TopicPartition, position: Position, start: i64, end: i64) -> Answer {
    let is_inside = (start..=end).contains(&position.offset);
    if is_inside && position.suspicion != Some(Suspicion::OutOfRange) {
        return Answer::Again(State::Fetchable(position.suspect(Suspicion::OutOfRange)));
    }
    Answer::Failed(out_of_range(partition, position.offset, start, end))
}
