//! Brokers and coordinator together: a request in, its answer and effect out.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use sealwax_protocol::StrBytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{LeaderEpoch, NodeId, TopicPartition};
use sealwax_protocol::messages::add_partitions_to_txn_response::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnTopicResult,
};
use sealwax_protocol::messages::describe_transactions_response::TransactionState;
use sealwax_protocol::messages::txn_offset_commit_response::{
    TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic,
};
use sealwax_protocol::messages::{
    AddOffsetsToTxnResponse, AddPartitionsToTxnResponse, DescribeTransactionsResponse, EndTxnResponse,
    InitProducerIdResponse, TopicName, TxnOffsetCommitRequest, TxnOffsetCommitResponse,
};
use sealwax_protocol::produce::{
    ProducePartitionResponse, ProduceRequest, ProduceResponse, ProduceTopicResponse,
};
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;
use sealwax_protocol::version::FinalizedFeatures;

use super::coordinator::{Coordinator, Reply};
use super::log::{Incoming, Log, Status};
use crate::machine::metadata::{ClusterMetadata, PartitionMetadata, TopicMetadata};
use crate::machine::{ClusterView, Outbound};

/// The one topic.
pub(crate) const TOPIC: &str = "out";

/// A cluster with one topic, two nodes and one transactional id.
#[derive(Debug)]
pub(crate) struct Model {
    /// Level of `transaction.version`.
    pub(crate) transaction_version: i16,
    pub(crate) partitions: i32,
    pub(crate) coordinator: Coordinator,
    pub(crate) logs: BTreeMap<TopicPartition, Log>,
    /// The epoch of the next producer without transactions.
    pub(crate) plain_epoch: i16,
    /// Committed offsets of the one partition that is read, by group.
    pub(crate) offsets: BTreeMap<String, i64>,
    /// Offsets of the open transaction.
    pending_offsets: BTreeMap<String, i64>,
    next_plain_id: i64,
}

impl Model {
    pub(crate) fn new(transaction_version: i16, partitions: i32, first_epoch: i16) -> Self {
        Self {
            transaction_version,
            partitions,
            coordinator: Coordinator::new(first_epoch),
            logs: (0..partitions)
                .map(|index| (TopicPartition::new(TOPIC, index), Log::default()))
                .collect(),
            plain_epoch: 0,
            offsets: BTreeMap::new(),
            pending_offsets: BTreeMap::new(),
            next_plain_id: 1,
        }
    }

    /// What a client is told. Partition p is led by node p mod 2.
    pub(crate) fn view(&self) -> ClusterView {
        let name: Arc<str> = TOPIC.into();
        let topic = TopicMetadata {
            name: Arc::clone(&name),
            id: sealwax_protocol::Uuid::from_u128(1),
            error_code: ErrorCode::NONE,
            partitions: (0..self.partitions)
                .map(|index| PartitionMetadata {
                    leader: Some(NodeId(index % 2)),
                    leader_epoch: LeaderEpoch(0),
                })
                .collect(),
        };
        ClusterView {
            metadata_as_of: None,
            metadata: Arc::new(ClusterMetadata {
                topics: HashMap::from([(name, topic)]),
                ..ClusterMetadata::default()
            }),
            features: FinalizedFeatures {
                epoch: 1,
                transaction_version: self.transaction_version,
            },
        }
    }

