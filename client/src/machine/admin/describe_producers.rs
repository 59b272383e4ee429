//! DescribeProducers (API key 61): the producers that a partition's leader remembers. Any replica could answer; the leader is asked,
//! because only it is sure to be up to date.

use std::collections::BTreeMap;

use sealwax_protocol::StrBytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{NodeId, ProducerEpoch, ProducerId, TopicPartition};
use sealwax_protocol::messages::describe_producers_request::TopicRequest;
use sealwax_protocol::messages::describe_producers_response::{PartitionResponse, ProducerState as Answer};
use sealwax_protocol::messages::{DescribeProducersRequest, DescribeProducersResponse, TopicName};
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;

use crate::error::{Error, ErrorKind, Result};
use crate::machine::admin::permission::{Permission, Resource};
use crate::machine::admin::routed::Call;
use crate::machine::admin::{Verdict, failure, leaders, left_out, unexpected, verdict};

/// A producer as a partition's leader remembers it. A leader forgets producers that wrote nothing for `producer.id.expiration.ms`
/// and have no open transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProducerState {
    /// The producer id.
    pub producer_id: ProducerId,
    /// The newest epoch that wrote to the partition.
    pub producer_epoch: ProducerEpoch,
    /// The sequence of its last record; `None` if that is not known, as right after a marker.
    pub last_sequence: Option<i32>,
    /// The time of its last write, in milliseconds since 1970; `None` if that is not known.
    pub last_timestamp_ms: Option<i64>,
    /// The epoch of the transaction coordinator whose marker came last; `None` if there was none.
    pub coordinator_epoch: Option<i32>,
    /// The first offset of its open transaction; `None` if none is open on this partition.
    pub current_txn_start_offset: Option<i64>,
}

/// The call.
#[derive(Debug)]
pub(crate) struct DescribeProducers;

impl Call<TopicPartition> for DescribeProducers {
    type Value = Vec<ProducerState>;

    const DOING: &'static str = "describing the partition's producers (DescribeProducers)";

    fn request(&self, partitions: &[&TopicPartition]) -> RequestBody {
        let mut topics: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
        for partition in partitions {
            topics
                .entry(&partition.topic)
                .or_default()
                .push(partition.partition);
        }
        let topic = |(name, indexes): (&str, Vec<i32>)| {
            TopicRequest::default()
                .with_name(TopicName(StrBytes::from_string(name.to_owned())))
                .with_partition_indexes(indexes)
        };
        DescribeProducersRequest::default()
            .with_topics(topics.into_iter().map(topic).collect())
            .into()
    }

    fn read(
        &self,
        _node: NodeId,
        body: ResponseBody,
        partitions: &[&TopicPartition],
    ) -> Result<Vec<Verdict<Self::Value>>> {
        let ResponseBody::DescribeProducers(response) = body else {
            return Err(unexpected("DescribeProducers", &body));
        };
        let read_one = |partition: &&TopicPartition| match find(&response, partition) {
            Some(answer) => read_partition(answer, partition),
            None => Verdict::Again(left_out(&what(partition))),
        };
        Ok(partitions.iter().map(read_one).collect())
    }
}

fn find<'a>(
    response: &'a DescribeProducersResponse,
    wanted: &TopicPartition,
) -> Option<&'a PartitionResponse> {
    let topics = response
        .topics
        .iter()
        .filter(|topic| topic.name.0.as_str() == &*wanted.topic);
    topics
        .flat_map(|topic| &topic.partitions)
        .find(|partition| partition.partition_index == wanted.partition)
}

fn what(partition: &TopicPartition) -> String {
    format!(
        "the producers of {} cannot be described (DescribeProducers)",
        leaders::name(partition)
    )
}

fn read_partition(answer: &PartitionResponse, partition: &TopicPartition) -> Verdict<Vec<ProducerState>> {
    let code = ErrorCode(answer.error_code);
    let detail = answer.error_message.as_ref().map(|text| text.as_str());
    match classify(code, partition, detail) {
        Verdict::Again(error) => Verdict::Again(error),
        Verdict::Failed(error) => Verdict::Failed(error),
        Verdict::Done(()) => {
            let states: Result<Vec<_>> = answer
                .active_producers
                .iter()
                .map(|producer| state(producer, partition))
                .collect();
            states.map_or_else(Verdict::Failed, Verdict::Done)
        }
    }
}

fn classify(code: ErrorCode, partition: &TopicPartition, detail: Option<&str>) -> Verdict<()> {
    let read = Permission {
        operation: "Read",
        resource: Resource::Topic(&partition.topic),
    };
    match code {
        ErrorCode::TOPIC_AUTHORIZATION_FAILED => Verdict::Failed(read.denied(code, &what(partition))),
        // The metadata has just told of it, so this broker has not heard of it yet, or has lost it to another.
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION => Verdict::Again(failure(code, &what(partition), detail)),
        code => verdict(code, &what(partition), detail, ()),
    }
}

