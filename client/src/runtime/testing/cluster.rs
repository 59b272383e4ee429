//! The shared side: destinations, coordinator look-ups, features, metadata, and its end.

use std::sync::Arc;
use std::time::Duration;

use sealwax_protocol::StrBytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::NodeId;
use sealwax_protocol::messages::find_coordinator_response::Coordinator;
use sealwax_protocol::messages::{
    BrokerId, FindCoordinatorResponse, InitProducerIdRequest, InitProducerIdResponse,
};
use sealwax_protocol::request::{RequestBody, RequestHeader};
use sealwax_protocol::response::ResponseBody;

use tokio::task::JoinHandle;

use super::config;
use super::peer::{Conversation, Peer, names, versions_with_feature};
use crate::config::ClientConfig;
use crate::error::ErrorKind;
use crate::machine::metadata::refresh;
use crate::machine::metadata::refresh::tests::topic;
use crate::machine::{CoordinatorKind, Destination, Directive, Lane, Outbound, RequestFailure, RequestId};
use crate::runtime::clock;
use crate::runtime::cluster::Cluster;
use crate::runtime::wire::Answer;

/// A client that is connected to a peer which is broker 1, and the connection that it bootstrapped over.
pub(crate) async fn connected(peer: &Peer) -> (Arc<Cluster>, Conversation) {
    connected_with(peer, config(&[peer.address()])).await
}

pub(crate) async fn connected_with(peer: &Peer, config: ClientConfig) -> (Arc<Cluster>, Conversation) {
    let script = async {
        let mut conversation = peer.accept_and_greet().await;
        let (header, _) = conversation.receive().await;
        conversation.answer(&header, peer.metadata(1)).await;
        conversation
    };
    let (cluster, conversation) = tokio::join!(Cluster::connect(config), script);
    (cluster.unwrap(), conversation)
}

fn outbound(to: Destination, body: impl Into<RequestBody>, patience: Duration) -> Outbound {
    let body = body.into();
    Outbound {
        id: RequestId(1),
        to,
        lane: Lane::Coordinator,
        versions: body.versions(),
        body,
        deadline: clock::now() + patience,
    }
}

fn to_coordinator(patience: Duration) -> Outbound {
    let to = Destination::Coordinator(CoordinatorKind::Transaction, "orders-1".into());
    outbound(to, InitProducerIdRequest::default(), patience)
}

/// Submits a request to the coordinator and lets it run beside the test.
fn ask_coordinator(cluster: &Arc<Cluster>, patience: Duration) -> JoinHandle<Answer> {
    let answer = cluster.submit(to_coordinator(patience));
    #[allow(
        clippy::disallowed_methods,
        reason = "the test talks to the peer while the request waits"
    )]
    tokio::spawn(answer)
}

const LONG: Duration = Duration::from_secs(30);

/// Receives a FindCoordinator for `orders-1` and answers it.
pub(crate) async fn answer_lookup(conversation: &mut Conversation, peer: &Peer, code: ErrorCode) {
    let (header, body) = conversation.receive().await;
    let RequestBody::FindCoordinator(request) = body else {
        panic!("not a look-up: {body:?}");
    };
    assert_eq!(request.coordinator_keys.len(), 1);
    let coordinator = Coordinator::default()
        .with_key(StrBytes::from_static_str("orders-1"))
        .with_error_code(code.0)
        .with_node_id(BrokerId(2))
        .with_host(StrBytes::from_static_str("127.0.0.1"))
        .with_port(i32::from(peer.port()));
    let response = FindCoordinatorResponse::default().with_coordinators(vec![coordinator]);
    conversation
        .answer(&header, ResponseBody::FindCoordinator(response))
        .await;
}

pub(crate) async fn answer_init(conversation: &mut Conversation, to: &RequestHeader) {
    let response = InitProducerIdResponse::default().with_producer_epoch(0);
    conversation
        .answer(to, ResponseBody::InitProducerId(response))
        .await;
}

