//! One established connection: reads and writes at once until it ends. All bookkeeping is in [`Wire`].
//!
//! A connection is beyond use after the first damaged answer, I/O error or missed deadline: a broker that leaves one request
//! unanswered is sick, and every answer behind it would wait. Java closes the connection then as well.

use std::io::IoSlice;
use std::time::{Duration, Instant};

use sealwax_protocol::frame::FrameDecoder;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

use crate::error::{Error, ErrorKind};
use crate::runtime::clock;
use crate::runtime::wire::{PARTS_PER_WRITE, Request, Wire};

/// Room that is kept free for the next read. Large frames make their own room.
const READ_ROOM: usize = 16 * 1024;

/// Requests that are taken over before the next write or read.
const TAKE_AT_ONCE: usize = 64;

/// How a connection came to its end.
#[derive(Debug)]
pub(crate) enum End {
    /// Closed while nothing was in flight, by either side: no error.
    Idle,
    /// It was replaced by another one, and everything in flight is answered.
    Replaced,
    /// It broke: whatever is in flight has no answer.
    Broken(Error),
}

/// What made the loop turn.
#[allow(
    clippy::large_enum_variant,
    reason = "it lives on the stack for one turn; a box would cost an allocation for each request"
)]
enum Turn {
    Read(std::io::Result<usize>),
    Written(std::io::Result<usize>),
    Taken(Option<Request>),
    Deadline,
}

/// Serves requests until the connection ends. What is in flight then stays in the wire for the caller to fail.
pub(crate) async fn serve(
    (mut reader, mut writer): (impl AsyncRead + Unpin, impl AsyncWrite + Unpin),
    wire: &mut Wire,
    decoder: &mut FrameDecoder,
    queue: &mut mpsc::UnboundedReceiver<Request>,
    idle_limit: Duration,
) -> End {
    let mut open = true;
    let mut last_use = clock::now();
    loop {
        if !open && wire.is_idle() {
            return End::Replaced;
        }
        decoder.buffer_mut().reserve(READ_ROOM);
        let due = wire.deadline().unwrap_or(last_use + idle_limit);
        let turn = turn(&mut reader, &mut writer, wire, decoder, queue, open, due).await;
        let now = clock::now();
        let step = match turn {
            Turn::Read(read) => on_read(wire, decoder, read),
            Turn::Written(Ok(0)) => Err(broken(wire, &"nothing more can be written")),
            Turn::Written(Ok(count)) => {
                wire.advance(count);
                Ok(())
            }
            Turn::Written(Err(error)) => Err(broken(wire, &error)),
            Turn::Taken(Some(first)) => {
                take(now, wire, first, queue);
                Ok(())
            }
            Turn::Taken(None) => {
                open = false;
                Ok(())
            }
            Turn::Deadline if wire.is_idle() => Err(End::Idle),
            Turn::Deadline => Err(on_deadline(wire)),
        };
        if let Err(end) = step {
            return end;
        }
        last_use = now;
    }
}

async fn turn(
    reader: &mut (impl AsyncRead + Unpin),
    writer: &mut (impl AsyncWrite + Unpin),
    wire: &Wire,
    decoder: &mut FrameDecoder,
    queue: &mut mpsc::UnboundedReceiver<Request>,
    open: bool,
    due: Instant,
) -> Turn {
    let mut parts = [IoSlice::new(&[]); PARTS_PER_WRITE];
    let mut count = 0;
    for (slot, part) in parts.iter_mut().zip(wire.parts()) {
        *slot = part;
        count += 1;
    }
    let parts = parts.get(..count).unwrap_or(&[]);
    tokio::select! {
        read = reader.read_buf(decoder.buffer_mut()) => Turn::Read(read),
        written = writer.write_vectored(parts), if wire.has_output() => Turn::Written(written),
        request = queue.recv(), if open => Turn::Taken(request),
        () = tokio::time::sleep_until(due.into()) => Turn::Deadline,
    }
}

fn take(now: Instant, wire: &mut Wire, first: Request, queue: &mut mpsc::UnboundedReceiver<Request>) {
    wire.push(now, first);
    for _ in 1..TAKE_AT_ONCE {
        let Ok(request) = queue.try_recv() else { return };
        wire.push(now, request);
    }
}

fn on_read(wire: &mut Wire, decoder: &mut FrameDecoder, read: std::io::Result<usize>) -> Result<(), End> {
    match read {
        Ok(0) if wire.is_idle() && !wire.is_trusting() => return Err(End::Idle),
        Ok(0) if wire.is_idle() => {
            return Err(broken(
                wire,
                &"the broker closed it after requests with acks=0, which it may not have taken",
            ));
        }
        Ok(0) => return Err(broken(wire, &"the broker closed it")),
        Ok(_) => {}
        Err(_) if wire.is_idle() && !wire.is_trusting() => return Err(End::Idle),
        Err(error) => return Err(broken(wire, &error)),
    }
    loop {
        match decoder.next_frame() {
            Ok(Some(frame)) => wire.receive(frame).map_err(End::Broken)?,
            Ok(None) => return Ok(()),
            Err(error) => {
                let message = format!("{} sent a damaged frame: {error}", wire.peer());
                return Err(End::Broken(Error::new(ErrorKind::Corrupt, message)));
            }
        }
    }
}

fn on_deadline(wire: &Wire) -> End {
    End::Broken(Error::new(
        ErrorKind::Unreachable,
        format!(
            "the connection to {} was given up, because an earlier request on it went unanswered",
            wire.peer()
        ),
    ))
}

fn broken(wire: &Wire, why: &dyn std::fmt::Display) -> End {
    End::Broken(Error::new(
        ErrorKind::Unreachable,
        format!("the connection to {} broke: {why}", wire.peer()),
    ))
}