fn state(answer: &Answer, partition: &TopicPartition) -> Result<ProducerState> {
    let epoch = i16::try_from(answer.producer_epoch).map_err(|_| {
        let message = format!(
            "{}: {} is no producer epoch",
            what(partition),
            answer.producer_epoch
        );
        Error::new(ErrorKind::Corrupt, message)
    })?;
    Ok(ProducerState {
        producer_id: ProducerId(answer.producer_id.0),
        producer_epoch: ProducerEpoch(epoch),
        last_sequence: Some(answer.last_sequence).filter(|sequence| *sequence >= 0),
        last_timestamp_ms: Some(answer.last_timestamp).filter(|time| *time >= 0),
        coordinator_epoch: Some(answer.coordinator_epoch).filter(|epoch| *epoch >= 0),
        current_txn_start_offset: Some(answer.current_txn_start_offset).filter(|offset| *offset >= 0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sealwax_protocol::messages::describe_producers_response::TopicResponse;

    fn producer(epoch: i32, start: i64) -> Answer {
        Answer::default()
            .with_producer_id(7.into())
            .with_producer_epoch(epoch)
            .with_last_sequence(-1)
            .with_last_timestamp(9)
            .with_coordinator_epoch(0)
            .with_current_txn_start_offset(start)
    }

    fn answer(code: ErrorCode, producers: Vec<Answer>) -> ResponseBody {
        let partition = PartitionResponse::default()
            .with_partition_index(1)
            .with_error_code(code.0)
            .with_active_producers(producers);
        ResponseBody::DescribeProducers(DescribeProducersResponse::default().with_topics(vec![
            TopicResponse::default()
                .with_name(TopicName(StrBytes::from_static_str("t")))
                .with_partitions(vec![partition]),
        ]))
    }

    fn read(code: ErrorCode, producers: Vec<Answer>) -> Verdict<Vec<ProducerState>> {
        let partition = TopicPartition::new("t", 1);
        DescribeProducers
            .read(NodeId(1), answer(code, producers), &[&partition])
            .unwrap()
            .remove(0)
    }

    #[test]
    fn partitions_are_asked_for_by_topic() {
        let partitions =
            [("b", 0), ("a", 2), ("b", 1)].map(|(topic, index)| TopicPartition::new(topic, index));
        let RequestBody::DescribeProducers(request) =
            DescribeProducers.request(&partitions.iter().collect::<Vec<_>>())
        else {
            panic!("another request");
        };
        let asked: Vec<_> = request
            .topics
            .iter()
            .map(|topic| (topic.name.0.as_str(), topic.partition_indexes.clone()))
            .collect();
        assert_eq!(asked, [("a", vec![2]), ("b", vec![0, 1])]);
    }

    #[test]
    fn what_is_not_known_is_none_and_an_impossible_epoch_is_damage() {
        let Verdict::Done(states) = read(ErrorCode::NONE, vec![producer(3, 40), producer(3, -1)]) else {
            panic!("not done");
        };
        assert_eq!(
            states[0],
            ProducerState {
                producer_id: ProducerId(7),
                producer_epoch: ProducerEpoch(3),
                last_sequence: None,
                last_timestamp_ms: Some(9),
                coordinator_epoch: Some(0),
                current_txn_start_offset: Some(40),
            }
        );
        assert_eq!(states[1].current_txn_start_offset, None);
        let Verdict::Failed(error) = read(ErrorCode::NONE, vec![producer(40_000, 0)]) else {
            panic!("not failed");
        };
        assert_eq!(error.kind(), ErrorKind::Corrupt);
    }

    #[test]
    fn every_code_is_classified_and_every_error_names_partition_api_and_code() {
        for &code in ErrorCode::ALL {
            let error = match read(code, Vec::new()) {
                Verdict::Done(states) => {
                    assert_eq!((code, states.len()), (ErrorCode::NONE, 0));
                    continue;
                }
                Verdict::Again(error) => {
                    assert!(code.is_retriable(), "{code}");
                    error
                }
                Verdict::Failed(error) => error,
            };
            let text = error.to_string();
            for part in [
                "partition 1 of topic \"t\"",
                "DescribeProducers",
                code.name().unwrap(),
            ] {
                assert!(text.contains(part), "{part} is not in {text}");
            }
        }
        for code in [3, 5, 6] {
            assert!(
                matches!(read(ErrorCode(code), Vec::new()), Verdict::Again(_)),
                "{code}"
            );
        }
        let Verdict::Failed(error) = read(ErrorCode::TOPIC_AUTHORIZATION_FAILED, Vec::new()) else {
            panic!("not failed");
        };
        assert!(
            error.to_string().contains("--operation Read --topic t"),
            "{error}"
        );
    }
}