#[tokio::test]
async fn one_look_up_serves_all_who_wait_and_those_who_come_later() {
    let peer = Peer::listen().await;
    let (cluster, _bootstrap) = connected(&peer).await;
    let answers = [LONG, LONG].map(|patience| ask_coordinator(&cluster, patience));
    let mut general = peer.accept_and_greet().await;
    answer_lookup(&mut general, &peer, ErrorCode::COORDINATOR_NOT_AVAILABLE).await;
    answer_lookup(&mut general, &peer, ErrorCode::NONE).await;
    let mut coordinator = peer.accept_and_greet().await;
    for _ in 0..2 {
        let (header, body) = coordinator.receive().await;
        assert!(matches!(body, RequestBody::InitProducerId(_)), "{body:?}");
        answer_init(&mut coordinator, &header).await;
    }
    for answer in answers {
        answer.await.unwrap().unwrap();
    }
    let later = cluster.submit(to_coordinator(LONG));
    let (header, _) = coordinator.receive().await;
    answer_init(&mut coordinator, &header).await;
    later.await.unwrap();
}

#[tokio::test]
async fn a_coordinator_is_looked_up_again_when_it_was_forgotten_or_broke_off() {
    let peer = Peer::listen().await;
    let (cluster, _bootstrap) = connected(&peer).await;
    let first = ask_coordinator(&cluster, LONG);
    let mut general = peer.accept_and_greet().await;
    answer_lookup(&mut general, &peer, ErrorCode::NONE).await;
    let mut coordinator = peer.accept_and_greet().await;
    let (header, _) = coordinator.receive().await;
    answer_init(&mut coordinator, &header).await;
    first.await.unwrap().unwrap();

    cluster.direct(Directive::ForgetCoordinator(
        CoordinatorKind::Transaction,
        "orders-1".into(),
    ));
    let second = ask_coordinator(&cluster, LONG);
    answer_lookup(&mut general, &peer, ErrorCode::NONE).await;
    coordinator.receive().await;
    drop(coordinator);
    assert!(matches!(
        second.await.unwrap(),
        Err(RequestFailure::Unanswered(_))
    ));

    // The broken connection makes the metadata be asked for too; which of the two comes first does not matter.
    let third = ask_coordinator(&cluster, LONG);
    let script = async {
        loop {
            let (header, body) = general.receive().await;
            match body {
                RequestBody::Metadata(_) => general.answer(&header, peer.metadata(1)).await,
                RequestBody::FindCoordinator(_) => break,
                other => panic!("{other:?}"),
            }
        }
    };
    script.await;
    third.abort();
}

