//! The first contact over several addresses.

use super::config;
use super::peer::Peer;
use crate::error::ErrorKind;
use crate::runtime::cluster::Cluster;

#[tokio::test]
async fn a_dead_first_address_does_not_keep_the_second_from_answering() {
    let dead = Peer::listen().await.address();
    let peer = Peer::listen().await;
    let servers = [dead, peer.address()];
    let script = async {
        let mut conversation = peer.accept_and_greet().await;
        let (header, _) = conversation.receive().await;
        conversation.answer(&header, peer.metadata(7)).await;
    };
    let (connected, ()) = tokio::join!(Cluster::connect(config(&servers)), script);
    let view = connected.unwrap().view().borrow().clone();
    assert_eq!(view.metadata.brokers.len(), 1);
    assert_eq!(view.metadata.cluster_id.as_deref(), Some("test-cluster"));
}

#[tokio::test]
async fn an_address_that_hesitates_does_not_keep_the_next_one_waiting() {
    let silent = Peer::listen().await;
    let peer = Peer::listen().await;
    let servers = [silent.address(), peer.address()];
    let script = async {
        let mut conversation = peer.accept_and_greet().await;
        let (header, _) = conversation.receive().await;
        conversation.answer(&header, peer.metadata(7)).await;
    };
    let (connected, ()) = tokio::join!(Cluster::connect(config(&servers)), script);
    connected.unwrap();
}

#[tokio::test]
async fn every_address_is_named_with_its_reason() {
    let dead = Peer::listen().await.address();
    let peer = Peer::listen().await;
    let servers = [dead.clone(), peer.address()];
    let script = async {
        let mut conversation = peer.accept().await;
        conversation.receive_header().await;
        conversation.send_bytes(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        conversation.closed().await;
    };
    let (connected, ()) = tokio::join!(Cluster::connect(config(&servers)), script);
    let error = connected.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "the reasons differ");
    let message = error.to_string();
    for part in [&*dead, "connection refused", &*peer.address(), "HTTP"] {
        assert!(message.contains(part), "{part} is missing in: {message}");
    }
}

#[tokio::test]
async fn a_broker_that_knows_no_brokers_yet_is_not_taken() {
    let peer = Peer::listen().await;
    let servers = [peer.address()];
    let script = async {
        let mut conversation = peer.accept_and_greet().await;
        let (header, _) = conversation.receive().await;
        conversation
            .answer(&header, peer.metadata(7).with_brokers(Vec::new()))
            .await;
    };
    let (connected, ()) = tokio::join!(Cluster::connect(config(&servers)), script);
    assert!(
        connected
            .unwrap_err()
            .to_string()
            .contains("knows no brokers yet")
    );
}
