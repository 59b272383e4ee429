//! One lane to one peer: connects when there is something to send, serves, and starts over after the end with a growing pause.
//!
//! Requests that wait while no connection can be had fail as "not sent" with the reason of the failed attempt; whether and
//! when to try again is for the machine that sent them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sealwax_protocol::frame::FrameDecoder;
use sealwax_protocol::version::ApiVersions;
use tokio::sync::mpsc;

use crate::config::Address;
use crate::error::{Error, ErrorKind};
use crate::machine::peer::{LinkState, Peer};
use crate::machine::retry::Backoff;
use crate::runtime::clock;
use crate::runtime::connection::{self, End};
use crate::runtime::entropy;
use crate::runtime::handshake;
use crate::runtime::transport::Transport;
use crate::runtime::wire::{Request, Wire};

/// Who wants to know how the connections are doing. Called before any answer or failure of that connection is delivered.
pub(crate) trait Observer: Send + Sync {
    /// A broker has shaken hands.
    fn connected(&self, peer: Peer, versions: &ApiVersions);
    /// A connection broke, or none could be made.
    fn failed(&self, peer: Peer, error: &Error);
}

/// What all links have in common.
#[derive(Debug, Clone)]
pub(crate) struct LinkSettings {
    pub(crate) client_id: String,
    pub(crate) setup_timeout: Duration,
    pub(crate) idle_limit: Duration,
    pub(crate) backoff: Backoff,
    pub(crate) max_frame_bytes: usize,
}

/// How a link is doing, shared with the pool.
#[derive(Debug, Default)]
pub(crate) struct LinkStatus(Mutex<LinkState>);

impl LinkStatus {
    pub(crate) fn get(&self) -> LinkState {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing shall be held against it any more.
    pub(crate) fn forgive(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let LinkState::Failing(_) = *state {
            *state = LinkState::Idle;
        }
    }

    fn set(&self, state: LinkState) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }
}

/// The task of one lane to one peer. It ends when its queue is closed (another link has replaced it) and all is answered.
pub(crate) struct Link {
    pub(crate) peer: Peer,
    pub(crate) address: Address,
    pub(crate) settings: Arc<LinkSettings>,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) status: Arc<LinkStatus>,
    pub(crate) queue: mpsc::UnboundedReceiver<Request>,
}

/// A connection that has shaken hands.
struct Ready {
    transport: Transport,
    decoder: FrameDecoder,
    versions: ApiVersions,
}

impl Link {
    /// Runs the link.
    pub(crate) async fn run(mut self) {
        let mut rng = entropy::rng();
        let mut failures: u32 = 0;
        let mut not_before = None;
        while let Some(first) = self.queue.recv().await {
            let mut waiting = VecDeque::from([first]);
            self.status.set(LinkState::Connecting);
            match self.connect(&mut waiting, not_before).await {
                Ok(ready) => {
                    let healthy = self.serve(ready, waiting).await;
                    failures = if healthy { 0 } else { failures.saturating_add(1) };
                }
                Err(error) => {
                    failures = failures.saturating_add(1);
                    self.status.set(LinkState::Failing(failures));
                    self.give_up(waiting, &error);
                }
            }
            not_before =
                (failures > 0).then(|| clock::now() + self.settings.backoff.delay(failures, &mut rng));
        }
    }

    /// Waits out the pause and connects, while requests that come in, or run out of time, are looked after.
    async fn connect(
        &mut self,
        waiting: &mut VecDeque<Request>,
        not_before: Option<Instant>,
    ) -> Result<Ready, Error> {
        let attempt = attempt(self.address.clone(), Arc::clone(&self.settings), not_before);
        tokio::pin!(attempt);
        let mut open = true;
        loop {
            let due = waiting.iter().map(|request| request.deadline).min();
            tokio::select! {
                result = &mut attempt => return result.map_err(|error| self.explain(&error)),
                request = self.queue.recv(), if open => match request {
                    Some(request) => waiting.push_back(request),
                    None => open = false,
                },
                () = clock::sleep_until(due) => self.expire(waiting),
            }
        }
    }

