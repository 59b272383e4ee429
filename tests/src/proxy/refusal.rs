//! An answer that the proxy gives itself, with an error code and without the broker: the broker never acted.

use anyhow::{Result, bail};
use kafka_protocol::messages::add_partitions_to_txn_response::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnTopicResult,
};
use kafka_protocol::messages::find_coordinator_response::Coordinator;
use kafka_protocol::messages::produce_response::{PartitionProduceResponse, TopicProduceResponse};
use kafka_protocol::messages::txn_offset_commit_response::{
    TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic,
};
use kafka_protocol::messages::{
    AddOffsetsToTxnResponse, AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, ApiKey, EndTxnResponse,
    FindCoordinatorRequest, FindCoordinatorResponse, InitProducerIdResponse, ProduceRequest, ProduceResponse,
    TxnOffsetCommitRequest, TxnOffsetCommitResponse,
};

use super::Request;
use super::frame::{asked, forged};

/// The frame of an answer that refuses the request with `code`, for each partition alike.
///
/// # Errors
/// If there is no such answer for the API.
pub(super) fn refuse(request: &Request, code: i16) -> Result<Vec<u8>> {
    match request.api {
        Some(ApiKey::InitProducerId) => {
            let body = InitProducerIdResponse::default()
                .with_error_code(code)
                .with_producer_id((-1).into())
                .with_producer_epoch(-1);
            forged(request, &body)
        }
        Some(ApiKey::EndTxn) => {
            let body = EndTxnResponse::default().with_error_code(code);
            forged(
                request,
                &body.with_producer_id((-1).into()).with_producer_epoch(-1),
            )
        }
        Some(ApiKey::AddOffsetsToTxn) => {
            forged(request, &AddOffsetsToTxnResponse::default().with_error_code(code))
        }
        Some(ApiKey::AddPartitionsToTxn) => forged(request, &partitions(&asked(request)?, code)),
        Some(ApiKey::TxnOffsetCommit) => forged(request, &offsets(&asked(request)?, code)),
        Some(ApiKey::Produce) => forged(request, &produce(&asked(request)?, code)),
        Some(ApiKey::FindCoordinator) => {
            forged(request, &coordinators(&asked(request)?, code, request.version))
        }
        other => bail!("there is no refusal of {other:?}"),
    }
}

/// Whether the broker answers at all: a write with acks=0 gets no answer.
pub(super) fn is_answered(request: &Request) -> Result<bool> {
    match request.api {
        Some(ApiKey::Produce) => Ok(asked::<ProduceRequest>(request)?.acks != 0),
        _ => Ok(true),
    }
}

fn partitions(request: &AddPartitionsToTxnRequest, code: i16) -> AddPartitionsToTxnResponse {
    let topics = request.v3_and_below_topics.iter().map(|topic| {
        let results = topic.partitions.iter().map(|partition| {
            AddPartitionsToTxnPartitionResult::default()
                .with_partition_index(*partition)
                .with_partition_error_code(code)
        });
        AddPartitionsToTxnTopicResult::default()
            .with_name(topic.name.clone())
            .with_results_by_partition(results.collect())
    });
    AddPartitionsToTxnResponse::default().with_results_by_topic_v3_and_below(topics.collect())
}

fn offsets(request: &TxnOffsetCommitRequest, code: i16) -> TxnOffsetCommitResponse {
    let topics = request.topics.iter().map(|topic| {
        let results = topic.partitions.iter().map(|partition| {
            TxnOffsetCommitResponsePartition::default()
                .with_partition_index(partition.partition_index)
                .with_error_code(code)
        });
        TxnOffsetCommitResponseTopic::default()
            .with_name(topic.name.clone())
            .with_partitions(results.collect())
    });
    TxnOffsetCommitResponse::default().with_topics(topics.collect())
}

fn produce(request: &ProduceRequest, code: i16) -> ProduceResponse {
    let topics = request.topic_data.iter().map(|topic| {
        let results = topic.partition_data.iter().map(|partition| {
            PartitionProduceResponse::default()
                .with_index(partition.index)
                .with_error_code(code)
                .with_base_offset(-1)
        });
        TopicProduceResponse::default()
            .with_name(topic.name.clone())
            .with_topic_id(topic.topic_id)
            .with_partition_responses(results.collect())
    });
    ProduceResponse::default().with_responses(topics.collect())
}

fn coordinators(request: &FindCoordinatorRequest, code: i16, version: i16) -> FindCoordinatorResponse {
    if version < 4 {
        return FindCoordinatorResponse::default()
            .with_error_code(code)
            .with_node_id((-1).into());
    }
    let coordinators = request.coordinator_keys.iter().map(|key| {
        Coordinator::default()
            .with_key(key.clone())
            .with_error_code(code)
            .with_node_id((-1).into())
    });
    FindCoordinatorResponse::default().with_coordinators(coordinators.collect())
}

