//! Whole requests through the cluster, as a client sends them.

use std::sync::Arc;

use bytes::Bytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{ProducerEpoch, ProducerId, ProducerIdAndEpoch, Sequence, TopicPartition};
use sealwax_protocol::messages::{
    AddPartitionsToTxnRequest, EndTxnRequest, InitProducerIdRequest, TopicName, TransactionalId,
    add_partitions_to_txn_request::AddPartitionsToTxnTopic,
};
use sealwax_protocol::produce::{ProducePartition, ProduceRequest, ProduceTopic};
use sealwax_protocol::record::{BatchBuilder, ProducerStamp};

use super::*;
use crate::names::text;

const T: &str = "t";

struct Driver {
    cluster: Cluster,
    now: Duration,
    correlation: i32,
}

impl Driver {
    fn new(settings: Settings) -> Self {
        let mut cluster = Cluster::new(settings);
        cluster.create_topic(T, 2);
        Self {
            cluster,
            now: Duration::ZERO,
            correlation: 0,
        }
    }

    fn ask(&mut self, node: NodeId, version: i16, body: impl Into<RequestBody>) -> ResponseBody {
        self.correlation += 1;
        let origin = Origin {
            node,
            connection: 1 + u64::from(node.0.unsigned_abs()),
            correlation: self.correlation,
        };
        self.cluster
            .handle_request(self.now, origin, version, body.into());
        loop {
            if let Some(answer) = self.cluster.poll_answer() {
                assert_eq!(answer.to, origin);
                return answer.body;
            }
            self.now = self.cluster.poll_timeout().expect("an answer or something due");
            self.cluster.handle_timeout(self.now);
        }
    }

    fn settle(&mut self) {
        self.now += Duration::from_millis(100);
        self.cluster.handle_timeout(self.now);
    }

    fn init(&mut self, producer: ProducerIdAndEpoch) -> Result<ProducerIdAndEpoch, ErrorCode> {
        let node = self.cluster.transaction_coordinator("x").unwrap();
        let request = InitProducerIdRequest::default()
            .with_transactional_id(Some(TransactionalId(text("x"))))
            .with_transaction_timeout_ms(60_000)
            .with_producer_id(producer.id.0.into())
            .with_producer_epoch(producer.epoch.0);
        let ResponseBody::InitProducerId(answer) = self.ask(node, 4, request) else {
            panic!()
        };
        ok(ErrorCode(answer.error_code)).map(|()| ProducerIdAndEpoch {
            id: ProducerId(answer.producer_id.0),
            epoch: ProducerEpoch(answer.producer_epoch),
        })
    }

    fn add(&mut self, producer: ProducerIdAndEpoch, index: i32) -> Result<(), ErrorCode> {
        let node = self.cluster.transaction_coordinator("x").unwrap();
        let request = AddPartitionsToTxnRequest::default()
            .with_v3_and_below_transactional_id(TransactionalId(text("x")))
            .with_v3_and_below_producer_id(producer.id.0.into())
            .with_v3_and_below_producer_epoch(producer.epoch.0)
            .with_v3_and_below_topics(vec![
                AddPartitionsToTxnTopic::default()
                    .with_name(TopicName(text(T)))
                    .with_partitions(vec![index]),
            ]);
        let ResponseBody::AddPartitionsToTxn(answer) = self.ask(node, 3, request) else {
            panic!()
        };
        let topic = &answer.results_by_topic_v3_and_below[0];
        ok(ErrorCode(topic.results_by_partition[0].partition_error_code))
    }

    fn produce(
        &mut self,
        version: i16,
        producer: ProducerIdAndEpoch,
        index: i32,
        sequence: i32,
        value: &str,
    ) -> Result<i64, ErrorCode> {
        let partition = TopicPartition::new(T, index);
        let (node, _) = self.cluster.leader(&partition).unwrap();
        let request = ProduceRequest {
            transactional_id: Some("x".into()),
            acks: -1,
            timeout_ms: 1000,
            topics: vec![ProduceTopic {
                name: Arc::clone(&partition.topic),
                id: self.cluster.topic_id(T).unwrap(),
                partitions: vec![ProducePartition {
                    index,
                    records: batch(producer, sequence, value),
                }],
            }],
        };
        let ResponseBody::Produce(answer) = self.ask(node, version, request) else {
            panic!()
        };
        let result = &answer.topics[0].partitions[0];
        ok(result.error_code).map(|()| result.base_offset)
    }

