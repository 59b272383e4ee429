//! The requests that a script's steps stand for.

use std::sync::Arc;

use bytes::Bytes;
use sealwax_protocol::StrBytes;
use sealwax_protocol::fetch::{FetchPartition, FetchRequest, FetchTopic, IsolationLevel};
use sealwax_protocol::ids::{LeaderEpoch, ProducerIdAndEpoch, Sequence, TopicId};
use sealwax_protocol::messages::add_partitions_to_txn_request::AddPartitionsToTxnTopic;
use sealwax_protocol::messages::describe_producers_request::TopicRequest;
use sealwax_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use sealwax_protocol::messages::offset_fetch_request::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use sealwax_protocol::messages::txn_offset_commit_request::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use sealwax_protocol::messages::write_txn_markers_request::{WritableTxnMarker, WritableTxnMarkerTopic};
use sealwax_protocol::messages::{
    AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, DescribeProducersRequest, DescribeTransactionsRequest,
    EndTxnRequest, GroupId, InitProducerIdRequest, ListOffsetsRequest, ListTransactionsRequest,
    OffsetFetchRequest, TopicName, TransactionalId, TxnOffsetCommitRequest, WriteTxnMarkersRequest,
};
use sealwax_protocol::produce::{ProducePartition, ProduceRequest, ProduceTopic};
use sealwax_protocol::record::{BatchBuilder, ProducerStamp};
use sealwax_protocol::request::RequestBody;

use super::Runner;
use crate::script::{Op, Seq, Who};
use crate::side::Side;

