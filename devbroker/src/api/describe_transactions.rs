//! DescribeTransactions (65): where the transactions of these ids stand (KIP-664).

use std::collections::BTreeMap;
use std::sync::Arc;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::messages::describe_transactions_response::{TopicData, TransactionState};
use sealwax_protocol::messages::{
    DescribeTransactionsRequest, DescribeTransactionsResponse, TransactionalId,
};
use sealwax_protocol::response::ResponseBody;

use super::{Call, Reply};
use crate::names::{milliseconds, text, topic_name};
use crate::settings::Release;
use crate::state::State;
use crate::state::transactions::Coordinated;

pub(super) fn handle(state: &State, call: &Call, request: &DescribeTransactionsRequest) -> Reply {
    let states = request.transactional_ids.iter();
    let states = states.map(|id| match look_up(state, call, id) {
        Ok(found) => describe(state, id, found),
        Err(code) => TransactionState::default()
            .with_transactional_id(id.clone())
            .with_error_code(code.0),
    });
    let response = DescribeTransactionsResponse::default().with_transaction_states(states.collect());
    Reply::Answer(ResponseBody::DescribeTransactions(response))
}

fn look_up<'a>(state: &'a State, call: &Call, id: &TransactionalId) -> Result<&'a Coordinated, ErrorCode> {
    let id = id.0.as_str();
    if id.is_empty() {
        return Err(ErrorCode::INVALID_REQUEST);
    }
    state.transactions.check(call.now, call.node, id)?;
    let found = state.transactions.ids.get(id);
    found.ok_or(ErrorCode::TRANSACTIONAL_ID_NOT_FOUND)
}

fn describe(state: &State, id: &TransactionalId, found: &Coordinated) -> TransactionState {
    let metadata = &found.metadata;
    // Kafka 3.9 goes on telling the time of a transaction that is over.
    let before = metadata
        .last_started()
        .filter(|_| !state.is_at_least(Release::V4_4));
    let started = metadata.started().or(before);
    let producer = metadata.producer();
    TransactionState::default()
        .with_transactional_id(id.clone())
        .with_producer_id(producer.id.0.into())
        .with_producer_epoch(producer.epoch.0)
        .with_transaction_state(text(metadata.phase().name()))
        .with_transaction_timeout_ms(i32::try_from(metadata.timeout().as_millis()).unwrap_or(i32::MAX))
        .with_transaction_start_time_ms(started.map_or(-1, milliseconds))
        .with_topics(topics(found))
}

/// The partitions that still need a marker, by topic.
fn topics(found: &Coordinated) -> Vec<TopicData> {
    let mut topics: BTreeMap<&Arc<str>, Vec<i32>> = BTreeMap::new();
    for partition in found.unended() {
        topics
            .entry(&partition.topic)
            .or_default()
            .push(partition.partition);
    }
    let topics = topics.into_iter().map(|(name, indexes)| {
        TopicData::default()
            .with_topic(topic_name(name))
            .with_partitions(indexes)
    });
    topics.collect()
}
