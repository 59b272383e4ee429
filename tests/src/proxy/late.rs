//! A request, delivered over a connection of its own: one that was held, as if it had been on its way in a connection that its sender
//! took for dead; or a second copy of one that was passed on.

use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result};

use super::Request;
use super::frame::{read_frame, write_frame};

/// How long the broker may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sends the request to the broker that it was meant for, over a connection of its own, and returns the frame of the answer.
/// `bootstrap` is the brokers' own list.
///
/// # Errors
/// If the broker cannot be reached or closes the connection instead of an answer.
pub fn deliver(bootstrap: &str, request: &Request) -> Result<Vec<u8>> {
    let address = bootstrap.split(',').nth(request.node).context("no such broker")?;
    deliver_to(TcpStream::connect(address)?, request)
}

/// As [`deliver`], to the broker at the other end of the stream.
pub(super) fn deliver_to(mut broker: TcpStream, request: &Request) -> Result<Vec<u8>> {
    broker.set_read_timeout(Some(PATIENCE))?;
    write_frame(&mut broker, &request.frame)?;
    read_frame(&mut broker)?.context("the broker gave no answer")
}
