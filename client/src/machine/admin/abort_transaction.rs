//! AbortTransaction: WriteTxnMarkers (API key 27) to a partition's leader, for a transaction that no coordinator would end any more.
//! Java's `AbortTransactionSpec`.

use sealwax_protocol::StrBytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{NodeId, ProducerEpoch, ProducerId, TopicPartition};
use sealwax_protocol::messages::write_txn_markers_request::{WritableTxnMarker, WritableTxnMarkerTopic};
use sealwax_protocol::messages::{TopicName, WriteTxnMarkersRequest, WriteTxnMarkersResponse};
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;

use crate::error::{Error, ErrorKind, Result};
use crate::machine::admin::permission::{Permission, Resource};
use crate::machine::admin::routed::Call;
use crate::machine::admin::{Verdict, failure, leaders, left_out, unexpected, verdict};

/// The wire's "abort".
const ABORT: bool = false;

/// A transaction to abort on one partition, as [`crate::admin::Admin::describe_producers`] tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AbortTransactionSpec {
    /// The partition.
    pub partition: TopicPartition,
    /// The producer whose transaction is open there.
    pub producer_id: ProducerId,
    /// The epoch under which it is open.
    pub producer_epoch: ProducerEpoch,
    /// The coordinator epoch that the partition saw last; 0 if it saw none.
    pub coordinator_epoch: i32,
}

/// The call. Its one item is the partition of the specification.
#[derive(Debug)]
pub(crate) struct AbortTransaction<'a>(pub(crate) &'a AbortTransactionSpec);

impl Call<TopicPartition> for AbortTransaction<'_> {
    type Value = ();

    const DOING: &'static str = "aborting the transaction (WriteTxnMarkers)";

    fn request(&self, _partitions: &[&TopicPartition]) -> RequestBody {
        let AbortTransactionSpec { partition, .. } = self.0;
        let topic = WritableTxnMarkerTopic::default()
            .with_name(TopicName(StrBytes::from_string(partition.topic.to_string())))
            .with_partition_indexes(vec![partition.partition]);
        let marker = WritableTxnMarker::default()
            .with_producer_id(self.0.producer_id.0.into())
            .with_producer_epoch(self.0.producer_epoch.0)
            .with_transaction_result(ABORT)
            .with_topics(vec![topic])
            .with_coordinator_epoch(self.0.coordinator_epoch);
        WriteTxnMarkersRequest::default()
            .with_markers(vec![marker])
            .into()
    }

    fn read(
        &self,
        _node: NodeId,
        body: ResponseBody,
        partitions: &[&TopicPartition],
    ) -> Result<Vec<Verdict<()>>> {
        let ResponseBody::WriteTxnMarkers(response) = body else {
            return Err(unexpected("WriteTxnMarkers", &body));
        };
        let verdict = match self.find(&response) {
            Some(code) => self.classify(code),
            None => self.unknown(&left_out("the marker")),
        };
        Ok(vec![verdict; partitions.len()])
    }

    /// Not sent again: were the first marker written, and had the same producer begun another transaction under the same epoch (which
    /// transaction.version 1 allows), a second marker would abort that one.
    fn unanswered(&self, error: &Error) -> Verdict<()> {
        self.unknown(error)
    }
}

