//! Fetch answers: what each partition's part means for its position.
//!
//! Parts of partitions that no longer wait for this very answer are passed over: the position has moved meanwhile.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use sealwax_protocol::error::DecodeError;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::fetch::{FetchPartitionResponse, FetchResponse, IsolationLevel};
use sealwax_protocol::ids::{TopicId, TopicPartition};
use sealwax_protocol::limits::DecodeLimits;
use sealwax_protocol::record::reader::Batches;

use crate::error::Error;
use crate::machine::RequestId;
use crate::machine::fetch::FetchMachine;
use crate::machine::fetch::failure::{Damage, Reaction, classify, damaged, refused, unreadable};
use crate::machine::fetch::isolation::{Visible, filter};
use crate::machine::fetch::position::{Backlog, Position, Question, State, Suspicion, Watermarks};
use crate::machine::fetch::request::Asked;

/// What an answer means for one partition.
#[derive(Debug)]
pub(super) enum Verdict {
    /// The position moves.
    Data(Visible),
    /// There is nothing new.
    Nothing,
    /// To be tried again in this state, after a pause and with newer metadata.
    Again(State),
    /// The application must decide.
    Failed(Error),
}

impl FetchMachine {
    /// Takes in a Fetch answer.
    pub(super) fn handle_fetch(
        &mut self,
        now: Instant,
        id: RequestId,
        asked: &[Asked],
        response: FetchResponse,
    ) {
        if response.error_code.is_error() {
            for Asked { partition, .. } in asked {
                self.settle_fetch(now, id, partition, |position| {
                    react(partition, position, response.error_code).unwrap_or(Verdict::Nothing)
                });
            }
            return;
        }
        let names: HashMap<TopicId, &Arc<str>> = asked
            .iter()
            .map(|asked| (asked.topic_id, &asked.partition.topic))
            .collect();
        let level = self.settings.consumer.isolation_level;
        let limits = self.settings.limits;
        for topic in response.topics {
            let name = if topic.id.is_nil() {
                Arc::clone(&topic.name)
            } else if let Some(name) = names.get(&topic.id) {
                Arc::clone(name)
            } else {
                continue;
            };
            for answer in topic.partitions {
                let partition = TopicPartition::new(Arc::clone(&name), answer.index);
                self.note_watermarks(id, &partition, &answer);
                self.settle_fetch(now, id, &partition, |position| {
                    judge(&partition, position, answer, level, limits)
                });
            }
        }
        // Whoever was left out of the answer is asked for again.
        for asked in asked {
            self.settle_fetch(now, id, &asked.partition, |position| {
                Verdict::Again(State::Fetchable(position))
            });
        }
    }

    fn note_watermarks(
        &mut self,
        id: RequestId,
        partition: &TopicPartition,
        answer: &FetchPartitionResponse,
    ) {
        if answer.error_code.is_error() {
            return;
        }
        if let Some(partition) = self.awaiting(id, partition) {
            let known = |offset: i64| (offset >= 0).then_some(offset);
            partition.watermarks = Watermarks {
                high_watermark: known(answer.high_watermark),
                last_stable_offset: known(answer.last_stable_offset),
            };
        }
    }

    /// Moves a partition on, if it waits for data by this request.
    pub(super) fn settle_fetch(
        &mut self,
        now: Instant,
        id: RequestId,
        name: &TopicPartition,
        verdict: impl FnOnce(Position) -> Verdict,
    ) {
        let level = self.settings.consumer.isolation_level;
        let served = self.served + 1;
        let Some(partition) = self.awaiting(id, name) else {
            return;
        };
        let State::Fetching(position, _) = partition.state else {
            return;
        };
        match verdict(position) {
            Verdict::Data(visible) => {
                let end = match level {
                    IsolationLevel::ReadCommitted => partition.watermarks.last_stable_offset,
                    IsolationLevel::ReadUncommitted => partition.watermarks.high_watermark,
                };
                partition.backlog = if end.is_some_and(|end| visible.next_offset < end) {
                    Backlog::More
                } else {
                    Backlog::Unknown
                };
                partition.retry.succeed();
                partition.served = served;
                partition.state = State::Buffered(position, visible);
                self.served = served;
                self.ready.push_back(name.clone());
            }
            Verdict::Nothing => {
                partition.backlog = Backlog::Unknown;
                partition.retry.succeed();
                partition.state = State::Fetchable(Position {
                    suspicion: None,
                    ..position
                });
            }
            Verdict::Again(state) => self.try_again(now, name, state),
            Verdict::Failed(error) => self.fail(name, error),
        }
    }
}

/// What the part of an answer means for a partition at a position.
fn judge(
    partition: &TopicPartition,
    position: Position,
    answer: FetchPartitionResponse,
    level: IsolationLevel,
    limits: DecodeLimits,
) -> Verdict {
    if let Some(verdict) = react(partition, position, answer.error_code) {
        return verdict;
    }
    let is_empty = answer.records.is_empty();
    let batches = Batches::new(answer.records, limits);
    let (visible, error) = filter(batches, position.offset, level, answer.aborted_transactions);
    if visible.is_progress() {
        // If a batch behind was unreadable it is met again, as the first one then.
        return Verdict::Data(visible);
    }
    match error {
        None if is_empty => Verdict::Nothing,
        None => suspect(partition, position, &Damage::OnlyOlder),
        Some(error @ DecodeError::Unsupported { .. }) => {
            Verdict::Failed(unreadable(partition, position.offset, &error))
        }
        Some(error) => suspect(partition, position, &error.into()),
    }
}

/// What an error code means for a partition at a position; `None` if it is none.
fn react(partition: &TopicPartition, position: Position, code: ErrorCode) -> Option<Verdict> {
    Some(match classify(code) {
        Reaction::Accept => return None,
        Reaction::Retry => Verdict::Again(State::Fetchable(position)),
        Reaction::OutOfRange => Verdict::Again(State::Unresolved(match position.policy {
            Some(policy) => Question::Start(policy),
            None => Question::LogStart(position),
        })),
        Reaction::Corrupt => suspect(partition, position, &Damage::Broker(code)),
        Reaction::Fail(kind) => Verdict::Failed(refused(kind, code, partition)),
    })
}

/// Damage may have happened on the way or on one replica, so it is an error only when it is met twice.
pub(super) fn suspect(partition: &TopicPartition, position: Position, damage: &Damage) -> Verdict {
    if position.suspicion == Some(Suspicion::Corrupt) {
        return Verdict::Failed(damaged(partition, position.offset, damage));
    }
    Verdict::Again(State::Fetchable(position.suspect(Suspicion::Corrupt)))
}
