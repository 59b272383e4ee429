//! TxnOffsetCommit (versions 3 and 4 under V1, 5 under V2), which goes to the group's coordinator: the request, and what an answer
//! means for each partition and for all.

use std::collections::HashMap;

use sealwax_protocol::StrBytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{LeaderEpoch, ProducerIdAndEpoch, TopicPartition};
use sealwax_protocol::messages::txn_offset_commit_request::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use sealwax_protocol::messages::{
    GroupId, TopicName, TransactionalId, TxnOffsetCommitRequest, TxnOffsetCommitResponse,
};
use sealwax_protocol::request::RequestBody;

use super::RetryKind;
use super::offsets::SentOffsets;
use super::version::TransactionVersion;

/// What a partition's code, or all of them together, mean. In rising order of what it costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// Part of the transaction.
    Accepted,
    /// Ask again.
    Retry(RetryKind),
    /// The transaction can only be aborted.
    Abortable,
    /// The same: it has been ended by someone else, and the transaction coordinator will say by whom.
    EndedByAnother,
    /// The same: the offsets are those of a member that the group has gone on without.
    CommitFailed,
    /// The same, for lack of permission on the topic.
    TopicUnauthorized,
    /// The same, for lack of permission on the group.
    GroupUnauthorized,
    /// The producer is beyond use.
    Fatal,
    /// Someone else has initialised the transactional id since.
    Fenced,
}

/// The request.
pub(crate) fn request(
    transactional_id: &str,
    producer: ProducerIdAndEpoch,
    sent: &SentOffsets,
) -> RequestBody {
    let mut topics: Vec<TxnOffsetCommitRequestTopic> = Vec::new();
    // Ordered by topic, so that a topic's partitions stand together.
    for (partition, committed) in &sent.offsets {
        let part = TxnOffsetCommitRequestPartition::default()
            .with_partition_index(partition.partition)
            .with_committed_offset(committed.offset)
            .with_committed_leader_epoch(committed.leader_epoch.map_or(-1, |LeaderEpoch(epoch)| epoch))
            .with_committed_metadata(Some(StrBytes::from_string(committed.metadata.clone())));
        match topics.last_mut() {
            Some(topic) if *topic.name.0 == *partition.topic => topic.partitions.push(part),
            _ => topics.push(
                TxnOffsetCommitRequestTopic::default()
                    .with_name(TopicName(StrBytes::from_string(partition.topic.to_string())))
                    .with_partitions(vec![part]),
            ),
        }
    }
    let group = &sent.group;
    let instance = group.group_instance_id.clone().map(StrBytes::from_string);
    TxnOffsetCommitRequest::default()
        .with_transactional_id(TransactionalId(StrBytes::from_string(
            transactional_id.to_owned(),
        )))
        .with_group_id(GroupId(StrBytes::from_string(group.group_id.clone())))
        .with_producer_id(producer.id.0.into())
        .with_producer_epoch(producer.epoch.0)
        .with_generation_id(group.generation_id)
        .with_member_id(StrBytes::from_string(group.member_id.clone()))
        .with_group_instance_id(instance)
        .with_topics(topics)
        .into()
}

/// The meaning of a partition's code.
pub(crate) const fn classify(code: ErrorCode, version: TransactionVersion) -> Outcome {
    match code {
        ErrorCode::NONE => Outcome::Accepted,
        // A group coordinator that timed out may have moved.
        ErrorCode::COORDINATOR_NOT_AVAILABLE | ErrorCode::NOT_COORDINATOR | ErrorCode::REQUEST_TIMED_OUT => {
            Outcome::Retry(RetryKind::LookUp)
        }
        ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
        | ErrorCode::UNKNOWN_TOPIC_OR_PARTITION
        | ErrorCode::UNSTABLE_OFFSET_COMMIT => Outcome::Retry(RetryKind::Backoff),
        ErrorCode::CONCURRENT_TRANSACTIONS => Outcome::Retry(RetryKind::Concurrent),
        ErrorCode::TRANSACTION_ABORTABLE
        | ErrorCode::OFFSET_METADATA_TOO_LARGE
        | ErrorCode::INVALID_COMMIT_OFFSET_SIZE
        | ErrorCode::INVALID_GROUP_ID => Outcome::Abortable,
        ErrorCode::ILLEGAL_GENERATION
        | ErrorCode::UNKNOWN_MEMBER_ID
        | ErrorCode::GROUP_ID_NOT_FOUND
        | ErrorCode::STALE_MEMBER_EPOCH
        | ErrorCode::FENCED_INSTANCE_ID => Outcome::CommitFailed,
        ErrorCode::TOPIC_AUTHORIZATION_FAILED => Outcome::TopicUnauthorized,
        ErrorCode::GROUP_AUTHORIZATION_FAILED => Outcome::GroupUnauthorized,
        ErrorCode::INVALID_PRODUCER_EPOCH => match version {
            TransactionVersion::V1 => Outcome::Fenced,
            // Under V2 a transaction that timed out looks like this too, and can be recovered from.
            TransactionVersion::V2 => Outcome::EndedByAnother,
        },
        ErrorCode::PRODUCER_FENCED => Outcome::Fenced,
        _ => Outcome::Fatal,
    }
}

