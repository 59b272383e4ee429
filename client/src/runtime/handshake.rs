//! The first words on a connection: which versions does the broker speak (ApiVersions; KIP-35, KIP-511)?
//!
//! Asked in version 4; a broker that does not know it answers in version 0 with its own range, and is asked once more in the
//! best version of that range. Whatever else comes is told apart: an HTTP server, a TLS port, a port that stays silent.

use sealwax_protocol::ApiKey;
use sealwax_protocol::StrBytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::frame::FrameDecoder;
use sealwax_protocol::ids::CorrelationId;
use sealwax_protocol::messages::{ApiVersionsRequest, ApiVersionsResponse};
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::{self, ResponseBody};
use sealwax_protocol::version::ApiVersions;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::error::{Error, ErrorKind};

/// The layout that every broker can read.
const FALLBACK: i16 = 0;

/// Shakes hands. The decoder keeps whatever the peer sent beyond the answer.
pub(crate) async fn shake_hands(
    reader: &mut (impl AsyncRead + Unpin),
    writer: &mut (impl AsyncWrite + Unpin),
    decoder: &mut FrameDecoder,
    client_id: &str,
) -> Result<ApiVersions, Error> {
    let request = RequestBody::from(
        ApiVersionsRequest::default()
            .with_client_software_name(StrBytes::from_static_str("sealwax"))
            .with_client_software_version(StrBytes::from_static_str(env!("CARGO_PKG_VERSION"))),
    );
    let best = request.versions().max;
    let mut exchange = Exchange {
        reader,
        writer,
        decoder,
        client_id,
    };
    let first = exchange.ask(&request, best, CorrelationId(0)).await?;
    let answer = if ErrorCode(first.error_code) == ErrorCode::UNSUPPORTED_VERSION {
        let version = ApiVersions::from_response(&first)
            .negotiate(ApiKey::ApiVersions, request.versions())
            .filter(|version| *version < best)
            .unwrap_or(FALLBACK);
        exchange.ask(&request, version, CorrelationId(1)).await?
    } else {
        first
    };
    let code = ErrorCode(answer.error_code);
    if code.is_error() {
        return Err(Error::broker(
            ErrorKind::Broker,
            code,
            "the version handshake was refused",
        ));
    }
    Ok(ApiVersions::from_response(&answer))
}

struct Exchange<'a, R, W> {
    reader: &'a mut R,
    writer: &'a mut W,
    decoder: &'a mut FrameDecoder,
    client_id: &'a str,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Exchange<'_, R, W> {
    async fn ask(
        &mut self,
        request: &RequestBody,
        version: i16,
        correlation: CorrelationId,
    ) -> Result<ApiVersionsResponse, Error> {
        let encoded = request
            .encode(version, correlation, self.client_id)
            .map_err(|error| {
                Error::new(
                    ErrorKind::Config,
                    format!("the handshake cannot be written: {error}"),
                )
            })?;
        for part in &encoded.parts {
            self.writer.write_all(part).await.map_err(|error| broke(&error))?;
        }
        let frame = loop {
            if let Some(frame) = self.decoder.next_frame().map_err(|error| not_kafka(&error))? {
                break frame;
            }
            let read = self.reader.read_buf(self.decoder.buffer_mut()).await;
            if read.map_err(|error| broke(&error))? == 0 {
                return Err(closed());
            }
        };
        if response::correlation_id(&frame) != Ok(correlation) {
            return Err(not_kafka(&"the answer does not carry the number of the question"));
        }
        match ResponseBody::decode(frame, ApiKey::ApiVersions, version) {
            Ok(ResponseBody::ApiVersions(answer)) => Ok(answer),
            Ok(other) => Err(not_kafka(&format_args!("{:?} was answered", other.api_key()))),
            Err(error) => Err(not_kafka(&error)),
        }
    }
}

/// What the peer's first bytes show it to be.
fn not_kafka(what: &dyn std::fmt::Display) -> Error {
    Error::new(
        ErrorKind::NotKafka,
        format!("it does not speak Kafka's protocol: {what}"),
    )
}

fn broke(error: &std::io::Error) -> Error {
    Error::new(
        ErrorKind::Unreachable,
        format!("the connection broke during the version handshake ({error}); {CLOSED_HINT}"),
    )
}

fn closed() -> Error {
    Error::new(
        ErrorKind::Unreachable,
        format!("the connection was closed during the version handshake; {CLOSED_HINT}"),
    )
}

const CLOSED_HINT: &str =
    "a listener that wants TLS or SASL does so to a plain client, and so does a broker that is going down";
