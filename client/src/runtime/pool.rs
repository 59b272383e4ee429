//! The connections of a client, by peer and lane; each is opened on its first request, and all end with the pool.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::config::Address;
use crate::machine::Lane;
use crate::machine::peer::{LinkState, Peer};
use crate::runtime::link::{Link, LinkSettings, LinkStatus, Observer};
use crate::runtime::wire::Request;

/// The connections.
pub(crate) struct Pool {
    settings: Arc<LinkSettings>,
    observer: Arc<dyn Observer>,
    links: Mutex<HashMap<(Peer, Lane), Entry>>,
}

struct Entry {
    address: Address,
    queue: mpsc::UnboundedSender<Request>,
    status: Arc<LinkStatus>,
    task: AbortHandle,
}

impl Pool {
    /// No connection is made yet.
    pub(crate) fn new(settings: LinkSettings, observer: Arc<dyn Observer>) -> Self {
        Self {
            settings: Arc::new(settings),
            observer,
            links: Mutex::default(),
        }
    }

    /// Puts a request behind those before it on the same peer and lane. A peer that has moved gets a new connection.
    pub(crate) fn enqueue(&self, peer: Peer, address: &Address, lane: Lane, request: Request) {
        let mut links = self.lock();
        let entry = links
            .entry((peer, lane))
            .or_insert_with(|| self.open(peer, address.clone()));
        if entry.address != *address {
            *entry = self.open(peer, address.clone());
        }
        if let Err(mpsc::error::SendError(request)) = entry.queue.send(request) {
            // The task is gone, which only a panic in it can do: a new one starts over.
            *entry = self.open(peer, address.clone());
            // It cannot be gone already; if it were, the request would be dropped, which its sender sees.
            let _ = entry.queue.send(request);
        }
    }

    /// How the connection of a lane is doing.
    pub(crate) fn state(&self, peer: Peer, lane: Lane) -> LinkState {
        self.lock()
            .get(&(peer, lane))
            .map_or(LinkState::Idle, |entry| entry.status.get())
    }

    /// Gives every peer that failed another chance.
    pub(crate) fn forgive(&self) {
        self.lock().values().for_each(|entry| entry.status.forgive());
    }

    fn open(&self, peer: Peer, address: Address) -> Entry {
        let (sender, queue) = mpsc::unbounded_channel();
        let status = Arc::new(LinkStatus::default());
        let link = Link {
            peer,
            address: address.clone(),
            settings: Arc::clone(&self.settings),
            observer: Arc::clone(&self.observer),
            status: Arc::clone(&status),
            queue,
        };
        #[allow(clippy::disallowed_methods, reason = "a connection is a task of its own")]
        let task = tokio::spawn(link.run()).abort_handle();
        Entry {
            address,
            queue: sender,
            status,
            task,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(Peer, Lane), Entry>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pool {
    /// Whoever needs an answer holds the client, so nobody waits for one here any more. A connection that was replaced before
    /// is not among these: it ends with its last answer.
    fn drop(&mut self) {
        self.lock().values().for_each(|entry| entry.task.abort());
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("links", &self.lock().len()).finish()
    }
}