/// The costliest code of an answer, and a partition that has it; `None` if all offsets were accepted. A partition that is missing in
/// the answer is asked for again.
pub(crate) fn read(
    response: &TxnOffsetCommitResponse,
    sent: &SentOffsets,
    version: TransactionVersion,
) -> Option<(Outcome, ErrorCode, TopicPartition)> {
    let mut codes = HashMap::new();
    for topic in &response.topics {
        for part in &topic.partitions {
            codes.insert(
                (topic.name.0.as_str(), part.partition_index),
                ErrorCode(part.error_code),
            );
        }
    }
    let mut worst: Option<(Outcome, ErrorCode, TopicPartition)> = None;
    for partition in sent.offsets.keys() {
        let code = codes.get(&(&*partition.topic, partition.partition)).copied();
        let (outcome, code) = match code {
            Some(code) => (classify(code, version), code),
            None => (
                Outcome::Retry(RetryKind::Backoff),
                ErrorCode::UNKNOWN_SERVER_ERROR,
            ),
        };
        if outcome != Outcome::Accepted && worst.as_ref().is_none_or(|(known, ..)| *known < outcome) {
            worst = Some((outcome, code, partition.clone()));
        }
    }
    worst
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sealwax_protocol::messages::txn_offset_commit_response::{
        TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic,
    };

    use super::*;
    use crate::machine::testing::harness::instant;
    use crate::offsets::{ConsumerGroupMetadata, OffsetAndMetadata};

    const VERSIONS: [TransactionVersion; 2] = [TransactionVersion::V1, TransactionVersion::V2];

    #[test]
    fn every_code_has_its_meaning() {
        for version in VERSIONS {
            for code in ErrorCode::ALL.iter().copied().chain([ErrorCode(999)]) {
                let expected = match (code.0, version) {
                    (0, _) => Outcome::Accepted,
                    (7 | 15 | 16, _) => Outcome::Retry(RetryKind::LookUp),
                    (3 | 14 | 88, _) => Outcome::Retry(RetryKind::Backoff),
                    (51, _) => Outcome::Retry(RetryKind::Concurrent),
                    (12 | 24 | 28 | 120, _) => Outcome::Abortable,
                    (22 | 25 | 69 | 82 | 113, _) => Outcome::CommitFailed,
                    (29, _) => Outcome::TopicUnauthorized,
                    (30, _) => Outcome::GroupUnauthorized,
                    (47, TransactionVersion::V2) => Outcome::EndedByAnother,
                    (47, TransactionVersion::V1) | (90, _) => Outcome::Fenced,
                    _ => Outcome::Fatal,
                };
                assert_eq!(classify(code, version), expected, "{code} {version:?}");
            }
        }
    }

    fn sent() -> SentOffsets {
        let mut with_epoch = OffsetAndMetadata::new(7);
        with_epoch.leader_epoch = Some(LeaderEpoch(3));
        with_epoch.metadata = "seen".to_owned();
        SentOffsets {
            group: ConsumerGroupMetadata {
                group_id: "g".to_owned(),
                generation_id: 5,
                member_id: "m".to_owned(),
                group_instance_id: Some("i".to_owned()),
            },
            offsets: [
                (TopicPartition::new("b", 0), OffsetAndMetadata::new(1)),
                (TopicPartition::new("a", 1), with_epoch),
                (TopicPartition::new("b", 2), OffsetAndMetadata::new(2)),
            ]
            .into(),
            until: instant() + Duration::from_secs(1),
        }
    }

    #[test]
    fn the_request_names_each_topic_once_and_the_member_in_full() {
        let RequestBody::TxnOffsetCommit(request) = request("t", ProducerIdAndEpoch::NONE, &sent()) else {
            panic!("another request");
        };
        let topics: Vec<_> = request
            .topics
            .iter()
            .map(|topic| (topic.name.0.to_string(), topic.partitions.len()))
            .collect();
        assert_eq!(topics, [("a".to_owned(), 1), ("b".to_owned(), 2)]);
        let part = &request.topics[0].partitions[0];
        assert_eq!(
            (
                part.committed_offset,
                part.committed_leader_epoch,
                part.committed_metadata.as_deref()
            ),
            (7, 3, Some("seen"))
        );
        assert_eq!(request.topics[1].partitions[0].committed_leader_epoch, -1);
        assert_eq!((request.generation_id, request.member_id.as_str()), (5, "m"));
        assert_eq!(request.group_instance_id.as_deref(), Some("i"));
    }

    #[test]
    fn the_costliest_code_decides_and_a_missing_partition_is_asked_for_again() {
        let response = |codes: &[(&'static str, i32, i16)]| {
            let topics = codes.iter().map(|(topic, index, code)| {
                let part = TxnOffsetCommitResponsePartition::default()
                    .with_partition_index(*index)
                    .with_error_code(*code);
                TxnOffsetCommitResponseTopic::default()
                    .with_name(TopicName(StrBytes::from_static_str(topic)))
                    .with_partitions(vec![part])
            });
            TxnOffsetCommitResponse::default().with_topics(topics.collect())
        };
        let version = TransactionVersion::V2;
        let all = response(&[("a", 1, 0), ("b", 0, 0), ("b", 2, 0)]);
        assert_eq!(read(&all, &sent(), version), None);
        let mixed = response(&[("a", 1, 0), ("b", 0, 3), ("b", 2, 22)]);
        assert_eq!(
            read(&mixed, &sent(), version),
            Some((
                Outcome::CommitFailed,
                ErrorCode::ILLEGAL_GENERATION,
                TopicPartition::new("b", 2)
            ))
        );
        let short = response(&[("a", 1, 0), ("b", 0, 0)]);
        let (outcome, _, partition) = read(&short, &sent(), version).unwrap();
        assert_eq!(outcome, Outcome::Retry(RetryKind::Backoff));
        assert_eq!(partition, TopicPartition::new("b", 2));
    }
}
