//! Admin calls against the scripted peer: attempts, pauses, and what is said when an attempt has no answer.

use sealwax_protocol::StrBytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::messages::create_topics_response::CreatableTopicResult;
use sealwax_protocol::messages::{CreateTopicsResponse, TopicName};
use sealwax_protocol::request::{RequestBody, RequestHeader};
use sealwax_protocol::response::ResponseBody;

use super::cluster::connected;
use super::peer::{Conversation, Peer, names};
use crate::admin::{Admin, NewTopic};
use crate::error::ErrorKind;
use crate::machine::metadata::refresh::tests::topic;

async fn receive_create(conversation: &mut Conversation) -> RequestHeader {
    loop {
        let (header, body) = conversation.receive().await;
        match body {
            RequestBody::CreateTopics(request) => {
                assert_eq!(request.topics.len(), 1);
                return header;
            }
            // A connection that broke makes the client ask for metadata too.
            RequestBody::Metadata(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

async fn answer_create(conversation: &mut Conversation, to: &RequestHeader, code: ErrorCode) {
    let result = CreatableTopicResult::default()
        .with_name(TopicName(StrBytes::from_static_str("t")))
        .with_error_code(code.0);
    let response = CreateTopicsResponse::default().with_topics(vec![result]);
    conversation
        .answer(to, ResponseBody::CreateTopics(response))
        .await;
}

#[tokio::test]
async fn a_topic_is_created_when_its_partitions_have_leaders() {
    let peer = Peer::listen().await;
    let (cluster, _bootstrap) = connected(&peer).await;
    let admin = Admin::new(cluster);
    let script = async {
        let mut conversation = peer.accept_and_greet().await;
        let header = receive_create(&mut conversation).await;
        answer_create(&mut conversation, &header, ErrorCode::NOT_CONTROLLER).await;
        let header = receive_create(&mut conversation).await;
        answer_create(&mut conversation, &header, ErrorCode::NONE).await;
        for leader in [-1, 1] {
            let (header, body) = conversation.receive().await;
            assert_eq!(names(&body), ["t"]);
            let answer = peer
                .metadata(1)
                .with_topics(vec![topic("t", 1, &[(0, leader, 0)])]);
            conversation.answer(&header, answer).await;
        }
    };
    let topics = [NewTopic::new("t")];
    let (created, ()) = tokio::join!(admin.create_topics(&topics), script);
    created.unwrap().remove(0).unwrap();
}

#[tokio::test]
async fn a_topic_that_exists_after_an_unanswered_attempt_may_be_ours() {
    let peer = Peer::listen().await;
    let (cluster, mut bootstrap) = connected(&peer).await;
    let admin = Admin::new(cluster);
    let script = async {
        let mut conversation = peer.accept_and_greet().await;
        receive_create(&mut conversation).await;
        drop(conversation);
        let mut conversation = peer.accept_and_greet().await;
        let header = loop {
            tokio::select! {
                header = receive_create(&mut conversation) => break header,
                (header, _) = bootstrap.receive() => bootstrap.answer(&header, peer.metadata(1)).await,
            }
        };
        answer_create(&mut conversation, &header, ErrorCode::TOPIC_ALREADY_EXISTS).await;
    };
    let topics = [NewTopic::new("t")];
    let (created, ()) = tokio::join!(admin.create_topics(&topics), script);
    let error = created.unwrap().remove(0).unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::TOPIC_ALREADY_EXISTS));
    assert!(error.to_string().contains("unanswered attempt"), "{error}");
}

#[tokio::test]
async fn the_cluster_is_described_as_it_advertises_itself() {
    let peer = Peer::listen().await;
    let (cluster, _bootstrap) = connected(&peer).await;
    let admin = Admin::new(cluster);
    let script = async {
        let mut conversation = peer.accept_and_greet().await;
        let (header, body) = conversation.receive().await;
        assert!(names(&body).is_empty());
        let answer = peer
            .metadata(1)
            .with_brokers(vec![peer.broker(2), peer.broker(1)]);
        conversation.answer(&header, answer).await;
    };
    let (described, ()) = tokio::join!(admin.describe_cluster(), script);
    let described = described.unwrap();
    assert_eq!(described.cluster_id.as_deref(), Some("test-cluster"));
    assert_eq!(
        described.nodes.iter().map(|node| node.id.0).collect::<Vec<_>>(),
        [1, 2]
    );
    assert_eq!(described.nodes[0].port, peer.port());
}

#[tokio::test]
async fn a_call_that_gets_no_answer_ends_with_its_patience_and_the_last_reason() {
    let peer = Peer::listen().await;
    let settings = crate::config::ClientConfig {
        default_api_timeout: std::time::Duration::from_millis(200),
        ..super::config(&[peer.address()])
    };
    let (cluster, _bootstrap) = super::cluster::connected_with(&peer, settings).await;
    let admin = Admin::new(cluster);
    let silent = async {
        let mut conversation = peer.accept_and_greet().await;
        conversation.receive().await;
        conversation.closed().await;
    };
    let (described, ()) = tokio::join!(admin.topic_configs("t"), silent);
    let error = described.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(
        error.to_string().contains("did not answer DescribeConfigs"),
        "{error}"
    );
}
