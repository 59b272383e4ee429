//! The one loop that runs a machine: outputs out, answers in, sleep until the next of answer, timeout, news or wake-up.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use sealwax_protocol::response::ResponseBody;
use tokio::sync::Notify;

use crate::machine::{ClusterView, Machine, RequestFailure, RequestId};
use crate::runtime::clock;
use crate::runtime::cluster::Cluster;

/// The public side's hold on a machine that a driver runs. When it is dropped the machine is closed and the driver
/// ends as soon as the machine is drained.
#[derive(Debug)]
pub(crate) struct DriverHandle<M: Machine> {
    shared: Arc<Shared<M>>,
}

#[derive(Debug)]
struct Shared<M> {
    machine: Mutex<Machinery<M>>,
    /// Wakes the driver: a call may have made work.
    wake: Notify,
    /// Wakes the callers that wait for a change of the machine.
    progress: Notify,
}

#[derive(Debug)]
struct Machinery<M> {
    machine: M,
    closing: bool,
}

impl<M> Shared<M> {
    /// A panic inside a machine is a bug; the state it left is still the best there is, so poison is ignored.
    fn lock(&self) -> MutexGuard<'_, Machinery<M>> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M: Machine> DriverHandle<M> {
    /// Starts the driver. Events are handed to `on_event` outside of the machine's lock.
    pub(crate) fn spawn(
        cluster: Arc<Cluster>,
        machine: M,
        on_event: impl FnMut(M::Event) + Send + 'static,
    ) -> Self {
        let shared = Arc::new(Shared {
            machine: Mutex::new(Machinery {
                machine,
                closing: false,
            }),
            wake: Notify::new(),
            progress: Notify::new(),
        });
        #[allow(clippy::disallowed_methods, reason = "the driver is the one task of a role")]
        tokio::spawn(run(Arc::clone(&shared), cluster, on_event));
        Self { shared }
    }

    /// Calls the machine and wakes the driver to carry out what the call started.
    pub(crate) fn with<R>(&self, call: impl FnOnce(&mut M, Instant) -> R) -> R {
        let result = self.with_quietly(call);
        self.shared.wake.notify_one();
        result
    }

    /// Calls the machine without waking the driver: for queries, and for appends that leave nothing to send yet.
    pub(crate) fn with_quietly<R>(&self, call: impl FnOnce(&mut M, Instant) -> R) -> R {
        call(&mut self.shared.lock().machine, clock::now())
    }

    /// Wakes the driver.
    pub(crate) fn wake(&self) {
        self.shared.wake.notify_one();
    }

    /// Waits until `query` has an answer; it is asked again after every change of the machine.
    ///
    /// *Cancel safety*: nothing is lost; the query only reads or takes in the moment in which it answers.
    pub(crate) async fn wait_for<R>(&self, mut query: impl FnMut(&mut M, Instant) -> Option<R>) -> R {
        loop {
            let changed = self.shared.progress.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Some(answer) = self.with_quietly(&mut query) {
                self.shared.wake.notify_one();
                return answer;
            }
            changed.await;
        }
    }
}

impl<M: Machine> Drop for DriverHandle<M> {
    fn drop(&mut self) {
        let mut machinery = self.shared.lock();
        machinery.closing = true;
        machinery.machine.handle_close(clock::now());
        drop(machinery);
        self.shared.wake.notify_one();
    }
}

/// What woke the driver.
enum Wake {
    Answer(RequestId, Result<ResponseBody, RequestFailure>),
    Cluster(ClusterView),
    Call,
    Timeout,
}

async fn run<M: Machine>(shared: Arc<Shared<M>>, cluster: Arc<Cluster>, mut on_event: impl FnMut(M::Event)) {
    let mut view = cluster.view();
    let first = view.borrow_and_update().clone();
    shared.lock().machine.handle_cluster(clock::now(), &first);
    let mut answers = FuturesUnordered::new();
    loop {
        let outputs = collect(&shared);
        for directive in outputs.directives {
            cluster.direct(directive);
        }
        for outbound in outputs.requests {
            let id = outbound.id;
            let answer = cluster.submit(outbound);
            answers.push(async move { (id, answer.await) });
        }
        outputs.events.into_iter().for_each(&mut on_event);
        shared.progress.notify_waiters();
        if outputs.drained {
            return;
        }

        let timeout = clock::sleep_until(outputs.timeout);
        // Cluster news come first, so that an answer is always read with the newest knowledge (the features that decide
        // between TV1 and TV2 arrive with the connection that carries the answer).
        let wake = tokio::select! {
            biased;
            changed = view.changed() => match changed {
                Ok(()) => Wake::Cluster(view.borrow_and_update().clone()),
                Err(_) => return,
            },
            Some((id, result)) = answers.next(), if !answers.is_empty() => Wake::Answer(id, result),
            () = shared.wake.notified() => Wake::Call,
            () = timeout => Wake::Timeout,
        };
        let now = clock::now();
        let mut machinery = shared.lock();
        match wake {
            Wake::Answer(id, result) => machinery.machine.handle_response(now, id, result),
            Wake::Cluster(news) => machinery.machine.handle_cluster(now, &news),
            Wake::Call => {}
            Wake::Timeout => machinery.machine.handle_timeout(now),
        }
    }
}

struct Outputs<E> {
    directives: Vec<crate::machine::Directive>,
    requests: Vec<crate::machine::Outbound>,
    events: Vec<E>,
    timeout: Option<Instant>,
    drained: bool,
}

fn collect<M: Machine>(shared: &Shared<M>) -> Outputs<M::Event> {
    let now = clock::now();
    let mut machinery = shared.lock();
    let machine = &mut machinery.machine;
    let directives: Vec<_> = std::iter::from_fn(|| machine.poll_directive()).collect();
    let requests: Vec<_> = std::iter::from_fn(|| machine.poll_request(now)).collect();
    let events: Vec<_> = std::iter::from_fn(|| machine.poll_event()).collect();
    let timeout = machine.poll_timeout();
    let drained = machinery.closing && machinery.machine.is_drained();
    Outputs {
        directives,
        requests,
        events,
        timeout,
        drained,
    }
}