impl AbortTransaction<'_> {
    fn find(&self, response: &WriteTxnMarkersResponse) -> Option<ErrorCode> {
        let AbortTransactionSpec {
            partition: wanted, ..
        } = self.0;
        let of_producer = response
            .markers
            .iter()
            .filter(|marker| marker.producer_id.0 == self.0.producer_id.0);
        let of_topic = of_producer
            .flat_map(|marker| &marker.topics)
            .filter(|topic| topic.name.0.as_str() == &*wanted.topic);
        of_topic
            .flat_map(|topic| &topic.partitions)
            .find(|partition| partition.partition_index == wanted.partition)
            .map(|partition| ErrorCode(partition.error_code))
    }

    fn classify(&self, code: ErrorCode) -> Verdict<()> {
        let what = self.what();
        let alter = Permission {
            operation: "Alter",
            resource: Resource::Cluster,
        };
        let detail = match code {
            ErrorCode::CLUSTER_AUTHORIZATION_FAILED => {
                let what = format!(
                    "{what}, for which older brokers than KIP-1037 need ClusterAction instead of Alter"
                );
                return Verdict::Failed(alter.denied(code, &what));
            }
            ErrorCode::INVALID_PRODUCER_EPOCH => {
                "the partition knows a newer epoch of this producer; describe its producers again"
            }
            ErrorCode::TRANSACTION_COORDINATOR_FENCED => {
                "the partition has seen a newer coordinator epoch; describe its producers again"
            }
            // The metadata has just told of it, so this broker has not heard of it yet, or has lost it to another.
            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION => return Verdict::Again(failure(code, &what, None)),
            // The marker may be in the log; see `unanswered`.
            ErrorCode::REQUEST_TIMED_OUT
            | ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND
            | ErrorCode::NETWORK_EXCEPTION
            | ErrorCode::UNKNOWN_SERVER_ERROR => {
                return self.unknown(&Error::broker(ErrorKind::Broker, code, "the leader's answer"));
            }
            _ => "",
        };
        verdict(code, &what, Some(detail), ())
    }

    fn unknown(&self, why: &Error) -> Verdict<()> {
        let message = format!(
            "{}: whether the marker was written is unknown ({}); describe the partition's producers, and abort again only if the \
             transaction is still open at the same offset",
            self.what(),
            why
        );
        Verdict::Failed(match why.code() {
            Some(code) => Error::broker(ErrorKind::OutcomeUnknown, code, message),
            None => Error::new(ErrorKind::OutcomeUnknown, message),
        })
    }

    fn what(&self) -> String {
        format!(
            "the transaction of producer id {} with epoch {} on {} cannot be aborted (WriteTxnMarkers)",
            self.0.producer_id.0,
            self.0.producer_epoch.0,
            leaders::name(&self.0.partition)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sealwax_protocol::messages::write_txn_markers_response::{
        WritableTxnMarkerPartitionResult, WritableTxnMarkerResult, WritableTxnMarkerTopicResult,
    };

    fn spec() -> AbortTransactionSpec {
        AbortTransactionSpec {
            partition: TopicPartition::new("t", 1),
            producer_id: ProducerId(7),
            producer_epoch: ProducerEpoch(3),
            coordinator_epoch: 2,
        }
    }

    fn read(producer_id: i64, code: ErrorCode) -> Verdict<()> {
        let partition = WritableTxnMarkerPartitionResult::default()
            .with_partition_index(1)
            .with_error_code(code.0);
        let topic = WritableTxnMarkerTopicResult::default()
            .with_name(TopicName(StrBytes::from_static_str("t")))
            .with_partitions(vec![partition]);
        let marker = WritableTxnMarkerResult::default()
            .with_producer_id(producer_id.into())
            .with_topics(vec![topic]);
        let body = WriteTxnMarkersResponse::default().with_markers(vec![marker]);
        let spec = spec();
        AbortTransaction(&spec)
            .read(NodeId(1), ResponseBody::WriteTxnMarkers(body), &[&spec.partition])
            .unwrap()
            .remove(0)
    }

    #[test]
    fn the_marker_is_an_abort_of_exactly_that_transaction() {
        let spec = spec();
        let RequestBody::WriteTxnMarkers(request) = AbortTransaction(&spec).request(&[&spec.partition])
        else {
            panic!("another request");
        };
        let [marker] = &request.markers[..] else {
            panic!("{request:?}");
        };
        assert_eq!(
            (
                marker.producer_id.0,
                marker.producer_epoch,
                marker.coordinator_epoch
            ),
            (7, 3, 2)
        );
        assert!(!marker.transaction_result, "a commit");
        assert_eq!(marker.topics[0].name.0.as_str(), "t");
        assert_eq!(marker.topics[0].partition_indexes, [1]);
    }

    #[test]
    fn every_code_is_classified_and_every_error_names_the_transaction_api_and_code() {
        for &code in ErrorCode::ALL {
            let error = match read(7, code) {
                Verdict::Done(()) => {
                    assert_eq!(code, ErrorCode::NONE);
                    continue;
                }
                Verdict::Again(error) => {
                    assert!(code.is_retriable(), "{code}");
                    error
                }
                Verdict::Failed(error) => error,
            };
            let unknown = [7, 13, 20, -1].contains(&code.0);
            assert_eq!(error.kind() == ErrorKind::OutcomeUnknown, unknown, "{code}");
            let text = error.to_string();
            for part in [
                "producer id 7 with epoch 3 on partition 1 of topic \"t\"",
                "WriteTxnMarkers",
                code.name().unwrap(),
            ] {
                assert!(text.contains(part), "{part} is not in {text}");
            }
        }
        for code in [3, 5, 6, 8, 9, 19, 56] {
            assert!(matches!(read(7, ErrorCode(code)), Verdict::Again(_)), "{code}");
        }
        for (code, advice) in [
            (
                ErrorCode::CLUSTER_AUTHORIZATION_FAILED,
                "--operation Alter --cluster",
            ),
            (ErrorCode::INVALID_PRODUCER_EPOCH, "newer epoch"),
            (
                ErrorCode::TRANSACTION_COORDINATOR_FENCED,
                "newer coordinator epoch",
            ),
        ] {
            let Verdict::Failed(error) = read(7, code) else {
                panic!("not failed");
            };
            assert!(error.to_string().contains(advice), "{error}");
        }
    }

    #[test]
    fn a_marker_of_unknown_fate_is_not_sent_again() {
        let spec = spec();
        let broken = Error::new(ErrorKind::Unreachable, "broken");
        for verdict in [
            AbortTransaction(&spec).unanswered(&broken),
            read(8, ErrorCode::NONE),
        ] {
            let Verdict::Failed(error) = verdict else {
                panic!("not failed");
            };
            assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
            assert!(
                error.to_string().contains("describe the partition's producers"),
                "{error}"
            );
        }
    }
}
