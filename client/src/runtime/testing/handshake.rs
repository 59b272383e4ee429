//! The version handshake, and what is said about peers that are no Kafka brokers.

use std::time::Duration;

use sealwax_protocol::messages::ApiVersionsResponse;
use sealwax_protocol::messages::api_versions_response::ApiVersion;
use sealwax_protocol::{ApiKey, error_code::ErrorCode};

use super::config;
use super::peer::{Answer, Peer, versions};
use crate::error::{Error, ErrorKind};
use crate::runtime::cluster::Cluster;

/// A broker whose ApiVersions ends at `max` refuses the first question in version 0 and answers the second one.
async fn older_broker(max: i16, named: bool) -> i16 {
    let peer = Peer::listen().await;
    let servers = [peer.address()];
    let script = async {
        let mut conversation = peer.accept().await;
        let asked = conversation.receive_header().await;
        assert_eq!(asked.version, 4);
        let range = ApiVersion::default()
            .with_api_key(ApiKey::ApiVersions as i16)
            .with_max_version(max);
        let refusal = ApiVersionsResponse::default()
            .with_error_code(ErrorCode::UNSUPPORTED_VERSION.0)
            .with_api_keys(if named { vec![range] } else { Vec::new() });
        let bytes = super::peer::encode(asked.correlation_id, 0, &Answer::from(refusal).0);
        conversation.send_bytes(&bytes).await;
        let (second, _) = conversation.receive().await;
        conversation.answer(&second, versions()).await;
        let (metadata, _) = conversation.receive().await;
        conversation.answer(&metadata, peer.metadata(1)).await;
        second.version
    };
    let (connected, version) = tokio::join!(Cluster::connect(config(&servers)), script);
    connected.unwrap();
    version
}

#[tokio::test]
async fn a_broker_that_refuses_the_version_is_asked_again_in_one_that_it_names() {
    assert_eq!(older_broker(3, true).await, 3);
}

#[tokio::test]
async fn a_broker_that_names_no_version_that_we_speak_is_asked_in_version_0() {
    assert_eq!(older_broker(2, true).await, 0);
    assert_eq!(older_broker(0, false).await, 0);
}

/// What connecting says of a peer that does this.
async fn refusal_of<F: Future<Output = ()>>(script: impl FnOnce(Peer) -> F) -> Error {
    let peer = Peer::listen().await;
    let settings = crate::config::ClientConfig {
        socket_connection_setup_timeout: Duration::from_millis(300),
        ..config(&[peer.address()])
    };
    let (connected, ()) = tokio::join!(Cluster::connect(settings), script(peer));
    connected.unwrap_err()
}

#[tokio::test]
async fn an_http_server_is_recognised() {
    let error = refusal_of(async |peer| {
        let mut conversation = peer.accept().await;
        conversation.receive_header().await;
        conversation.send_bytes(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        conversation.closed().await;
    })
    .await;
    assert_eq!(error.kind(), ErrorKind::NotKafka);
    assert!(error.to_string().contains("HTTP server"), "{error}");
}

#[tokio::test]
async fn a_tls_port_is_recognised_by_its_alert() {
    let error = refusal_of(async |peer| {
        let mut conversation = peer.accept().await;
        conversation.receive_header().await;
        conversation.send_bytes(&[0x15, 3, 3, 0, 2, 2, 10]).await;
        conversation.closed().await;
    })
    .await;
    assert_eq!(error.kind(), ErrorKind::NotKafka);
    assert!(error.to_string().contains("TLS"), "{error}");
}

#[tokio::test]
async fn a_listener_that_closes_at_once_may_want_tls() {
    let error = refusal_of(async |peer| {
        let mut conversation = peer.accept().await;
        conversation.receive_header().await;
    })
    .await;
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert!(error.to_string().contains("TLS or SASL"), "{error}");
}

#[tokio::test]
async fn a_silent_port_is_told_apart_from_a_closed_one() {
    let error = refusal_of(async |peer| {
        let mut conversation = peer.accept().await;
        conversation.receive_header().await;
        conversation.closed().await;
    })
    .await;
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    let message = error.to_string();
    assert!(
        message.contains("accepts connections but does not answer"),
        "{message}"
    );
    assert!(
        message.contains("socket.connection.setup.timeout.ms"),
        "{message}"
    );
}

#[tokio::test]
async fn a_closed_port_is_named_with_its_address() {
    let peer = Peer::listen().await;
    let address = peer.address();
    drop(peer);
    let error = Cluster::connect(config(std::slice::from_ref(&address)))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    let message = error.to_string();
    assert!(
        message.contains(&address) && message.contains("nothing listens there"),
        "{message}"
    );
}

#[tokio::test]
async fn garbage_instead_of_an_answer_is_not_kafka() {
    let error = refusal_of(async |peer| {
        let mut conversation = peer.accept().await;
        conversation.receive_header().await;
        conversation.send_bytes(&[0, 0, 0, 6, 9, 9, 9, 9, 0, 0]).await;
        conversation.closed().await;
    })
    .await;
    assert_eq!(error.kind(), ErrorKind::NotKafka);
}

#[tokio::test]
async fn an_unknown_host_is_named() {
    let server = ["no-such-host.invalid:9092".to_owned()];
    let error = Cluster::connect(config(&server)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert!(
        error
            .to_string()
            .contains("\"no-such-host.invalid\" cannot be resolved"),
        "{error}"
    );
}