#[cfg(test)]
mod tests {
    use bytes::{Bytes, BytesMut};
    use kafka_protocol::messages::add_partitions_to_txn_request::AddPartitionsToTxnTopic;
    use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
    use kafka_protocol::messages::txn_offset_commit_request::{
        TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
    };
    use kafka_protocol::messages::{
        AddOffsetsToTxnRequest, EndTxnRequest, InitProducerIdRequest, RequestHeader, ResponseHeader,
        TopicName,
    };
    use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};

    use super::*;
    use crate::proxy::code::replace;

    const CODE: i16 = 16;

    fn request(api: ApiKey, version: i16, body: &impl Encodable) -> Request {
        let mut frame = BytesMut::new();
        let header = RequestHeader::default()
            .with_request_api_key(api as i16)
            .with_request_api_version(version)
            .with_correlation_id(7);
        header
            .encode(&mut frame, api.request_header_version(version))
            .unwrap();
        body.encode(&mut frame, version).unwrap();
        Request {
            node: 0,
            connection: 0,
            api: Some(api),
            version,
            correlation: 7,
            frame: frame.to_vec(),
        }
    }

    fn answer<T: Decodable>(request: &Request, frame: Vec<u8>) -> T {
        let api = request.api.unwrap();
        let mut bytes = Bytes::from(frame);
        let header =
            ResponseHeader::decode(&mut bytes, api.response_header_version(request.version)).unwrap();
        assert_eq!(header.correlation_id, request.correlation);
        let body = T::decode(&mut bytes, request.version).unwrap();
        assert!(bytes.is_empty());
        body
    }

    /// The codes of a refusal, and of an answer without error after its code was replaced for one partition.
    fn codes<T: Decodable>(request: &Request, of: impl Fn(&T) -> Vec<i16>) -> [Vec<i16>; 2] {
        let refused = of(&answer::<T>(request, refuse(request, CODE).unwrap()));
        let good = refuse(request, 0).unwrap();
        let replaced = replace(request, good, CODE, Some(1)).unwrap();
        [refused, of(&answer::<T>(request, replaced))]
    }

    fn topic() -> TopicName {
        StrBytes::from_static_str("t").into()
    }

    #[test]
    fn answers_with_one_code() {
        for version in 0..=5 {
            let end = request(ApiKey::EndTxn, version, &EndTxnRequest::default());
            let told = codes(&end, |body: &EndTxnResponse| vec![body.error_code]);
            assert_eq!(told, [[CODE], [CODE]]);
        }
        for version in 0..=5 {
            let init = request(ApiKey::InitProducerId, version, &InitProducerIdRequest::default());
            let told = codes(&init, |body: &InitProducerIdResponse| vec![body.error_code]);
            assert_eq!(told, [[CODE], [CODE]]);
        }
        for version in 0..=4 {
            let add = request(
                ApiKey::AddOffsetsToTxn,
                version,
                &AddOffsetsToTxnRequest::default(),
            );
            let told = codes(&add, |body: &AddOffsetsToTxnResponse| vec![body.error_code]);
            assert_eq!(told, [[CODE], [CODE]]);
        }
    }

    #[test]
    fn lookups() {
        for version in 0..=6 {
            let mut body = FindCoordinatorRequest::default();
            if version >= 4 {
                body.coordinator_keys = vec![StrBytes::from_static_str("a"), StrBytes::from_static_str("b")];
            }
            let find = request(ApiKey::FindCoordinator, version, &body);
            let told = codes(&find, |body: &FindCoordinatorResponse| match version {
                0..4 => vec![body.error_code; 2],
                _ => body.coordinators.iter().map(|found| found.error_code).collect(),
            });
            assert_eq!(told, [[CODE, CODE], [CODE, CODE]], "version {version}");
        }
    }

    #[test]
    fn codes_of_partitions() {
        for version in 0..=3 {
            let topics = AddPartitionsToTxnTopic::default()
                .with_name(topic())
                .with_partitions(vec![0, 1]);
            let body = AddPartitionsToTxnRequest::default().with_v3_and_below_topics(vec![topics]);
            let add = request(ApiKey::AddPartitionsToTxn, version, &body);
            let told = codes(&add, |body: &AddPartitionsToTxnResponse| {
                let partitions = &body.results_by_topic_v3_and_below[0].results_by_partition;
                partitions
                    .iter()
                    .map(|result| result.partition_error_code)
                    .collect()
            });
            assert_eq!(told, [[CODE, CODE], [0, CODE]]);
        }
        for version in 0..=5 {
            let partitions = [0, 1].map(|index| {
                TxnOffsetCommitRequestPartition::default()
                    .with_partition_index(index)
                    .with_committed_metadata(Some(StrBytes::default()))
            });
            let topics = TxnOffsetCommitRequestTopic::default()
                .with_name(topic())
                .with_partitions(partitions.to_vec());
            let body = TxnOffsetCommitRequest::default().with_topics(vec![topics]);
            let commit = request(ApiKey::TxnOffsetCommit, version, &body);
            let told = codes(&commit, |body: &TxnOffsetCommitResponse| {
                let partitions = &body.topics[0].partitions;
                partitions.iter().map(|result| result.error_code).collect()
            });
            assert_eq!(told, [[CODE, CODE], [0, CODE]]);
        }
    }

    #[test]
    fn codes_of_writes_and_writes_without_answer() {
        for version in 3..=12 {
            let partitions = [0, 1].map(|index| PartitionProduceData::default().with_index(index));
            let topics = TopicProduceData::default()
                .with_name(topic())
                .with_partition_data(partitions.to_vec());
            let body = ProduceRequest::default()
                .with_acks(-1)
                .with_topic_data(vec![topics]);
            let produce = request(ApiKey::Produce, version, &body);
            let told = codes(&produce, |body: &ProduceResponse| {
                let partitions = &body.responses[0].partition_responses;
                partitions.iter().map(|result| result.error_code).collect()
            });
            assert_eq!(told, [[CODE, CODE], [0, CODE]]);
            assert!(is_answered(&produce).unwrap());
            let without = request(ApiKey::Produce, version, &body.with_acks(0));
            assert!(!is_answered(&without).unwrap());
        }
    }
}