    fn end(
        &mut self,
        version: i16,
        producer: ProducerIdAndEpoch,
        committed: bool,
    ) -> Result<ProducerIdAndEpoch, ErrorCode> {
        let node = self.cluster.transaction_coordinator("x").unwrap();
        let request = EndTxnRequest::default()
            .with_transactional_id(TransactionalId(text("x")))
            .with_producer_id(producer.id.0.into())
            .with_producer_epoch(producer.epoch.0)
            .with_committed(committed);
        let ResponseBody::EndTxn(answer) = self.ask(node, version, request) else {
            panic!()
        };
        ok(ErrorCode(answer.error_code)).map(|()| ProducerIdAndEpoch {
            id: ProducerId(answer.producer_id.0),
            epoch: ProducerEpoch(answer.producer_epoch),
        })
    }

    fn committed(&self, index: i32) -> Vec<String> {
        let values = self.cluster.committed_records(&TopicPartition::new(T, index));
        let text = |value: Bytes| String::from_utf8(value.to_vec()).unwrap();
        values.into_iter().map(text).collect()
    }
}

fn ok(code: ErrorCode) -> Result<(), ErrorCode> {
    if code.is_error() { Err(code) } else { Ok(()) }
}

fn batch(producer: ProducerIdAndEpoch, sequence: i32, value: &str) -> Bytes {
    let mut builder = BatchBuilder::with_capacity(100);
    builder.append(1, None, Some(value.as_bytes()), []).unwrap();
    builder.seal(ProducerStamp {
        transactional: true,
        producer,
        base_sequence: Sequence::new(sequence),
    })
}

fn tv1() -> Settings {
    Settings {
        release: Release::V3_9,
        ..Settings::default()
    }
}

#[test]
fn a_transaction_of_tv1_commits_and_the_next_aborts() {
    let mut driver = Driver::new(tv1());
    let producer = driver.init(ProducerIdAndEpoch::NONE).unwrap();
    assert_eq!(
        driver.produce(11, producer, 0, 0, "early"),
        Err(ErrorCode::TRANSACTION_ABORTABLE)
    );
    driver.add(producer, 0).unwrap();
    assert_eq!(driver.produce(11, producer, 0, 0, "a"), Ok(0));
    assert_eq!(
        driver.produce(11, producer, 0, 0, "a"),
        Ok(0),
        "a repeat has its offset"
    );
    assert_eq!(driver.committed(0), [""; 0]);
    driver.end(4, producer, true).unwrap();
    assert_eq!(driver.add(producer, 1), Err(ErrorCode::CONCURRENT_TRANSACTIONS));
    driver.settle();
    driver.end(4, producer, true).unwrap();
    assert_eq!(driver.end(4, producer, false), Err(ErrorCode::INVALID_TXN_STATE));
    driver.add(producer, 0).unwrap();
    assert_eq!(driver.produce(11, producer, 0, 1, "b"), Ok(2));
    driver.end(4, producer, false).unwrap();
    driver.settle();
    assert_eq!(driver.committed(0), ["a"]);
}

#[test]
fn a_transaction_of_tv2_commits_and_the_next_aborts() {
    let mut driver = Driver::new(Settings::default());
    let producer = driver.init(ProducerIdAndEpoch::NONE).unwrap();
    assert_eq!(driver.produce(13, producer, 0, 0, "a"), Ok(0));
    let next = driver.end(5, producer, true).unwrap();
    assert_eq!(next.epoch.0, producer.epoch.0 + 1);
    // The leader waits for the coordinator.
    assert_eq!(driver.produce(13, next, 0, 0, "b"), Ok(2));
    assert_eq!(
        driver.produce(13, producer, 1, 0, "late"),
        Err(ErrorCode::INVALID_PRODUCER_EPOCH)
    );
    driver.end(5, next, false).unwrap();
    driver.settle();
    driver.end(5, next, false).unwrap();
    assert_eq!(driver.committed(0), ["a"]);
}
