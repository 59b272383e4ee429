//! Frames on a socket: read, written, written in part, written byte by byte; and a message in a frame, changed.

use std::io::{Read, Write};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bytes::{Buf, Bytes, BytesMut};
use kafka_protocol::messages::{RequestHeader, ResponseHeader};
use kafka_protocol::protocol::{Decodable, Encodable};

use super::Request;

/// Largest frame that passes: what a broker accepts by default.
const MAX_FRAME: usize = 100 * 1024 * 1024;
/// Into how many pieces a trickled frame is cut at most, and how long it rests between two of them.
const PIECES: usize = 64;
const REST: Duration = Duration::from_millis(5);

/// The next frame without its length; `None` at the end of the stream.
pub(super) fn read_frame(stream: &mut impl Read) -> Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    if stream.read_exact(&mut length).is_err() {
        return Ok(None);
    }
    let length = usize::try_from(i32::from_be_bytes(length))?;
    ensure!(length <= MAX_FRAME, "a frame of {length} bytes");
    let mut frame = vec![0; length];
    stream.read_exact(&mut frame)?;
    Ok(Some(frame))
}

pub(super) fn write_frame(stream: &mut impl Write, frame: &[u8]) -> Result<()> {
    Ok(stream.write_all(&with_length(frame)?)?)
}

/// The first half of a frame, and no more.
pub(super) fn write_half(stream: &mut impl Write, frame: &[u8]) -> Result<()> {
    let bytes = with_length(frame)?;
    let half = bytes.get(..bytes.len() / 2).unwrap_or_default();
    Ok(stream.write_all(half)?)
}

/// The frame in small pieces, with pauses.
pub(super) fn trickle(stream: &mut impl Write, frame: &[u8]) -> Result<()> {
    let bytes = with_length(frame)?;
    for piece in bytes.chunks(bytes.len().div_ceil(PIECES)) {
        stream.write_all(piece)?;
        thread::sleep(REST);
    }
    Ok(())
}

fn with_length(frame: &[u8]) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(frame.len() + 4);
    bytes.extend_from_slice(&i32::try_from(frame.len())?.to_be_bytes());
    bytes.extend_from_slice(frame);
    Ok(bytes)
}

/// The frame of an answer with its body changed.
pub(super) fn changed<T: Decodable + Encodable>(
    request: &Request,
    frame: Vec<u8>,
    change: impl FnOnce(&mut T),
) -> Result<Vec<u8>> {
    let Some(api) = request.api else { return Ok(frame) };
    let version = api.response_header_version(request.version);
    let mut bytes = Bytes::from(frame);
    let header = ResponseHeader::decode(&mut bytes, version)?;
    let mut body = T::decode(&mut bytes, request.version)?;
    ensure!(
        !bytes.has_remaining(),
        "bytes are left over behind an answer to {api:?}"
    );
    change(&mut body);
    answer(request, header, &body)
}

/// The frame of an answer that no broker gave.
pub(super) fn forged(request: &Request, body: &impl Encodable) -> Result<Vec<u8>> {
    answer(
        request,
        ResponseHeader::default().with_correlation_id(request.correlation),
        body,
    )
}

fn answer(request: &Request, header: ResponseHeader, body: &impl Encodable) -> Result<Vec<u8>> {
    let api = request.api.context("an API that is not known")?;
    let mut out = BytesMut::new();
    header.encode(&mut out, api.response_header_version(request.version))?;
    body.encode(&mut out, request.version)?;
    Ok(out.to_vec())
}

/// The body of a request.
pub(super) fn asked<T: Decodable>(request: &Request) -> Result<T> {
    let api = request.api.context("an API that is not known")?;
    let mut bytes = Bytes::from(request.frame.clone());
    RequestHeader::decode(&mut bytes, api.request_header_version(request.version))?;
    T::decode(&mut bytes, request.version)
}
