//! The scripted peer: accept, "receive this request", "send that answer", close.

use std::time::Duration;

use bytes::Bytes;
use sealwax_protocol::frame::FrameDecoder;
use sealwax_protocol::ids::CorrelationId;
use sealwax_protocol::messages::api_versions_response::{ApiVersion, FinalizedFeatureKey};
use sealwax_protocol::messages::metadata_response::{MetadataResponseBroker, MetadataResponseTopic};
use sealwax_protocol::messages::{ApiVersionsResponse, BrokerId, MetadataResponse};
use sealwax_protocol::request::{RequestBody, RequestHeader};
use sealwax_protocol::response::ResponseBody;
use sealwax_protocol::{ApiKey, StrBytes};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A listener on a port of its own.
pub(crate) struct Peer {
    listener: TcpListener,
}

impl Peer {
    pub(crate) async fn listen() -> Self {
        Self {
            listener: TcpListener::bind("127.0.0.1:0").await.unwrap(),
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.listener.local_addr().unwrap().port()
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port())
    }

    /// The next connection.
    pub(crate) async fn accept(&self) -> Conversation {
        let (stream, _) = patiently(self.listener.accept()).await.unwrap();
        Conversation {
            stream,
            decoder: FrameDecoder::new(1024 * 1024),
        }
    }

    /// The next connection, with the handshake done as a broker of today does it.
    pub(crate) async fn accept_and_greet(&self) -> Conversation {
        self.accept_with(&versions()).await
    }

    /// The next connection, with this handshake.
    pub(crate) async fn accept_with(&self, versions: &ApiVersionsResponse) -> Conversation {
        let mut conversation = self.accept().await;
        let (header, body) = conversation.receive().await;
        assert!(matches!(body, RequestBody::ApiVersions(_)), "{body:?}");
        conversation.answer(&header, versions.clone()).await;
        conversation
    }

    /// A Metadata answer that names this peer as broker `id` and as the controller.
    pub(crate) fn metadata(&self, id: i32) -> MetadataResponse {
        MetadataResponse::default()
            .with_controller_id(BrokerId(id))
            .with_cluster_id(Some(StrBytes::from_static_str("test-cluster")))
            .with_brokers(vec![self.broker(id)])
    }

    pub(crate) fn broker(&self, id: i32) -> MetadataResponseBroker {
        MetadataResponseBroker::default()
            .with_node_id(BrokerId(id))
            .with_host(StrBytes::from_static_str("127.0.0.1"))
            .with_port(i32::from(self.port()))
    }
}

/// One connection from the client under test.
pub(crate) struct Conversation {
    stream: TcpStream,
    decoder: FrameDecoder,
}

impl Conversation {
    /// The next request; fails the test if the connection ends first.
    pub(crate) async fn receive(&mut self) -> (RequestHeader, RequestBody) {
        let frame = self.next_frame().await.expect("the client closed the connection");
        RequestBody::decode(frame).unwrap()
    }

    /// The next request's header, whatever its API and version.
    pub(crate) async fn receive_header(&mut self) -> RequestHeader {
        let frame = self.next_frame().await.expect("the client closed the connection");
        RequestHeader::peek(&frame).unwrap()
    }

    /// Waits until the client has closed the connection; fails the test if it sends something instead.
    pub(crate) async fn closed(&mut self) {
        assert_eq!(self.next_frame().await, None);
    }

    /// The next request's header, or `None` if the client has closed the connection.
    pub(crate) async fn next_request(&mut self) -> Option<RequestHeader> {
        self.next_frame()
            .await
            .map(|frame| RequestHeader::peek(&frame).unwrap())
    }

    async fn next_frame(&mut self) -> Option<Bytes> {
        patiently(self.read_frame()).await
    }

    async fn read_frame(&mut self) -> Option<Bytes> {
        loop {
            if let Some(frame) = self.decoder.next_frame().unwrap() {
                return Some(frame);
            }
            match self.stream.read_buf(self.decoder.buffer_mut()).await {
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// Answers a request in the version in which it was asked.
    pub(crate) async fn answer(&mut self, to: &RequestHeader, body: impl Into<Answer>) {
        let bytes = encode(to.correlation_id, to.version, &body.into().0);
        self.send_bytes(&bytes).await;
    }

    /// Sends bytes as they are.
    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }
}

/// A client that does not do what the script waits for must fail the test, not hang it.
async fn patiently<T>(step: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), step)
        .await
        .expect("the client did not do what the script waits for")
}

/// What can be answered.
pub(crate) struct Answer(pub(crate) ResponseBody);

impl From<ApiVersionsResponse> for Answer {
    fn from(body: ApiVersionsResponse) -> Self {
        Self(ResponseBody::ApiVersions(body))
    }
}

impl From<MetadataResponse> for Answer {
    fn from(body: MetadataResponse) -> Self {
        Self(ResponseBody::Metadata(body))
    }
}

impl From<ResponseBody> for Answer {
    fn from(body: ResponseBody) -> Self {
        Self(body)
    }
}

/// A whole answer frame.
pub(crate) fn encode(correlation: CorrelationId, version: i16, body: &ResponseBody) -> Vec<u8> {
    body.encode(version, correlation).unwrap().parts.concat()
}

/// What a broker of today says, with all APIs that the tests use.
pub(crate) fn versions() -> ApiVersionsResponse {
    let api = |key: ApiKey, min, max| {
        ApiVersion::default()
            .with_api_key(key as i16)
            .with_min_version(min)
            .with_max_version(max)
    };
    ApiVersionsResponse::default()
        .with_api_keys(vec![
            api(ApiKey::Produce, 0, 13),
            api(ApiKey::Metadata, 0, 13),
            api(ApiKey::FindCoordinator, 0, 6),
            api(ApiKey::ApiVersions, 0, 4),
            api(ApiKey::InitProducerId, 0, 5),
            api(ApiKey::CreateTopics, 2, 7),
            api(ApiKey::ListOffsets, 1, 10),
            api(ApiKey::DescribeConfigs, 1, 4),
            api(ApiKey::Produce, 0, 13),
            api(ApiKey::TxnOffsetCommit, 0, 5),
            api(ApiKey::EndTxn, 0, 5),
        ])
        .with_finalized_features_epoch(-1)
}

/// The same with a finalized `transaction.version`.
pub(crate) fn versions_with_feature(epoch: i64, level: i16) -> ApiVersionsResponse {
    versions()
        .with_finalized_features_epoch(epoch)
        .with_finalized_features(vec![
            FinalizedFeatureKey::default()
                .with_name(StrBytes::from_static_str("transaction.version"))
                .with_max_version_level(level),
        ])
}

/// The names that a Metadata request asks for.
pub(crate) fn names(body: &RequestBody) -> Vec<String> {
    let RequestBody::Metadata(request) = body else {
        panic!("not a Metadata request: {body:?}");
    };
    let topics = request.topics.as_ref().unwrap();
    topics
        .iter()
        .map(|topic| topic.name.as_ref().unwrap().0.to_string())
        .collect()
}

/// A topic without partitions, which is how the tests tell answers apart.
pub(crate) fn empty_topic(name: &'static str) -> MetadataResponseTopic {
    crate::machine::metadata::refresh::tests::topic(name, 1, &[])
}
