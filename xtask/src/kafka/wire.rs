//! A minimal blocking Kafka call: one request, one response, through the `kafka-protocol` crate alone.
//!
//! xtask depends on none of our crates, so that what it observes about a broker is not our client's opinion. It talks only to
//! brokers that it started, which is why kafka-protocol's trust in counts on the wire is acceptable here.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::{RequestHeader, ResponseHeader};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, Request, StrBytes};

/// Larger answers are refused; metadata of a test cluster is far smaller.
const LARGEST_RESPONSE: usize = 16 << 20;

/// A connection to one broker.
#[derive(Debug)]
pub(super) struct Wire {
    stream: TcpStream,
    correlation: i32,
}

impl Wire {
    /// Connects to `host:port`; each later call waits at most `limit`.
    pub(super) fn connect(address: &str, limit: Duration) -> Result<Self> {
        let target: SocketAddr = address
            .parse()
            .with_context(|| format!("`{address}` is not an address"))?;
        let stream = TcpStream::connect_timeout(&target, limit)
            .with_context(|| format!("{address}: no connection"))?;
        stream.set_read_timeout(Some(limit))?;
        stream.set_write_timeout(Some(limit))?;
        Ok(Self {
            stream,
            correlation: 0,
        })
    }

    /// Sends `request` in `version` and reads the answer.
    pub(super) fn call<R: Request>(&mut self, version: i16, request: &R) -> Result<R::Response> {
        self.correlation += 1;
        let frame = encode(self.correlation, version, request)?;
        self.stream
            .write_all(&frame)
            .context("the request could not be written")?;
        let mut answer = self.read_frame()?;
        let header = ResponseHeader::decode(&mut answer, R::Response::header_version(version))?;
        ensure!(
            header.correlation_id == self.correlation,
            "the answer belongs to another request"
        );
        R::Response::decode(&mut answer, version)
    }

    fn read_frame(&mut self) -> Result<Bytes> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length).context("no answer")?;
        let length = usize::try_from(i32::from_be_bytes(length)).unwrap_or(usize::MAX);
        ensure!(
            length <= LARGEST_RESPONSE,
            "an answer of {length} bytes is refused"
        );
        let mut frame = vec![0; length];
        self.stream
            .read_exact(&mut frame)
            .context("the answer is cut off")?;
        Ok(frame.into())
    }
}

fn encode<R: Request>(correlation: i32, version: i16, request: &R) -> Result<Bytes> {
    let header = RequestHeader::default()
        .with_request_api_key(R::KEY)
        .with_request_api_version(version)
        .with_correlation_id(correlation)
        .with_client_id(Some(StrBytes::from_static_str("xtask")));
    let mut body = BytesMut::new();
    header.encode(&mut body, R::header_version(version))?;
    request.encode(&mut body, version)?;
    let length = i32::try_from(body.len()).context("the request is too long")?;
    let mut frame = BytesMut::with_capacity(body.len() + 4);
    frame.extend_from_slice(&length.to_be_bytes());
    frame.extend_from_slice(&body);
    Ok(frame.freeze())
}
