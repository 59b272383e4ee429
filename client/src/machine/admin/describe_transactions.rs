//! DescribeTransactions (API key 65): what a coordinator knows of its transactional ids.

use std::time::Duration;

use sealwax_protocol::StrBytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{NodeId, ProducerEpoch, ProducerId, TopicPartition};
use sealwax_protocol::messages::describe_transactions_response::TransactionState as Answer;
use sealwax_protocol::messages::{DescribeTransactionsRequest, TransactionalId};
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;

use crate::error::{Error, ErrorKind, Result};
use crate::machine::admin::permission::{Permission, Resource};
use crate::machine::admin::routed::Call;
use crate::machine::admin::transaction_state::TransactionState;
use crate::machine::admin::{Verdict, left_out, unexpected, verdict};

/// A transactional id as its coordinator describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionDescription {
    /// The transactional id.
    pub transactional_id: String,
    /// The broker that coordinates it.
    pub coordinator: NodeId,
    /// The state.
    pub state: TransactionState,
    /// The producer id that belongs to it at present.
    pub producer_id: ProducerId,
    /// That producer's epoch.
    pub producer_epoch: ProducerEpoch,
    /// The producer's `transaction.timeout.ms`.
    pub timeout: Duration,
    /// When the open transaction began, in milliseconds since 1970 by the coordinator's clock; `None` if none is open.
    pub start_time_ms: Option<i64>,
    /// The partitions that have part in the open transaction, sorted.
    pub partitions: Vec<TopicPartition>,
}

/// The call.
#[derive(Debug)]
pub(crate) struct DescribeTransactions;

impl Call<str> for DescribeTransactions {
    type Value = TransactionDescription;

    const DOING: &'static str = "describing the transactional id (DescribeTransactions)";

    fn request(&self, ids: &[&str]) -> RequestBody {
        let id = |id: &&str| TransactionalId(StrBytes::from_string((*id).to_owned()));
        DescribeTransactionsRequest::default()
            .with_transactional_ids(ids.iter().map(id).collect())
            .into()
    }

    fn read(&self, node: NodeId, body: ResponseBody, ids: &[&str]) -> Result<Vec<Verdict<Self::Value>>> {
        let ResponseBody::DescribeTransactions(response) = body else {
            return Err(unexpected("DescribeTransactions", &body));
        };
        let read_one = |id: &&str| {
            let mut states = response.transaction_states.iter();
            match states.find(|state| state.transactional_id.0.as_str() == *id) {
                Some(answer) => classify(ErrorCode(answer.error_code), id, || description(node, answer)),
                None => Verdict::Again(left_out(&what(id))),
            }
        };
        Ok(ids.iter().map(read_one).collect())
    }
}

fn what(id: &str) -> String {
    format!("transactional id {id:?} cannot be described (DescribeTransactions)")
}

fn classify<T>(code: ErrorCode, id: &str, done: impl FnOnce() -> T) -> Verdict<T> {
    let describe = Permission {
        operation: "Describe",
        resource: Resource::TransactionalId(id),
    };
    match code {
        ErrorCode::NONE => Verdict::Done(done()),
        ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED => Verdict::Failed(describe.denied(code, &what(id))),
        ErrorCode::TRANSACTIONAL_ID_NOT_FOUND => {
            let message = format!(
                "{}: its coordinator does not know it; it was never used, or forgotten after transactional.id.expiration.ms",
                what(id)
            );
            Verdict::Failed(Error::broker(ErrorKind::Broker, code, message))
        }
        code => match verdict(code, &what(id), None, ()) {
            Verdict::Done(()) => Verdict::Done(done()),
            Verdict::Again(error) => Verdict::Again(error),
            Verdict::Failed(error) => Verdict::Failed(error),
        },
    }
}

