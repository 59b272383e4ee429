//! One connection: a thread for each direction, frame by frame.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, ensure};
use kafka_protocol::messages::ApiKey;

use super::rewrite::AddressBook;
use super::{Request, Rule, Verdict};

/// Largest frame that passes: what a broker accepts by default.
const MAX_FRAME: usize = 100 * 1024 * 1024;

/// The door in front of one broker.
pub(super) struct Gate {
    pub(super) node: usize,
    pub(super) upstream: SocketAddr,
    pub(super) rule: Arc<dyn Rule>,
    pub(super) book: Arc<AddressBook>,
    pub(super) closed: Arc<AtomicBool>,
    pub(super) connections: Arc<AtomicU64>,
}

/// Both ends of one connection, and the requests whose answers are still due.
struct Wire {
    client: TcpStream,
    broker: TcpStream,
    open: Mutex<HashMap<i32, Request>>,
}

impl Wire {
    fn cut(&self) {
        // Either end may be gone already; gone is what is wanted.
        let _ = self.client.shutdown(Shutdown::Both);
        let _ = self.broker.shutdown(Shutdown::Both);
    }

    fn open(&self) -> std::sync::MutexGuard<'_, HashMap<i32, Request>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Gate {
    /// Takes connections until the proxy is closed.
    pub(super) fn accept_all(self, listener: &TcpListener) {
        let gate = Arc::new(self);
        while let Ok((client, _)) = listener.accept() {
            if gate.closed.load(Ordering::SeqCst) {
                return;
            }
            let gate = Arc::clone(&gate);
            thread::spawn(move || gate.serve(client));
        }
    }

    fn serve(self: Arc<Self>, client: TcpStream) {
        // A broker that is down is seen by the client as a connection that closes at once.
        let Ok(broker) = TcpStream::connect(self.upstream) else {
            return;
        };
        // Small frames must not wait for each other; where the option cannot be set they only come later.
        let _ = (client.set_nodelay(true), broker.set_nodelay(true));
        let wire = Arc::new(Wire {
            client,
            broker,
            open: Mutex::new(HashMap::new()),
        });
        let connection = self.connections.fetch_add(1, Ordering::SeqCst);
        let back = { (Arc::clone(&self), Arc::clone(&wire)) };
        let answers = thread::spawn(move || {
            // The end of a connection, however it comes, ends both directions.
            let _ = back.0.relay_answers(&back.1);
            back.1.cut();
        });
        let _ = self.relay_requests(&wire, connection);
        wire.cut();
        let _ = answers.join();
    }

    fn relay_requests(&self, wire: &Wire, connection: u64) -> Result<()> {
        while let Some(frame) = read_frame(&mut &wire.client)? {
            let (request, correlation) = self.request(frame, connection)?;
            wire.open().insert(correlation, request.clone());
            match self.rule.request(&request) {
                Verdict::Pass | Verdict::Code(_) => write_frame(&mut &wire.broker, &request.frame)?,
                Verdict::Hold => {}
                Verdict::Cut => return Ok(()),
            }
        }
        Ok(())
    }

    fn relay_answers(&self, wire: &Wire) -> Result<()> {
        while let Some(frame) = read_frame(&mut &wire.broker)? {
            let correlation = i32::from_be_bytes(
                frame
                    .get(..4)
                    .context("an answer without correlation id")?
                    .try_into()?,
            );
            let request = wire
                .open()
                .remove(&correlation)
                .context("an answer that nobody asked for")?;
            match self.rule.answer(&request) {
                Verdict::Pass => write_frame(&mut &wire.client, &self.book.rewrite(&request, frame)?)?,
                Verdict::Code(code) => write_frame(&mut &wire.client, &with_code(frame, code)?)?,
                Verdict::Hold => {}
                Verdict::Cut => return Ok(()),
            }
        }
        Ok(())
    }

    fn request(&self, frame: Vec<u8>, connection: u64) -> Result<(Request, i32)> {
        let header: [u8; 8] = frame
            .get(..8)
            .context("a request shorter than its header")?
            .try_into()?;
        let api = ApiKey::try_from(i16::from_be_bytes([header[0], header[1]])).ok();
        let version = i16::from_be_bytes([header[2], header[3]]);
        let correlation = i32::from_be_bytes([header[4], header[5], header[6], header[7]]);
        Ok((
            Request {
                node: self.node,
                connection,
                api,
                version,
                frame,
            },
            correlation,
        ))
    }
}

/// The answer with another error code: behind correlation id, tagged fields (none) and throttle time.
fn with_code(mut frame: Vec<u8>, code: i16) -> Result<Vec<u8>> {
    let place = frame.get_mut(9..11).context("an answer without error code")?;
    place.copy_from_slice(&code.to_be_bytes());
    Ok(frame)
}

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
    let mut bytes = Vec::with_capacity(frame.len() + 4);
    bytes.extend_from_slice(&i32::try_from(frame.len())?.to_be_bytes());
    bytes.extend_from_slice(frame);
    Ok(stream.write_all(&bytes)?)
}
