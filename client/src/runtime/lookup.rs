//! Coordinator look-ups: one at a time for each key, however many wait for it.
//!
//! A search is a task of its own, so that it survives the caller that started it, and it ends as soon as nobody waits any more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use sealwax_protocol::ids::NodeId;
use sealwax_protocol::response::ResponseBody;
use tokio::sync::watch;

use crate::error::{Error, ErrorKind};
use crate::machine::coordinator::{self, CoordinatorCache, CoordinatorKey, LookupAnswer};
use crate::machine::metadata::Broker;
use crate::machine::retry::Backoff;
use crate::machine::{CoordinatorKind, RequestFailure};
use crate::runtime::clock;
use crate::runtime::cluster::{Cluster, Whom};
use crate::runtime::entropy;

/// What is known of coordinators, and who is being looked for.
#[derive(Debug, Default)]
pub(crate) struct Coordinators {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    cache: CoordinatorCache,
    searches: HashMap<CoordinatorKey, watch::Sender<Progress>>,
}

/// How a search is going.
#[derive(Debug, Clone)]
enum Progress {
    /// Still searching; the last reason why it is not over.
    Searching(Option<Error>),
    Found(Broker),
    Refused(Error),
}

/// A place in the queue of those who wait for a search.
#[derive(Debug)]
pub(crate) struct Waiting {
    key: CoordinatorKey,
    progress: watch::Receiver<Progress>,
}

impl Coordinators {
    /// The coordinator, if it is known.
    pub(crate) fn known(&self, key: &CoordinatorKey) -> Option<Broker> {
        self.lock().cache.get(key).cloned()
    }

    /// A broker that coordinates something.
    pub(crate) fn broker(&self, node: NodeId) -> Option<Broker> {
        self.lock().cache.broker(node).cloned()
    }

    /// The coordinator has moved.
    pub(crate) fn forget(&self, kind: CoordinatorKind, key: Arc<str>) {
        self.lock().cache.forget(&(kind, key));
    }

    /// A broker broke off.
    pub(crate) fn forget_broker(&self, node: NodeId) {
        self.lock().cache.forget_broker(node);
    }

    /// Joins the search for a key, or starts it.
    pub(crate) fn search(&self, cluster: &Arc<Cluster>, key: CoordinatorKey) -> Waiting {
        let mut inner = self.lock();
        let progress = match inner.searches.get(&key) {
            Some(search) => search.subscribe(),
            None => {
                let (sender, progress) = watch::channel(Progress::Searching(None));
                inner.searches.insert(key.clone(), sender.clone());
                let search = search(Arc::downgrade(cluster), key.clone(), sender);
                #[allow(
                    clippy::disallowed_methods,
                    reason = "a search outlives the caller that started it"
                )]
                tokio::spawn(search);
                progress
            }
        };
        Waiting { key, progress }
    }

    /// Ends a search: the answer is kept for those who ask later, and told to those who wait.
    fn conclude(&self, key: &CoordinatorKey, search: &watch::Sender<Progress>, outcome: Progress) {
        let mut inner = self.lock();
        inner.searches.remove(key);
        if let Progress::Found(broker) = &outcome {
            inner.cache.insert(key.clone(), broker.clone());
        }
        search.send_replace(outcome);
    }

    /// Ends a search that nobody waits for. Under the lock, so that nobody joins in the meantime.
    fn abandon(&self, key: &CoordinatorKey, search: &watch::Sender<Progress>) -> bool {
        let mut inner = self.lock();
        let abandoned = search.receiver_count() == 0;
        if abandoned {
            inner.searches.remove(key);
        }
        abandoned
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// Waits for the search's outcome.
    pub(crate) async fn outcome(mut self, deadline: Instant) -> Result<Broker, Error> {
        let settled = self
            .progress
            .wait_for(|progress| !matches!(progress, Progress::Searching(_)));
        let outcome = match tokio::time::timeout_at(deadline.into(), settled).await {
            Ok(Ok(progress)) => progress.clone(),
            Ok(Err(_)) => Progress::Refused(closed()),
            Err(_) => Progress::Searching(None),
        };
        match outcome {
            Progress::Found(broker) => Ok(broker),
            Progress::Refused(error) => Err(error),
            Progress::Searching(_) => Err(self.out_of_time()),
        }
    }

    fn out_of_time(&self) -> Error {
        let (kind, name) = &self.key;
        let why = match &*self.progress.borrow() {
            Progress::Searching(Some(error)) => format!("; the last attempt: {error}"),
            Progress::Searching(None) | Progress::Found(_) | Progress::Refused(_) => String::new(),
        };
        Error::new(
            ErrorKind::Timeout,
            format!(
                "the coordinator of {} {name:?} was not found before the deadline{why}",
                kind.noun()
            ),
        )
    }
}

fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the client was closed")
}

async fn search(cluster: Weak<Cluster>, key: CoordinatorKey, progress: watch::Sender<Progress>) {
    let mut rng = entropy::rng();
    let mut failures: u32 = 0;
    loop {
        let Some((answer, backoff)) = ask(&cluster, &key) else {
            return;
        };
        let answer = tokio::select! {
            answer = answer => answer,
            () = progress.closed() => Err(RequestFailure::NotSent(closed())),
        };
        let Some(shared) = cluster.upgrade() else { return };
        match read(&key, answer) {
            LookupAnswer::Found(broker) => {
                return shared
                    .coordinators()
                    .conclude(&key, &progress, Progress::Found(broker));
            }
            LookupAnswer::Refused(error) => {
                return shared
                    .coordinators()
                    .conclude(&key, &progress, Progress::Refused(error));
            }
            LookupAnswer::Later(error) => {
                progress.send_replace(Progress::Searching(Some(error)));
            }
        }
        if shared.coordinators().abandon(&key, &progress) {
            return;
        }
        drop(shared);
        failures = failures.saturating_add(1);
        tokio::select! {
            () = tokio::time::sleep(backoff.delay(failures, &mut rng)) => {}
            () = progress.closed() => {}
        }
    }
}

/// Sends one FindCoordinator. The cluster is not held on to while its answer is awaited.
fn ask(
    cluster: &Weak<Cluster>,
    key: &CoordinatorKey,
) -> Option<(
    impl Future<Output = Result<ResponseBody, RequestFailure>> + use<>,
    Backoff,
)> {
    let cluster = cluster.upgrade()?;
    let deadline = clock::now() + cluster.config().request_timeout;
    let answer = cluster.ask(Whom::Any, coordinator::request(key).into(), deadline);
    Some((answer, cluster.retry_backoff()))
}

fn read(key: &CoordinatorKey, answer: Result<ResponseBody, RequestFailure>) -> LookupAnswer {
    match answer {
        Ok(ResponseBody::FindCoordinator(response)) => coordinator::classify(key, &response),
        Ok(other) => LookupAnswer::Refused(Error::new(
            ErrorKind::Corrupt,
            format!("FindCoordinator was answered with {:?}", other.api_key()),
        )),
        Err(failure) if failure.error().kind() == ErrorKind::UnsupportedVersion => {
            LookupAnswer::Refused(failure.error().clone())
        }
        Err(failure) => LookupAnswer::Later(failure.error().clone()),
    }
}