    /// Serves one connection to its end. Whether it was of any use: one that breaks before its first answer counts as failed.
    async fn serve(&mut self, mut ready: Ready, waiting: VecDeque<Request>) -> bool {
        let mut wire = Wire::new(
            self.name(),
            self.settings.client_id.clone(),
            ready.versions.clone(),
        );
        self.observer.connected(self.peer, &ready.versions);
        self.status.set(LinkState::Up);
        let now = clock::now();
        waiting.into_iter().for_each(|request| wire.push(now, request));
        let end = connection::serve(
            ready.transport.split(),
            &mut wire,
            &mut ready.decoder,
            &mut self.queue,
            self.settings.idle_limit,
        )
        .await;
        drop(ready);
        self.status.set(LinkState::Idle);
        match end {
            End::Idle | End::Replaced => true,
            End::Broken(error) => {
                tracing::debug!(peer = %wire.peer(), %error, "connection broke");
                let healthy = wire.has_answered();
                if !healthy {
                    self.status.set(LinkState::Failing(1));
                }
                self.observer.failed(self.peer, &error);
                wire.fail(clock::now(), &error);
                self.refuse_queued(&error);
                healthy
            }
        }
    }

    fn give_up(&mut self, waiting: VecDeque<Request>, error: &Error) {
        tracing::debug!(peer = %self.name(), %error, "no connection");
        self.observer.failed(self.peer, error);
        waiting
            .into_iter()
            .for_each(|request| request.refuse(error.clone()));
        self.refuse_queued(error);
    }

    /// Those behind a failed one fail with it, so that the machine decides anew in which order they go.
    fn refuse_queued(&mut self, error: &Error) {
        while let Ok(request) = self.queue.try_recv() {
            request.refuse(error.clone());
        }
    }

    fn expire(&self, waiting: &mut VecDeque<Request>) {
        let now = clock::now();
        for request in std::mem::take(waiting) {
            if request.deadline > now {
                waiting.push_back(request);
            } else {
                let message = format!(
                    "{:?}: no connection to {} before its deadline",
                    request.body.api_key(),
                    self.name()
                );
                request.refuse(Error::new(ErrorKind::Timeout, message));
            }
        }
    }

    fn name(&self) -> String {
        match self.peer {
            Peer::Bootstrap(_) => format!("bootstrap server {}", self.address),
            Peer::Broker(id) => format!("broker {id} at {}", self.address),
        }
    }

    /// A bootstrap server is named by who asks it.
    fn explain(&self, error: &Error) -> Error {
        match self.peer {
            Peer::Bootstrap(_) => error.clone(),
            Peer::Broker(_) => error.in_context(|message| {
                format!(
                    "{}: {message} (the address is the one that the broker advertises: advertised.listeners)",
                    self.name()
                )
            }),
        }
    }
}

/// One attempt, with the time limit on connecting and shaking hands together.
async fn attempt(
    address: Address,
    settings: Arc<LinkSettings>,
    not_before: Option<Instant>,
) -> Result<Ready, Error> {
    if let Some(at) = not_before {
        tokio::time::sleep_until(at.into()).await;
    }
    let limit = settings.setup_timeout;
    let until = tokio::time::Instant::from_std(clock::now() + limit);
    let mut transport = tokio::time::timeout_at(until, Transport::connect(&address))
        .await
        .map_err(|_| no_connection(limit))??;
    let mut decoder = FrameDecoder::new(settings.max_frame_bytes);
    let versions = {
        let (mut reader, mut writer) = transport.split();
        let handshake = handshake::shake_hands(&mut reader, &mut writer, &mut decoder, &settings.client_id);
        tokio::time::timeout_at(until, handshake)
            .await
            .map_err(|_| silent(limit))??
    };
    Ok(Ready {
        transport,
        decoder,
        versions,
    })
}

fn no_connection(limit: Duration) -> Error {
    Error::new(
        ErrorKind::Unreachable,
        format!("no connection within {limit:?} (socket.connection.setup.timeout.ms)"),
    )
}

fn silent(limit: Duration) -> Error {
    Error::new(
        ErrorKind::Unreachable,
        format!(
            "it accepts connections but does not answer Kafka's ApiVersions within {limit:?} \
             (socket.connection.setup.timeout.ms); a broker that hangs does so, and so does an HTTP server that waits for more"
        ),
    )
}
