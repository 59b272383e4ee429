//! AddPartitionsToTxn, version 3 (V1 only): all new partitions in one request, and what its answer means for each and for all.

use std::collections::BTreeSet;
use std::sync::Arc;

use sealwax_protocol::StrBytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{ProducerIdAndEpoch, TopicPartition};
use sealwax_protocol::messages::add_partitions_to_txn_request::AddPartitionsToTxnTopic;
use sealwax_protocol::messages::{
    AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, TopicName, TransactionalId,
};
use sealwax_protocol::request::RequestBody;

use super::RetryKind;

/// What a partition's code, or all of them together, mean. In rising order of what it costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// Part of the transaction.
    Added,
    /// Not tried because of another partition in the request.
    NotAttempted,
    /// Ask again.
    Retry(RetryKind),
    /// The transaction can only be aborted.
    Abortable,
    /// The same, and the producer id is of no more use without a new epoch.
    AbortableWithBump,
    /// The producer is beyond use.
    Fatal,
    /// Someone else has initialised the transactional id since.
    Fenced,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The partitions that are part of the transaction now.
    pub(crate) added: Vec<TopicPartition>,
    /// The costliest code, and a partition that has it; `None` if all are added.
    pub(crate) worst: Option<(Outcome, ErrorCode, TopicPartition)>,
}

/// The request for all of `partitions`.
pub(crate) fn request(
    transactional_id: &str,
    producer: ProducerIdAndEpoch,
    partitions: &BTreeSet<TopicPartition>,
) -> RequestBody {
    let mut topics: Vec<AddPartitionsToTxnTopic> = Vec::new();
    // Ordered by topic, so that a topic's partitions stand together.
    for partition in partitions {
        match topics.last_mut() {
            Some(topic) if *topic.name.0 == *partition.topic => topic.partitions.push(partition.partition),
            _ => topics.push(
                AddPartitionsToTxnTopic::default()
                    .with_name(TopicName(StrBytes::from_string(partition.topic.to_string())))
                    .with_partitions(vec![partition.partition]),
            ),
        }
    }
    AddPartitionsToTxnRequest::default()
        .with_v3_and_below_transactional_id(TransactionalId(StrBytes::from_string(
            transactional_id.to_owned(),
        )))
        .with_v3_and_below_producer_id(producer.id.0.into())
        .with_v3_and_below_producer_epoch(producer.epoch.0)
        .with_v3_and_below_topics(topics)
        .into()
}

/// The meaning of a partition's code.
pub(crate) const fn classify(code: ErrorCode) -> Outcome {
    match code {
        ErrorCode::NONE => Outcome::Added,
        ErrorCode::OPERATION_NOT_ATTEMPTED => Outcome::NotAttempted,
        ErrorCode::COORDINATOR_NOT_AVAILABLE | ErrorCode::NOT_COORDINATOR => {
            Outcome::Retry(RetryKind::LookUp)
        }
        ErrorCode::COORDINATOR_LOAD_IN_PROGRESS
        | ErrorCode::REQUEST_TIMED_OUT
        | ErrorCode::UNKNOWN_TOPIC_OR_PARTITION => Outcome::Retry(RetryKind::Backoff),
        // Usually the transaction before is being completed still, for a few milliseconds (KAFKA-5477).
        ErrorCode::CONCURRENT_TRANSACTIONS => Outcome::Retry(RetryKind::Concurrent),
        ErrorCode::TOPIC_AUTHORIZATION_FAILED | ErrorCode::TRANSACTION_ABORTABLE => Outcome::Abortable,
        ErrorCode::UNKNOWN_PRODUCER_ID => Outcome::AbortableWithBump,
        ErrorCode::INVALID_PRODUCER_EPOCH | ErrorCode::PRODUCER_FENCED => Outcome::Fenced,
        _ => Outcome::Fatal,
    }
}