fn description(coordinator: NodeId, answer: &Answer) -> TransactionDescription {
    let mut partitions: Vec<TopicPartition> = answer
        .topics
        .iter()
        .flat_map(|topic| {
            let of_topic = |partition: &i32| TopicPartition::new(topic.topic.0.as_str(), *partition);
            topic.partitions.iter().map(of_topic)
        })
        .collect();
    partitions.sort();
    let state = TransactionState::from_name(&answer.transaction_state);
    TransactionDescription {
        transactional_id: answer.transactional_id.0.to_string(),
        coordinator,
        state,
        producer_id: ProducerId(answer.producer_id.0),
        producer_epoch: ProducerEpoch(answer.producer_epoch),
        timeout: Duration::from_millis(u64::try_from(answer.transaction_timeout_ms).unwrap_or(0)),
        // Brokers also tell it of ids that have nothing open: of the last transaction, or of when the id was initialised.
        start_time_ms: Some(answer.transaction_start_time_ms).filter(|start| *start >= 0 && state.is_open()),
        partitions,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sealwax_protocol::messages::describe_transactions_response::TopicData;
    use sealwax_protocol::messages::{DescribeTransactionsResponse, TopicName};

    fn answer(code: ErrorCode) -> ResponseBody {
        answer_in(TransactionState::Ongoing, code)
    }

    fn answer_in(state: TransactionState, code: ErrorCode) -> ResponseBody {
        let topic = |name, partitions: &[i32]| {
            TopicData::default()
                .with_topic(TopicName(StrBytes::from_static_str(name)))
                .with_partitions(partitions.to_vec())
        };
        ResponseBody::DescribeTransactions(DescribeTransactionsResponse::default().with_transaction_states(
            vec![
            Answer::default()
                .with_error_code(code.0)
                .with_transactional_id(TransactionalId(StrBytes::from_static_str("orders-1")))
                .with_transaction_state(StrBytes::from_static_str(state.name()))
                .with_transaction_timeout_ms(60_000)
                .with_transaction_start_time_ms(5)
                .with_producer_id(7.into())
                .with_producer_epoch(3)
                .with_topics(vec![topic("t", &[2, 0]), topic("a", &[1])]),
        ],
        ))
    }

    fn read(code: ErrorCode) -> Verdict<TransactionDescription> {
        DescribeTransactions
            .read(NodeId(4), answer(code), &["orders-1"])
            .unwrap()
            .remove(0)
    }

    #[test]
    fn a_description_is_read_whole() {
        let Verdict::Done(description) = read(ErrorCode::NONE) else {
            panic!("not done");
        };
        assert_eq!(
            description,
            TransactionDescription {
                transactional_id: "orders-1".to_owned(),
                coordinator: NodeId(4),
                state: TransactionState::Ongoing,
                producer_id: ProducerId(7),
                producer_epoch: ProducerEpoch(3),
                timeout: Duration::from_secs(60),
                start_time_ms: Some(5),
                partitions: vec![
                    TopicPartition::new("a", 1),
                    TopicPartition::new("t", 0),
                    TopicPartition::new("t", 2)
                ],
            }
        );
    }

    #[test]
    fn every_code_is_classified_and_every_error_names_id_api_and_code() {
        for &code in ErrorCode::ALL {
            let error = match read(code) {
                Verdict::Done(_) => {
                    assert_eq!(code, ErrorCode::NONE);
                    continue;
                }
                Verdict::Again(error) => {
                    assert!(code.is_retriable(), "{code}");
                    error
                }
                Verdict::Failed(error) => error,
            };
            let text = error.to_string();
            let name = code.name().unwrap();
            for part in ["\"orders-1\"", "DescribeTransactions", name] {
                assert!(text.contains(part), "{part} is not in {text}");
            }
        }
        for code in [14, 15, 16] {
            assert!(matches!(read(ErrorCode(code)), Verdict::Again(_)), "{code}");
        }
        let Verdict::Failed(error) = read(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED) else {
            panic!("not failed");
        };
        assert!(
            error
                .to_string()
                .contains("--operation Describe --transactional-id orders-1"),
            "{error}"
        );
        let Verdict::Failed(error) = read(ErrorCode::TRANSACTIONAL_ID_NOT_FOUND) else {
            panic!("not failed");
        };
        assert!(
            error.to_string().contains("transactional.id.expiration.ms"),
            "{error}"
        );
    }

    #[test]
    fn an_id_without_an_open_transaction_has_no_start() {
        for &state in TransactionState::NAMED {
            let body = answer_in(state, ErrorCode::NONE);
            let verdict = DescribeTransactions
                .read(NodeId(4), body, &["orders-1"])
                .unwrap()
                .remove(0);
            let Verdict::Done(description) = verdict else {
                panic!("not done");
            };
            assert_eq!(description.start_time_ms.is_some(), state.is_open(), "{state}");
        }
    }

    #[test]
    fn an_id_that_is_left_out_is_asked_for_again() {
        let verdicts = DescribeTransactions
            .read(NodeId(4), answer(ErrorCode::NONE), &["other", "orders-1"])
            .unwrap();
        assert!(matches!(verdicts[..], [Verdict::Again(_), Verdict::Done(_)]));
    }
}
