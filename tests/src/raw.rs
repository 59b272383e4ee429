//! A bare connection to a broker: one request of the protocol crate at a time, its answer, nothing decided. For asking brokers what no
//! client would ask.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sealwax_protocol::ids::CorrelationId;
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::{ResponseBody, correlation_id};

/// Larger answers are refused.
const LARGEST_ANSWER: usize = 64 << 20;
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A connection to one broker. Its methods block.
#[derive(Debug)]
pub struct RawConnection {
    stream: TcpStream,
    correlation: i32,
}

impl RawConnection {
    /// Connects to `host:port`.
    ///
    /// # Errors
    /// If nobody listens there.
    pub fn connect(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).with_context(|| format!("{address}: no connection"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self {
            stream,
            correlation: 0,
        })
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    /// If the version cannot carry the request, the broker closes the connection or is silent for 30 s, or its answer cannot be read.
    pub fn call(&mut self, version: i16, body: &RequestBody) -> Result<ResponseBody> {
        self.correlation += 1;
        let correlation = CorrelationId(self.correlation);
        let frame = body.encode(version, correlation, "sealwax-tests")?;
        self.stream.write_all(&frame.concat())?;
        let mut length = [0; 4];
        self.stream.read_exact(&mut length).context("no answer")?;
        let length = usize::try_from(i32::from_be_bytes(length)).unwrap_or(usize::MAX);
        ensure!(length <= LARGEST_ANSWER, "an answer of {length} bytes is refused");
        let mut answer = vec![0; length];
        self.stream
            .read_exact(&mut answer)
            .context("the answer is cut off")?;
        let answer = answer.into();
        ensure!(
            correlation_id(&answer)? == correlation,
            "the answer belongs to another request"
        );
        Ok(ResponseBody::decode(answer, body.api_key(), version)?)
    }
}