    /// Carries out a request.
    pub(crate) fn handle(&mut self, outbound: &Outbound) -> ResponseBody {
        match &outbound.body {
            RequestBody::InitProducerId(request) if request.transactional_id.is_none() => {
                self.next_plain_id += 1;
                InitProducerIdResponse::default()
                    .with_producer_id(self.next_plain_id.into())
                    .with_producer_epoch(std::mem::take(&mut self.plain_epoch))
                    .into_body()
            }
            RequestBody::InitProducerId(request) => {
                let reply = self
                    .coordinator
                    .init((request.producer_id.0, request.producer_epoch));
                let reply = self.mark(reply);
                InitProducerIdResponse::default()
                    .with_error_code(reply.code.0)
                    .with_producer_id(reply.producer.0.into())
                    .with_producer_epoch(reply.producer.1)
                    .into_body()
            }
            RequestBody::AddPartitionsToTxn(request) => {
                let producer = (
                    request.v3_and_below_producer_id.0,
                    request.v3_and_below_producer_epoch,
                );
                let partitions = added(&outbound.body);
                let code = self.coordinator.add(producer, &partitions);
                add_partitions_answer(&partitions, code)
            }
            RequestBody::EndTxn(request) => {
                let producer = (request.producer_id.0, request.producer_epoch);
                let is_v2 = outbound.versions.min >= 5;
                let reply = if is_v2 {
                    self.coordinator.end_v2(producer, request.committed)
                } else {
                    self.coordinator.end_v1(producer, request.committed)
                };
                let reply = self.mark(reply);
                let told = if is_v2 { reply.producer } else { (-1, -1) };
                EndTxnResponse::default()
                    .with_error_code(reply.code.0)
                    .with_producer_id(told.0.into())
                    .with_producer_epoch(told.1)
                    .into_body()
            }
            RequestBody::Produce(request) => {
                let is_v2 = outbound.versions.min >= 12;
                produce_answer(request, |partition, bytes| {
                    self.write(partition, &Incoming::read(bytes), is_v2)
                })
            }
            RequestBody::AddOffsetsToTxn(request) => {
                let producer = (request.producer_id.0, request.producer_epoch);
                let code = self
                    .coordinator
                    .add(producer, &[group_partition(request.group_id.0.as_str())]);
                ResponseBody::AddOffsetsToTxn(AddOffsetsToTxnResponse::default().with_error_code(code.0))
            }
            RequestBody::TxnOffsetCommit(request) => {
                let code = self.commit_offsets(request, outbound.versions.min >= 5);
                offsets_answer(request, code)
            }
            RequestBody::DescribeTransactions(request) => {
                let state = TransactionState::default()
                    .with_transactional_id(request.transactional_ids[0].clone())
                    .with_transaction_state(StrBytes::from_static_str(self.coordinator.state()))
                    .with_producer_id(self.coordinator.id.into())
                    .with_producer_epoch(self.coordinator.epoch);
                described(state)
            }
            other => panic!("a producer sent {other:?}"),
        }
    }

    fn commit_offsets(&mut self, request: &TxnOffsetCommitRequest, is_v2: bool) -> ErrorCode {
        let producer = (request.producer_id.0, request.producer_epoch);
        let group = request.group_id.0.to_string();
        let partition = group_partition(&group);
        if is_v2 {
            let code = self.coordinator.add(producer, std::slice::from_ref(&partition));
            if code.is_error() {
                return ErrorCode::INVALID_PRODUCER_EPOCH;
            }
        } else if !self.coordinator.has(producer, &partition) {
            return ErrorCode::TRANSACTION_ABORTABLE;
        }
        let offset = request.topics[0].partitions[0].committed_offset;
        self.pending_offsets.insert(group, offset);
        ErrorCode::NONE
    }

    /// The open transaction runs into its timeout.
    pub(crate) fn time_out(&mut self) {
        let reply = self.coordinator.time_out(self.transaction_version >= 2);
        self.mark(reply);
    }

    fn write(&mut self, partition: &TopicPartition, batch: &Incoming, is_v2: bool) -> Result<i64, ErrorCode> {
        if batch.transactional && is_v2 {
            let code = self
                .coordinator
                .add(batch.producer, std::slice::from_ref(partition));
            if code.is_error() {
                return Err(ErrorCode::INVALID_PRODUCER_EPOCH);
            }
        } else if batch.transactional && !self.coordinator.has(batch.producer, partition) {
            return Err(ErrorCode::TRANSACTION_ABORTABLE);
        }
        self.logs
            .get_mut(partition)
            .ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?
            .append(batch)
    }

    fn mark(&mut self, reply: Reply) -> Reply {
        if let Some((partitions, id, epoch, commit)) = &reply.markers {
            let status = if *commit {
                Status::Committed
            } else {
                Status::Aborted
            };
            let pending = std::mem::take(&mut self.pending_offsets);
            if *commit {
                self.offsets.extend(pending);
            }
            for partition in partitions {
                if let Some(log) = self.logs.get_mut(partition) {
                    log.mark(*id, *epoch, status);
                }
            }
        }
        reply
    }
}

/// An answer that says `code` and nothing else. `None` if the request's answer is not known here.
pub(crate) fn refusal(body: &RequestBody, code: ErrorCode) -> ResponseBody {
    match body {
        RequestBody::InitProducerId(_) => InitProducerIdResponse::default()
            .with_error_code(code.0)
            .into_body(),
        RequestBody::EndTxn(_) => EndTxnResponse::default().with_error_code(code.0).into_body(),
        RequestBody::AddPartitionsToTxn(_) => add_partitions_answer(&added(body), code),
        RequestBody::Produce(request) => produce_answer(request, |_, _| Err(code)),
        RequestBody::AddOffsetsToTxn(_) => {
            ResponseBody::AddOffsetsToTxn(AddOffsetsToTxnResponse::default().with_error_code(code.0))
        }
        RequestBody::TxnOffsetCommit(request) => offsets_answer(request, code),
        RequestBody::DescribeTransactions(request) => {
            let state = TransactionState::default()
                .with_transactional_id(request.transactional_ids[0].clone())
                .with_error_code(code.0);
            described(state)
        }
        other => panic!("a producer sent {other:?}"),
    }
}

