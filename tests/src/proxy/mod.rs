//! A TCP proxy that knows Kafka's frames: it shows every request and answer to a rule, which may pass it on, late or in pieces or
//! twice, hold it for ever, put another code into it, answer in the broker's place, or cut the connection. A request that was held
//! can be delivered later.
//!
//! Answers that carry brokers' addresses are rewritten, so that a client that entered through the proxy stays in it. Any client can
//! be used through it, not only ours.

mod bad_link;
mod code;
mod due;
mod frame;
mod late;
mod plan;
mod refusal;
mod relay;
mod rewrite;

use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use kafka_protocol::messages::ApiKey;

pub use bad_link::BadLink;
pub use late::deliver;
pub use plan::{Direction, Plan, Strike};
use rewrite::AddressBook;

/// A request as the proxy saw it.
#[derive(Debug, Clone)]
pub struct Request {
    /// Index of the broker in the bootstrap list.
    pub node: usize,
    /// Number of the connection, counted over all brokers.
    pub connection: u64,
    /// The API; `None` if the number is not known.
    pub api: Option<ApiKey>,
    /// The version.
    pub version: i16,
    /// The correlation id.
    pub correlation: i32,
    /// The frame without its length.
    pub frame: Vec<u8>,
}

impl Request {
    /// Whether the frame holds this text, a topic's name or a transactional id say.
    #[must_use]
    pub fn mentions(&self, text: &str) -> bool {
        self.frame
            .windows(text.len())
            .any(|window| window == text.as_bytes())
    }
}

/// What is to become of a request or an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is passed on.
    Pass,
    /// It and everything behind it in its direction is swallowed; the connection stays open.
    Hold,
    /// The connection is cut, in both directions, without passing it on.
    Cut,
    /// The first half of it is passed on, then the connection is cut.
    CutWithin,
    /// It is passed on later; what is behind it waits.
    Delay(Duration),
    /// It is passed on in small pieces.
    Trickle,
    /// A copy of a request goes to the broker over a connection of its own, and when the broker has answered that, which nobody hears, the
    /// request itself is passed on. An answer is passed on.
    Twice,
    /// A request never reaches the broker; the proxy answers it with this code. An answer is passed on. Not for Metadata.
    Refuse(i16),
    /// An answer is passed on with this code in place of its own, in every partition that it speaks of: of InitProducerId, AddPartitionsToTxn,
    /// AddOffsetsToTxn, TxnOffsetCommit, Produce, EndTxn, FindCoordinator and, per topic, Metadata. A request is passed on.
    Code(i16),
    /// As `Code`, for one partition only.
    CodeOf {
        /// The partition.
        partition: i32,
        /// The code.
        code: i16,
    },
}

/// Decides about each frame. Called on the proxy's threads; it may take its time, which delays that connection alone.
pub trait Rule: Send + Sync + 'static {
    /// A request, before the broker sees it.
    fn request(&self, _request: &Request) -> Verdict {
        Verdict::Pass
    }

    /// The answer to a request, before the client sees it.
    fn answer(&self, _request: &Request) -> Verdict {
        Verdict::Pass
    }
}

/// Passes everything on.
#[derive(Debug, Clone, Copy)]
pub struct Transparent;

impl Rule for Transparent {}

/// A running proxy in front of all brokers of a cluster. Its connections are cut when the value goes.
#[derive(Debug)]
pub struct Proxy {
    addresses: Vec<SocketAddr>,
    closed: Arc<AtomicBool>,
}

impl Proxy {
    /// Starts a proxy in front of the brokers of a bootstrap list.
    ///
    /// # Errors
    /// If the list is malformed or no port can be had.
    pub fn start(bootstrap: &str, rule: impl Rule) -> Result<Self> {
        let rule: Arc<dyn Rule> = Arc::new(rule);
        let closed = Arc::new(AtomicBool::new(false));
        let connections = Arc::new(AtomicU64::new(0));
        let mut listeners = Vec::new();
        let mut book = AddressBook::default();
        for address in bootstrap.split(',') {
            let upstream = address
                .to_socket_addrs()?
                .next()
                .with_context(|| format!("{address} is no address"))?;
            let listener = TcpListener::bind("127.0.0.1:0")?;
            book.insert(upstream.port(), listener.local_addr()?.port());
            listeners.push((upstream, listener));
        }
        let book = Arc::new(book);
        let mut addresses = Vec::new();
        for (node, (upstream, listener)) in listeners.into_iter().enumerate() {
            addresses.push(listener.local_addr()?);
            let gate = relay::Gate {
                node,
                upstream,
                rule: Arc::clone(&rule),
                book: Arc::clone(&book),
                closed: Arc::clone(&closed),
                connections: Arc::clone(&connections),
            };
            thread::spawn(move || gate.accept_all(&listener));
        }
        Ok(Self { addresses, closed })
    }

    /// The bootstrap list that leads through the proxy.
    #[must_use]
    pub fn bootstrap(&self) -> String {
        self.addresses
            .iter()
            .map(SocketAddr::to_string)
            .collect::<Vec<_>>()
            .join(",")
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::SeqCst);
        for address in &self.addresses {
            // Wakes the thread that waits for a connection, so that it sees the flag.
            let _ = std::net::TcpStream::connect(address);
        }
    }
}
