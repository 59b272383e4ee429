//! The `kafka-protocol` crate as a second opinion: whole frames as it writes and reads them.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use kafka_protocol::messages::{ApiKey, RequestHeader, ResponseHeader};
use kafka_protocol::protocol::{Decodable, Encodable};

/// A request frame with its length.
pub(crate) fn request_frame(api: ApiKey, version: i16, correlation_id: i32, body: &impl Encodable) -> Bytes {
    let header = RequestHeader::default()
        .with_request_api_key(api as i16)
        .with_request_api_version(version)
        .with_correlation_id(correlation_id)
        .with_client_id(Some("tester".into()));
    let mut bytes = BytesMut::new();
    header
        .encode(&mut bytes, api.request_header_version(version))
        .unwrap();
    body.encode(&mut bytes, version).unwrap();
    with_length(&bytes)
}

/// A response frame with its length.
pub(crate) fn response_frame(api: ApiKey, version: i16, correlation_id: i32, body: &impl Encodable) -> Bytes {
    let mut bytes = BytesMut::new();
    let header = ResponseHeader::default().with_correlation_id(correlation_id);
    header
        .encode(&mut bytes, api.response_header_version(version))
        .unwrap();
    body.encode(&mut bytes, version).unwrap();
    with_length(&bytes)
}

/// Reads a request frame with its length.
pub(crate) fn read_request<T: Decodable>(mut frame: Bytes, api: ApiKey, version: i16) -> (RequestHeader, T) {
    assert_eq!(usize::try_from(frame.get_u32()).unwrap(), frame.remaining());
    let header = RequestHeader::decode(&mut frame, api.request_header_version(version)).unwrap();
    let body = T::decode(&mut frame, version).unwrap();
    assert!(frame.is_empty(), "{} bytes are left over", frame.len());
    (header, body)
}

fn with_length(bytes: &[u8]) -> Bytes {
    let mut frame = BytesMut::new();
    frame.put_u32(u32::try_from(bytes.len()).unwrap());
    frame.put_slice(bytes);
    frame.freeze()
}