/// A refusal of writes to logs that begin at this offset and know nothing of the producer.
pub(crate) fn unknown_producer(body: &RequestBody, log_start_offset: i64) -> ResponseBody {
    let mut answer = refusal(body, ErrorCode::UNKNOWN_PRODUCER_ID);
    if let ResponseBody::Produce(response) = &mut answer {
        let topics = response.topics.iter_mut();
        for part in topics.flat_map(|topic| &mut topic.partitions) {
            part.log_start_offset = log_start_offset;
        }
    }
    answer
}

/// Where a group's offsets are written to.
fn group_partition(group: &str) -> TopicPartition {
    TopicPartition::new(format!("__consumer_offsets of {group}"), 0)
}

fn offsets_answer(request: &TxnOffsetCommitRequest, code: ErrorCode) -> ResponseBody {
    let topics = request.topics.iter().map(|topic| {
        let parts = topic.partitions.iter().map(|part| {
            TxnOffsetCommitResponsePartition::default()
                .with_partition_index(part.partition_index)
                .with_error_code(code.0)
        });
        TxnOffsetCommitResponseTopic::default()
            .with_name(topic.name.clone())
            .with_partitions(parts.collect())
    });
    ResponseBody::TxnOffsetCommit(TxnOffsetCommitResponse::default().with_topics(topics.collect()))
}

fn described(state: TransactionState) -> ResponseBody {
    let response = DescribeTransactionsResponse::default().with_transaction_states(vec![state]);
    ResponseBody::DescribeTransactions(response)
}

/// The partitions that an AddPartitionsToTxn names.
pub(crate) fn added(body: &RequestBody) -> Vec<TopicPartition> {
    let RequestBody::AddPartitionsToTxn(request) = body else {
        return Vec::new();
    };
    let topics = request.v3_and_below_topics.iter();
    topics
        .flat_map(|topic| {
            let name: Arc<str> = topic.name.0.as_str().into();
            topic
                .partitions
                .iter()
                .map(move |partition| TopicPartition::new(Arc::clone(&name), *partition))
        })
        .collect()
}

fn add_partitions_answer(partitions: &[TopicPartition], code: ErrorCode) -> ResponseBody {
    let topics = partitions.iter().map(|partition| {
        let result = AddPartitionsToTxnPartitionResult::default()
            .with_partition_index(partition.partition)
            .with_partition_error_code(code.0);
        AddPartitionsToTxnTopicResult::default()
            .with_name(TopicName(StrBytes::from_string(partition.topic.to_string())))
            .with_results_by_partition(vec![result])
    });
    AddPartitionsToTxnResponse::default()
        .with_results_by_topic_v3_and_below(topics.collect())
        .into_body()
}

fn produce_answer(
    request: &ProduceRequest,
    mut write: impl FnMut(&TopicPartition, &bytes::Bytes) -> Result<i64, ErrorCode>,
) -> ResponseBody {
    let topics = request.topics.iter().map(|topic| ProduceTopicResponse {
        name: Arc::clone(&topic.name),
        id: sealwax_protocol::Uuid::nil(),
        partitions: topic
            .partitions
            .iter()
            .map(|part| {
                let partition = TopicPartition::new(Arc::clone(&topic.name), part.index);
                let written = write(&partition, &part.records);
                ProducePartitionResponse {
                    index: part.index,
                    error_code: written.err().unwrap_or(ErrorCode::NONE),
                    base_offset: written.unwrap_or(-1),
                    log_append_time_ms: -1,
                    log_start_offset: 0,
                    record_errors: Vec::new(),
                    error_message: None,
                    current_leader: None,
                }
            })
            .collect(),
    });
    ResponseBody::Produce(ProduceResponse {
        topics: topics.collect(),
        throttle_time_ms: 0,
        node_endpoints: Vec::new(),
    })
}

/// A message as an answer.
trait IntoBody {
    fn into_body(self) -> ResponseBody;
}

impl IntoBody for InitProducerIdResponse {
    fn into_body(self) -> ResponseBody {
        ResponseBody::InitProducerId(self)
    }
}

impl IntoBody for AddPartitionsToTxnResponse {
    fn into_body(self) -> ResponseBody {
        ResponseBody::AddPartitionsToTxn(self)
    }
}

impl IntoBody for EndTxnResponse {
    fn into_body(self) -> ResponseBody {
        ResponseBody::EndTxn(self)
    }
}
