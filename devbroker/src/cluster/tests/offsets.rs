//! Offsets of groups in transactions.

use sealwax_protocol::messages::txn_offset_commit_request::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use sealwax_protocol::messages::{AddOffsetsToTxnRequest, GroupId, TxnOffsetCommitRequest};

use super::*;

impl Driver {
    fn add_offsets(&mut self, producer: ProducerIdAndEpoch) -> ErrorCode {
        let node = self.cluster.transaction_coordinator("x").unwrap();
        let request = AddOffsetsToTxnRequest::default()
            .with_transactional_id(TransactionalId(text("x")))
            .with_producer_id(producer.id.0.into())
            .with_producer_epoch(producer.epoch.0)
            .with_group_id(GroupId(text("g")));
        let ResponseBody::AddOffsetsToTxn(answer) = self.ask(node, 3, request) else {
            panic!()
        };
        ErrorCode(answer.error_code)
    }

    fn commit_offset(
        &mut self,
        version: i16,
        producer: ProducerIdAndEpoch,
        member: &str,
        offset: i64,
    ) -> ErrorCode {
        let node = self.cluster.group_coordinator("g").unwrap();
        let committed = TxnOffsetCommitRequestPartition::default().with_committed_offset(offset);
        let topic = TxnOffsetCommitRequestTopic::default()
            .with_name(TopicName(text(T)))
            .with_partitions(vec![committed]);
        let request = TxnOffsetCommitRequest::default()
            .with_transactional_id(TransactionalId(text("x")))
            .with_group_id(GroupId(text("g")))
            .with_producer_id(producer.id.0.into())
            .with_producer_epoch(producer.epoch.0)
            .with_generation_id(if member.is_empty() { -1 } else { 5 })
            .with_member_id(text(member))
            .with_topics(vec![topic]);
        let ResponseBody::TxnOffsetCommit(answer) = self.ask(node, version, request) else {
            panic!()
        };
        ErrorCode(answer.topics[0].partitions[0].error_code)
    }

    fn offset(&self) -> (Option<i64>, bool) {
        let found = self.cluster.group_offset_state("g", &partition(0));
        (found.committed, found.is_pending)
    }
}

#[test]
fn offsets_count_when_their_transaction_is_committed() {
    for (settings, commit, end) in [(tv1(), 4, 4), (Settings::default(), 5, 5)] {
        let is_tv1 = end == 4;
        let mut driver = Driver::new(settings);
        let mut producer = driver.init(ProducerIdAndEpoch::NONE).unwrap();
        if is_tv1 {
            let early = driver.commit_offset(commit, producer, "", 1);
            assert_eq!(early, ErrorCode::TRANSACTION_ABORTABLE);
        }
        for (offset, is_committed, expected) in [(3, false, None), (4, true, Some(4)), (5, false, Some(4))] {
            if is_tv1 {
                assert_eq!(driver.add_offsets(producer), ErrorCode::NONE);
            }
            assert_eq!(
                driver.commit_offset(commit, producer, "", offset),
                ErrorCode::NONE
            );
            assert!(driver.offset().1, "pending");
            let next = driver.end(end, producer, is_committed).unwrap();
            driver.settle();
            assert_eq!(driver.offset(), (expected, false));
            if !is_tv1 {
                producer = next;
            }
        }
        assert_eq!(driver.cluster.group_offset("g", &partition(0)), Some(4));
    }
}

#[test]
fn only_members_commit_under_a_member_id() {
    let mut driver = Driver::new(Settings::default());
    let producer = driver.init(ProducerIdAndEpoch::NONE).unwrap();
    driver.cluster.set_group_members("g", 5, &["m"]);
    assert_eq!(driver.commit_offset(5, producer, "m", 1), ErrorCode::NONE);
    assert_eq!(
        driver.commit_offset(5, producer, "n", 1),
        ErrorCode::UNKNOWN_MEMBER_ID
    );
    driver.cluster.set_group_members("g", 6, &["m"]);
    assert_eq!(
        driver.commit_offset(5, producer, "m", 1),
        ErrorCode::ILLEGAL_GENERATION
    );
}