/// The meaning of an answer to a request for `asked`. A partition that is missing in it counts as not attempted.
pub(crate) fn read(response: &AddPartitionsToTxnResponse, asked: &BTreeSet<TopicPartition>) -> Answer {
    let mut codes = std::collections::HashMap::new();
    for topic in &response.results_by_topic_v3_and_below {
        let name: Arc<str> = topic.name.0.as_str().into();
        for partition in &topic.results_by_partition {
            let key = TopicPartition::new(Arc::clone(&name), partition.partition_index);
            codes.insert(key, ErrorCode(partition.partition_error_code));
        }
    }
    let mut answer = Answer {
        added: Vec::new(),
        worst: None,
    };
    for partition in asked {
        let code = codes
            .get(partition)
            .copied()
            .unwrap_or(ErrorCode::OPERATION_NOT_ATTEMPTED);
        match classify(code) {
            Outcome::Added => answer.added.push(partition.clone()),
            outcome => {
                if answer.worst.as_ref().is_none_or(|(worst, ..)| *worst < outcome) {
                    answer.worst = Some((outcome, code, partition.clone()));
                }
            }
        }
    }
    answer
}

#[cfg(test)]
mod tests {
    use sealwax_protocol::messages::add_partitions_to_txn_response::{
        AddPartitionsToTxnPartitionResult, AddPartitionsToTxnTopicResult,
    };

    use super::*;

    #[test]
    fn every_code_has_its_meaning() {
        for &code in ErrorCode::ALL {
            let expected = match code.0 {
                0 => Outcome::Added,
                55 => Outcome::NotAttempted,
                15 | 16 => Outcome::Retry(RetryKind::LookUp),
                3 | 7 | 14 => Outcome::Retry(RetryKind::Backoff),
                51 => Outcome::Retry(RetryKind::Concurrent),
                29 | 120 => Outcome::Abortable,
                59 => Outcome::AbortableWithBump,
                47 | 90 => Outcome::Fenced,
                _ => Outcome::Fatal,
            };
            assert_eq!(classify(code), expected, "{code}");
        }
        assert_eq!(classify(ErrorCode(999)), Outcome::Fatal);
    }

    fn response(codes: &[(&str, i32, i16)]) -> AddPartitionsToTxnResponse {
        let topics = codes.iter().map(|(topic, partition, code)| {
            let result = AddPartitionsToTxnPartitionResult::default()
                .with_partition_index(*partition)
                .with_partition_error_code(*code);
            AddPartitionsToTxnTopicResult::default()
                .with_name(TopicName(StrBytes::from_string((*topic).to_owned())))
                .with_results_by_partition(vec![result])
        });
        AddPartitionsToTxnResponse::default().with_results_by_topic_v3_and_below(topics.collect())
    }

    #[test]
    fn the_request_names_each_topic_once() {
        let asked = [("b", 1), ("a", 0), ("b", 0)]
            .map(|(topic, partition)| TopicPartition::new(topic, partition))
            .into();
        let RequestBody::AddPartitionsToTxn(request) = request("t", ProducerIdAndEpoch::NONE, &asked) else {
            panic!("another request");
        };
        let topics: Vec<_> = request
            .v3_and_below_topics
            .iter()
            .map(|topic| (topic.name.0.to_string(), topic.partitions.clone()))
            .collect();
        assert_eq!(topics, [("a".to_owned(), vec![0]), ("b".to_owned(), vec![0, 1])]);
    }

    #[test]
    fn the_real_error_stands_before_not_attempted_and_a_missing_partition_is_not_added() {
        let asked = [("a", 0), ("a", 1), ("b", 0)]
            .map(|(topic, partition)| TopicPartition::new(topic, partition))
            .into();
        let answer = read(&response(&[("a", 0, 55), ("a", 1, 29), ("b", 0, 55)]), &asked);
        assert_eq!(answer.added, []);
        assert_eq!(
            answer.worst,
            Some((
                Outcome::Abortable,
                ErrorCode::TOPIC_AUTHORIZATION_FAILED,
                TopicPartition::new("a", 1)
            ))
        );
        let answer = read(&response(&[("a", 0, 0), ("b", 0, 0)]), &asked);
        assert_eq!(answer.added.len(), 2);
        assert_eq!(answer.worst.unwrap().0, Outcome::NotAttempted);
    }
}