#[tokio::test]
async fn a_look_up_that_is_refused_is_told_to_all_who_wait() {
    let peer = Peer::listen().await;
    let (cluster, _bootstrap) = connected(&peer).await;
    let answers = [LONG, LONG].map(|patience| ask_coordinator(&cluster, patience));
    let mut general = peer.accept_and_greet().await;
    answer_lookup(
        &mut general,
        &peer,
        ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    )
    .await;
    for answer in answers {
        let Err(RequestFailure::NotSent(error)) = answer.await.unwrap() else {
            panic!("sent");
        };
        assert_eq!(error.kind(), ErrorKind::Authorization);
        assert_eq!(
            error.code(),
            Some(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        );
    }
}

#[tokio::test]
async fn a_look_up_without_end_keeps_to_the_deadline_and_names_the_last_reason() {
    let peer = Peer::listen().await;
    let (cluster, _bootstrap) = connected(&peer).await;
    let answer = ask_coordinator(&cluster, Duration::from_millis(200));
    let mut general = peer.accept_and_greet().await;
    let script = async {
        loop {
            answer_lookup(&mut general, &peer, ErrorCode::COORDINATOR_LOAD_IN_PROGRESS).await;
        }
    };
    let answer = tokio::select! {
        answer = answer => answer.unwrap(),
        () = script => unreachable!(),
    };
    let Err(RequestFailure::NotSent(error)) = answer else {
        panic!("sent");
    };
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(
        error.to_string().contains("COORDINATOR_LOAD_IN_PROGRESS"),
        "{error}"
    );
}

#[tokio::test]
async fn features_are_known_before_the_answer_that_came_over_that_connection() {
    let peer = Peer::listen().await;
    let (cluster, _bootstrap) = connected(&peer).await;
    assert_eq!(cluster.view().borrow().features.epoch, -1);
    let node = Destination::Node(NodeId(1));
    let speak = async |lane, epoch, level| {
        let mut request = outbound(node.clone(), refresh::request(std::iter::empty(), false), LONG);
        request.lane = lane;
        let answer = cluster.submit(request);
        let mut conversation = peer.accept_with(&versions_with_feature(epoch, level)).await;
        let (header, _) = conversation.receive().await;
        conversation.answer(&header, peer.metadata(1)).await;
        answer.await.unwrap();
        let features = cluster.view().borrow().features;
        (features.epoch, features.transaction_version)
    };
    assert_eq!(speak(Lane::General, 5, 2).await, (5, 2));
    assert_eq!(
        speak(Lane::Produce, 4, 1).await,
        (5, 2),
        "older knowledge does not count"
    );
    assert_eq!(speak(Lane::Fetch, 6, 1).await, (6, 1));
}

#[tokio::test]
async fn a_needed_topic_comes_into_the_view() {
    let peer = Peer::listen().await;
    let (cluster, _bootstrap) = connected(&peer).await;
    let mut view = cluster.view();
    cluster.direct(Directive::NeedTopic("t".into()));
    let mut general = peer.accept_and_greet().await;
    let (header, body) = general.receive().await;
    assert_eq!(names(&body), ["t"]);
    let answer = peer.metadata(1).with_topics(vec![topic("t", 1, &[(0, 1, 0)])]);
    general.answer(&header, answer).await;
    let seen = view
        .wait_for(|view| view.metadata.topic("t").is_some())
        .await
        .unwrap();
    assert_eq!(seen.metadata.partition("t", 0).unwrap().leader, Some(NodeId(1)));
}

#[tokio::test]
async fn an_unknown_broker_is_not_sent_to() {
    let peer = Peer::listen().await;
    let (cluster, _bootstrap) = connected(&peer).await;
    let request = outbound(
        Destination::Node(NodeId(99)),
        InitProducerIdRequest::default(),
        LONG,
    );
    let Err(RequestFailure::NotSent(error)) = cluster.submit(request).await else {
        panic!("sent");
    };
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert!(error.to_string().contains("99"), "{error}");
}

#[tokio::test]
async fn when_no_broker_can_be_reached_the_bootstrap_address_is_asked_again() {
    let dead = Peer::listen().await.port();
    let peer = Peer::listen().await;
    let script = async {
        let mut conversation = peer.accept_and_greet().await;
        let (header, _) = conversation.receive().await;
        let gone = peer.broker(1).with_port(i32::from(dead));
        conversation
            .answer(&header, peer.metadata(1).with_brokers(vec![gone]))
            .await;
        conversation
    };
    let (cluster, mut bootstrap) = tokio::join!(Cluster::connect(config(&[peer.address()])), script);
    let cluster = cluster.unwrap();
    let mut view = cluster.view();
    cluster.direct(Directive::RefreshMetadata);
    let (header, _) = bootstrap.receive().await;
    bootstrap.answer(&header, peer.metadata(5)).await;
    view.wait_for(|view| view.metadata.brokers.contains_key(&NodeId(5)))
        .await
        .unwrap();
}

#[tokio::test]
async fn everything_ends_with_the_last_handle() {
    let peer = Peer::listen().await;
    let (cluster, mut bootstrap) = connected(&peer).await;
    cluster.direct(Directive::NeedTopic("t".into()));
    let lookup = ask_coordinator(&cluster, LONG);
    let mut general = peer.accept_and_greet().await;
    general.receive().await;
    let weak = Arc::downgrade(&cluster);
    drop(cluster);
    lookup.abort();
    bootstrap.closed().await;
    while general.next_request().await.is_some() {}
    assert_eq!(weak.strong_count(), 0);
}
