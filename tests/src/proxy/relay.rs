//! One connection: a thread for each direction, frame by frame, answers in the order of their requests.

use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result};
use kafka_protocol::messages::ApiKey;

use super::due::{Due, Dues};
use super::frame::{read_frame, trickle, write_frame, write_half};
use super::rewrite::AddressBook;
use super::{Request, Rule, Verdict, code, late, refusal};

/// The door in front of one broker.
pub(super) struct Gate {
    pub(super) node: usize,
    pub(super) upstream: SocketAddr,
    pub(super) rule: Arc<dyn Rule>,
    pub(super) book: Arc<AddressBook>,
    pub(super) closed: Arc<AtomicBool>,
    pub(super) connections: Arc<AtomicU64>,
}

/// Both ends of one connection, and the answers that are still due.
struct Wire {
    client: TcpStream,
    broker: TcpStream,
    dues: Mutex<Dues>,
}

/// Whether the direction goes on after a frame.
enum Next {
    Frame,
    /// Everything that follows is swallowed, too: a stream has no holes.
    Swallow,
    Cut,
}

impl Wire {
    fn cut(&self) {
        // Either end may be gone already; gone is what is wanted.
        let _ = self.client.shutdown(Shutdown::Both);
        let _ = self.broker.shutdown(Shutdown::Both);
    }

    fn dues(&self) -> std::sync::MutexGuard<'_, Dues> {
        self.dues.lock().unwrap_or_else(PoisonError::into_inner)
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
            dues: Mutex::default(),
        });
        let connection = self.connections.fetch_add(1, Ordering::SeqCst);
        let back = { (Arc::clone(&self), Arc::clone(&wire)) };
        let answers = thread::spawn(move || {
            // The end of a connection, however it comes, ends both directions.
            let _ = back.0.relay_answers(&back.1);
            back.1.cut();
        });
        if self.relay_requests(&wire, connection).is_err() {
            wire.cut();
        }
        // What the client sent before it closed still belongs to the broker.
        let _ = wire.broker.shutdown(Shutdown::Write);
        let _ = answers.join();
    }

    fn relay_requests(&self, wire: &Wire, connection: u64) -> Result<()> {
        let mut is_swallowing = false;
        while let Some(frame) = read_frame(&mut &wire.client)? {
            if is_swallowing {
                continue;
            }
            let request = self.request(frame, connection)?;
            match self.relay_request(wire, &request)? {
                Next::Frame => {}
                Next::Swallow => is_swallowing = true,
                Next::Cut => wire.cut(),
            }
        }
        Ok(())
    }

    fn relay_request(&self, wire: &Wire, request: &Request) -> Result<Next> {
        let verdict = self.rule.request(request);
        match verdict {
            Verdict::Hold => return Ok(Next::Swallow),
            Verdict::Cut => return Ok(Next::Cut),
            Verdict::Refuse(code) => {
                let answer = refusal::refuse(request, code)?;
                let mut dues = wire.dues();
                dues.push(Due::Forged(answer));
                dues.hand_out(&wire.client)?;
                return Ok(Next::Frame);
            }
            _ if refusal::is_answered(request)? => wire.dues().push(Due::Answer(request.clone())),
            _ => {}
        }
        match verdict {
            Verdict::CutWithin => {
                write_half(&mut &wire.broker, &request.frame)?;
                return Ok(Next::Cut);
            }
            Verdict::Trickle => trickle(&mut &wire.broker, &request.frame)?,
            Verdict::Twice => {
                // Whatever the broker says to the copy, nobody hears it.
                let _ = late::deliver_to(TcpStream::connect(self.upstream)?, request);
                write_frame(&mut &wire.broker, &request.frame)?;
            }
            Verdict::Delay(time) => {
                thread::sleep(time);
                write_frame(&mut &wire.broker, &request.frame)?;
            }
            _ => write_frame(&mut &wire.broker, &request.frame)?,
        }
        Ok(Next::Frame)
    }

    fn relay_answers(&self, wire: &Wire) -> Result<()> {
        let mut is_swallowing = false;
        while let Some(frame) = read_frame(&mut &wire.broker)? {
            if is_swallowing {
                continue;
            }
            let request = wire.dues().next().context("an answer that nobody asked for")?;
            match self.relay_answer(wire, &request, frame)? {
                Next::Frame => {
                    let mut dues = wire.dues();
                    dues.answered();
                    dues.hand_out(&wire.client)?;
                }
                Next::Swallow => is_swallowing = true,
                Next::Cut => return Ok(()),
            }
        }
        Ok(())
    }

    fn relay_answer(&self, wire: &Wire, request: &Request, frame: Vec<u8>) -> Result<Next> {
        let verdict = self.rule.answer(request);
        let frame = match verdict {
            Verdict::Code(code) => code::replace(request, frame, code, None)?,
            Verdict::CodeOf { partition, code } => code::replace(request, frame, code, Some(partition))?,
            _ => frame,
        };
        let frame = self.book.rewrite(request, frame)?;
        match verdict {
            Verdict::Hold => return Ok(Next::Swallow),
            Verdict::Cut => return Ok(Next::Cut),
            Verdict::CutWithin => {
                write_half(&mut &wire.client, &frame)?;
                return Ok(Next::Cut);
            }
            Verdict::Trickle => trickle(&mut &wire.client, &frame)?,
            Verdict::Delay(time) => {
                thread::sleep(time);
                write_frame(&mut &wire.client, &frame)?;
            }
            _ => write_frame(&mut &wire.client, &frame)?,
        }
        Ok(Next::Frame)
    }

    fn request(&self, frame: Vec<u8>, connection: u64) -> Result<Request> {
        let header: [u8; 8] = frame
            .get(..8)
            .context("a request shorter than its header")?
            .try_into()?;
        Ok(Request {
            node: self.node,
            connection,
            api: ApiKey::try_from(i16::from_be_bytes([header[0], header[1]])).ok(),
            version: i16::from_be_bytes([header[2], header[3]]),
            correlation: i32::from_be_bytes([header[4], header[5], header[6], header[7]]),
            frame,
        })
    }
}
