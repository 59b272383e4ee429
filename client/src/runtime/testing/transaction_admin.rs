//! Admin calls for transactions against the scripted peer: coordinators that move, markers of unknown fate, filters of newer versions.

use std::time::Duration;

use sealwax_protocol::StrBytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{ProducerEpoch, ProducerId, TopicPartition};
use sealwax_protocol::messages::describe_transactions_response::TransactionState as Described;
use sealwax_protocol::messages::list_transactions_response::TransactionState as Listed;
use sealwax_protocol::messages::{
    DescribeTransactionsResponse, InitProducerIdResponse, ListTransactionsResponse, TransactionalId,
};
use sealwax_protocol::request::{RequestBody, RequestHeader};
use sealwax_protocol::response::ResponseBody;

use super::cluster::{answer_lookup, connected};
use super::peer::{Conversation, Peer};
use crate::admin::{AbortTransactionSpec, Admin, TransactionFilter, TransactionState};
use crate::error::ErrorKind;
use crate::machine::metadata::refresh::tests::topic;

const ID: &str = "orders-1";

/// The next request that is no look-up of the brokers, which a broken connection causes too.
async fn receive(peer: &Peer, conversation: &mut Conversation) -> (RequestHeader, RequestBody) {
    loop {
        let (header, body) = conversation.receive().await;
        match body {
            RequestBody::Metadata(_) => conversation.answer(&header, metadata(peer)).await,
            body => return (header, body),
        }
    }
}

async fn receive_describe(peer: &Peer, conversation: &mut Conversation) -> RequestHeader {
    let (header, body) = receive(peer, conversation).await;
    assert!(matches!(body, RequestBody::DescribeTransactions(_)), "{body:?}");
    header
}

fn metadata(peer: &Peer) -> sealwax_protocol::messages::MetadataResponse {
    peer.metadata(1).with_topics(vec![topic("t", 1, &[(0, 1, 0)])])
}

fn described(code: ErrorCode) -> ResponseBody {
    ResponseBody::DescribeTransactions(
        DescribeTransactionsResponse::default().with_transaction_states(vec![
            Described::default()
                .with_error_code(code.0)
                .with_transactional_id(TransactionalId(StrBytes::from_static_str(ID)))
                .with_transaction_state(StrBytes::from_static_str("Ongoing")),
        ]),
    )
}

#[tokio::test]
async fn a_coordinator_that_moved_is_looked_up_again_and_one_that_is_known_is_not() {
    let peer = Peer::listen().await;
    let (cluster, _bootstrap) = connected(&peer).await;
    let admin = Admin::new(cluster);
    let script = async {
        let mut general = peer.accept_and_greet().await;
        answer_lookup(&mut general, &peer, ErrorCode::NONE).await;
        let mut coordinator = peer.accept_and_greet().await;
        let header = receive_describe(&peer, &mut coordinator).await;
        coordinator
            .answer(&header, described(ErrorCode::NOT_COORDINATOR))
            .await;
        answer_lookup(&mut general, &peer, ErrorCode::NONE).await;
        let header = receive_describe(&peer, &mut coordinator).await;
        coordinator.answer(&header, described(ErrorCode::NONE)).await;
        for code in [ErrorCode::CONCURRENT_TRANSACTIONS, ErrorCode::NONE] {
            let (header, body) = receive(&peer, &mut coordinator).await;
            assert!(matches!(body, RequestBody::InitProducerId(_)), "{body:?}");
            let response = InitProducerIdResponse::default()
                .with_error_code(code.0)
                .with_producer_id(7.into())
                .with_producer_epoch(4);
            coordinator
                .answer(&header, ResponseBody::InitProducerId(response))
                .await;
        }
    };
    let calls = async {
        let description = admin.describe_transactions(&[ID]).await.remove(0).unwrap();
        assert_eq!(description.state, TransactionState::Ongoing);
        assert_eq!(description.coordinator.0, 2);
        let fenced = admin.fence_producers(&[ID]).await.remove(0).unwrap();
        assert_eq!(
            (fenced.producer_id, fenced.producer_epoch),
            (ProducerId(7), ProducerEpoch(4))
        );
    };
    tokio::join!(calls, script);
}

#[tokio::test]
async fn an_id_whose_coordinator_may_not_be_asked_for_names_the_permission() {
    let peer = Peer::listen().await;
    let (cluster, _bootstrap) = connected(&peer).await;
    let admin = Admin::new(cluster);
    let script = async {
        let mut conversation = peer.accept_and_greet().await;
        let code = ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED;
        answer_lookup(&mut conversation, &peer, code).await;
    };
    let (results, ()) = tokio::join!(admin.describe_transactions(&[ID]), script);
    let error = results[0].as_ref().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Authorization);
    let text = error.to_string();
    assert!(
        text.contains("--operation Describe --transactional-id orders-1"),
        "{text}"
    );
}

#[tokio::test]
async fn a_marker_that_may_have_been_written_is_not_written_again() {
    let peer = Peer::listen().await;
    let (cluster, _bootstrap) = connected(&peer).await;
    let admin = Admin::new(cluster);
    let script = async {
        let mut conversation = peer.accept_and_greet().await;
        let (_, body) = receive(&peer, &mut conversation).await;
        assert!(matches!(body, RequestBody::WriteTxnMarkers(_)), "{body:?}");
    };
    let spec = AbortTransactionSpec {
        partition: TopicPartition::new("t", 0),
        producer_id: ProducerId(7),
        producer_epoch: ProducerEpoch(0),
        coordinator_epoch: 0,
    };
    let (aborted, ()) = tokio::join!(admin.abort_transaction(&spec), script);
    assert_eq!(aborted.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
}

#[tokio::test]
async fn a_filter_that_the_broker_cannot_take_is_its_error() {
    let peer = Peer::listen().await;
    let (cluster, _bootstrap) = connected(&peer).await;
    let admin = Admin::new(cluster);
    let script = async {
        let mut conversation = peer.accept_and_greet().await;
        loop {
            let (header, body) = receive(&peer, &mut conversation).await;
            let RequestBody::ListTransactions(request) = body else {
                panic!("{body:?}");
            };
            assert_eq!((header.version, request.duration_filter), (1, 60_000));
            let listed = Listed::default()
                .with_transactional_id(TransactionalId(StrBytes::from_static_str(ID)))
                .with_transaction_state(StrBytes::from_static_str("Ongoing"));
            let response = ListTransactionsResponse::default().with_transaction_states(vec![listed]);
            conversation
                .answer(&header, ResponseBody::ListTransactions(response))
                .await;
        }
    };
    let calls = async {
        let mut filter = TransactionFilter {
            older_than: Some(Duration::from_secs(60)),
            ..TransactionFilter::default()
        };
        let listed = admin.list_transactions(&filter).await.unwrap();
        let of_broker = listed.values().next().unwrap().as_ref().unwrap();
        assert_eq!(of_broker[0].transactional_id, ID);
        filter.id_pattern = Some("orders-.*".to_owned());
        let listed = admin.list_transactions(&filter).await.unwrap();
        let error = listed.values().next().unwrap().as_ref().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedVersion);
        assert!(
            error.to_string().contains("cannot filter by a pattern"),
            "{error}"
        );
    };
    tokio::select! {
        () = calls => {}
        () = script => {}
    }
}