impl<S: Side> Runner<'_, S> {
    pub(super) fn request(&mut self, op: Op) -> (i16, RequestBody) {
        match op {
            Op::Init { who, again } => {
                let held = self.held.get(&who).copied().filter(|_| again);
                (4, self.init(held.unwrap_or(ProducerIdAndEpoch::NONE)))
            }
            Op::InitShifted { who, shift } => (4, self.init(self.shifted(who, shift))),
            Op::Add {
                who,
                partition,
                shift,
            } => (3, self.add(who, shift, &[partition])),
            Op::AddUnknown { who } => (3, self.add(who, 0, &[0, 99])),
            Op::Produce {
                who,
                partition,
                seq,
                records,
                shift,
            } => {
                let producer = self.shifted(who, shift);
                (
                    self.mode.produce,
                    self.produce(producer, partition, seq, records, true),
                )
            }
            Op::ProducePlain { who, partition, seq } => {
                let producer = self.shifted(who, 0);
                (
                    self.mode.produce,
                    self.produce(producer, partition, seq, 1, false),
                )
            }
            Op::End { who, commit, shift } => (self.mode.end_txn, self.end(who, commit, shift)),
            Op::EndOtherMode { who, commit } => (self.mode.other_end_txn, self.end(who, commit, 0)),
            Op::AddOffsets { who, shift } => {
                let producer = self.shifted(who, shift);
                let request = AddOffsetsToTxnRequest::default()
                    .with_transactional_id(self.transactional_id())
                    .with_producer_id(producer.id.0.into())
                    .with_producer_epoch(producer.epoch.0)
                    .with_group_id(self.group());
                (3, request.into())
            }
            Op::CommitOffsets {
                who,
                offset,
                shift,
                member,
                generation,
            } => {
                let producer = self.shifted(who, shift);
                let body = self.commit_offsets(producer, offset, member, generation);
                (self.mode.txn_offset_commit, body)
            }
            other => self.look(other),
        }
    }

    /// The requests that only look, or that an operator sends.
    fn look(&mut self, op: Op) -> (i16, RequestBody) {
        match op {
            Op::Offsets { stable } => (8, self.offsets(stable)),
            Op::Describe => {
                let request = DescribeTransactionsRequest::default()
                    .with_transactional_ids(vec![self.transactional_id()]);
                (0, request.into())
            }
            Op::List { state } => {
                let filter = StrBytes::from_static_str(state);
                (
                    0,
                    ListTransactionsRequest::default()
                        .with_state_filters(vec![filter])
                        .into(),
                )
            }
            Op::Producers { partition } => {
                let topic = TopicRequest::default()
                    .with_name(self.topic())
                    .with_partition_indexes(vec![partition]);
                (
                    0,
                    DescribeProducersRequest::default()
                        .with_topics(vec![topic])
                        .into(),
                )
            }
            Op::EndOfLog { partition, committed } => (7, self.end_of_log(partition, committed)),
            Op::Fetch { partition, committed } => (12, self.fetch(partition, committed)),
            Op::WriteAbort { who, partition } => (1, self.write_abort(who, partition)),
            other => unreachable!("{other:?} is asked elsewhere"),
        }
    }

    fn transactional_id(&self) -> TransactionalId {
        TransactionalId(StrBytes::from_string(self.names.transactional_id.clone()))
    }

    fn topic(&self) -> TopicName {
        TopicName(StrBytes::from_string(self.names.topic.clone()))
    }

    fn group(&self) -> GroupId {
        GroupId(StrBytes::from_string(self.names.group.clone()))
    }

    fn init(&self, producer: ProducerIdAndEpoch) -> RequestBody {
        InitProducerIdRequest::default()
            .with_transactional_id(Some(self.transactional_id()))
            .with_transaction_timeout_ms(self.timeout_ms)
            .with_producer_id(producer.id.0.into())
            .with_producer_epoch(producer.epoch.0)
            .into()
    }

    fn add(&self, who: Who, shift: i16, partitions: &[i32]) -> RequestBody {
        let producer = self.shifted(who, shift);
        let topic = AddPartitionsToTxnTopic::default()
            .with_name(self.topic())
            .with_partitions(partitions.to_vec());
        AddPartitionsToTxnRequest::default()
            .with_v3_and_below_transactional_id(self.transactional_id())
            .with_v3_and_below_producer_id(producer.id.0.into())
            .with_v3_and_below_producer_epoch(producer.epoch.0)
            .with_v3_and_below_topics(vec![topic])
            .into()
    }

    fn end(&self, who: Who, commit: bool, shift: i16) -> RequestBody {
        let producer = self.shifted(who, shift);
        EndTxnRequest::default()
            .with_transactional_id(self.transactional_id())
            .with_producer_id(producer.id.0.into())
            .with_producer_epoch(producer.epoch.0)
            .with_committed(commit)
            .into()
    }

    fn produce(
        &mut self,
        producer: ProducerIdAndEpoch,
        partition: i32,
        seq: Seq,
        records: i32,
        transactional: bool,
    ) -> RequestBody {
        let sequence = self.sequence(producer, partition, seq);
        let records = self.batch(producer, sequence, records, transactional);
        let topic = ProduceTopic {
            name: Arc::from(self.names.topic.as_str()),
            id: TopicId::nil(),
            partitions: vec![ProducePartition {
                index: partition,
                records,
            }],
        };
        let request = ProduceRequest {
            transactional_id: Some(Arc::from(self.names.transactional_id.as_str())),
            acks: -1,
            timeout_ms: 10_000,
            topics: vec![topic],
        };
        request.into()
    }

    fn batch(
        &mut self,
        producer: ProducerIdAndEpoch,
        sequence: i32,
        records: i32,
        transactional: bool,
    ) -> Bytes {
        let mut batch = BatchBuilder::with_capacity(256);
        for _ in 0..records {
            self.values += 1;
            let value = format!("v{}", self.values);
            let appended = batch.append(self.now_ms, None, Some(value.as_bytes()), []);
            assert!(appended.is_ok(), "a short record");
        }
        batch.seal(ProducerStamp {
            transactional,
            producer,
            base_sequence: Sequence::new(sequence),
        })
    }

    fn commit_offsets(
        &self,
        producer: ProducerIdAndEpoch,
        offset: i64,
        member: &'static str,
        generation: i32,
    ) -> RequestBody {
        let partition = TxnOffsetCommitRequestPartition::default()
            .with_committed_offset(offset)
            .with_committed_leader_epoch(0)
            .with_committed_metadata(Some(StrBytes::from_static_str("m")));
        let topic = TxnOffsetCommitRequestTopic::default()
            .with_name(self.topic())
            .with_partitions(vec![partition]);
        TxnOffsetCommitRequest::default()
            .with_transactional_id(self.transactional_id())
            .with_group_id(self.group())
            .with_producer_id(producer.id.0.into())
            .with_producer_epoch(producer.epoch.0)
            .with_generation_id(generation)
            .with_member_id(StrBytes::from_static_str(member))
            .with_topics(vec![topic])
            .into()
    }

    fn offsets(&self, stable: bool) -> RequestBody {
        let topic = OffsetFetchRequestTopics::default()
            .with_name(self.topic())
            .with_partition_indexes(vec![0, 1]);
        let group = OffsetFetchRequestGroup::default()
            .with_group_id(self.group())
            .with_topics(Some(vec![topic]));
        OffsetFetchRequest::default()
            .with_groups(vec![group])
            .with_require_stable(stable)
            .into()
    }

    fn end_of_log(&self, partition: i32, committed: bool) -> RequestBody {
        let partition = ListOffsetsPartition::default()
            .with_partition_index(partition)
            .with_current_leader_epoch(-1)
            .with_timestamp(-1);
        let topic = ListOffsetsTopic::default()
            .with_name(self.topic())
            .with_partitions(vec![partition]);
        ListOffsetsRequest::default()
            .with_replica_id((-1).into())
            .with_isolation_level(i8::from(committed))
            .with_topics(vec![topic])
            .into()
    }

    fn fetch(&self, partition: i32, committed: bool) -> RequestBody {
        let wanted = FetchPartition {
            index: partition,
            current_leader_epoch: LeaderEpoch::UNKNOWN,
            fetch_offset: 0,
            last_fetched_epoch: LeaderEpoch::UNKNOWN,
            max_bytes: 1 << 20,
        };
        let request = FetchRequest {
            max_wait_ms: 0,
            min_bytes: 0,
            max_bytes: 1 << 20,
            isolation_level: if committed {
                IsolationLevel::ReadCommitted
            } else {
                IsolationLevel::ReadUncommitted
            },
            session_id: 0,
            session_epoch: -1,
            topics: vec![FetchTopic {
                name: Arc::from(self.names.topic.as_str()),
                id: TopicId::nil(),
                partitions: vec![wanted],
            }],
            forgotten: Vec::new(),
            rack_id: Arc::from(""),
        };
        request.into()
    }

    fn write_abort(&self, who: Who, partition: i32) -> RequestBody {
        let producer = self.shifted(who, 0);
        let topic = WritableTxnMarkerTopic::default()
            .with_name(self.topic())
            .with_partition_indexes(vec![partition]);
        let marker = WritableTxnMarker::default()
            .with_producer_id(producer.id.0.into())
            .with_producer_epoch(producer.epoch.0)
            .with_transaction_result(false)
            .with_coordinator_epoch(0)
            .with_topics(vec![topic]);
        WriteTxnMarkersRequest::default()
            .with_markers(vec![marker])
            .into()
    }
}
