//! The task that keeps the metadata current: it carries out what [`MetadataMachine`] decides, and ends with the client.

use std::sync::{Arc, Weak};
use std::time::Instant;

use sealwax_protocol::response::ResponseBody;
use tokio::sync::Notify;

use crate::machine::RequestFailure;
use crate::machine::metadata::refresh::{Audience, MetadataMachine};
use crate::runtime::clock;
use crate::runtime::cluster::{Cluster, Whom};

/// What the task does next.
enum Step<F> {
    /// Awaits an answer.
    Await(F),
    /// Waits for the next wish, or until this instant.
    Wait(Option<Instant>),
}

/// Runs until the client is gone; `wake` is notified at each wish, and at the end.
pub(crate) async fn keep_current(cluster: Weak<Cluster>, wake: Arc<Notify>) {
    loop {
        let Some(step) = step(&cluster) else { return };
        match step {
            Step::Await(answer) => tokio::select! {
                answer = answer => take(&cluster, answer),
                () = gone(&cluster, &wake) => return,
            },
            Step::Wait(until) => tokio::select! {
                () = wake.notified() => {}
                () = clock::sleep_until(until) => {}
            },
        }
    }
}

fn step(
    cluster: &Weak<Cluster>,
) -> Option<Step<impl Future<Output = Result<ResponseBody, RequestFailure>> + use<>>> {
    let cluster = cluster.upgrade()?;
    let now = clock::now();
    let polled = cluster.with_metadata(|machine| machine.poll_request(now));
    let Some((audience, request)) = polled else {
        return Some(Step::Wait(
            cluster.with_metadata(|machine| machine.poll_timeout()),
        ));
    };
    let deadline = now + cluster.config().request_timeout;
    let whom = match audience {
        Audience::Any => Whom::Any,
        Audience::Bootstrap => Whom::Bootstrap,
    };
    Some(Step::Await(cluster.ask(whom, request.into(), deadline)))
}

fn take(cluster: &Weak<Cluster>, answer: Result<ResponseBody, RequestFailure>) {
    let Some(cluster) = cluster.upgrade() else { return };
    let now = clock::now();
    let snapshot = cluster.with_metadata(|machine: &mut MetadataMachine| {
        let usable = match &answer {
            Ok(ResponseBody::Metadata(response)) => machine.handle_response(now, Ok(response)),
            Ok(_) | Err(_) => machine.handle_response(now, Err(())),
        };
        usable.then(|| (Arc::clone(machine.snapshot()), machine.last_asked()))
    });
    if let Err(failure) = &answer {
        tracing::debug!(error = %failure.error(), "metadata could not be refreshed");
    }
    if let Some((snapshot, as_of)) = snapshot {
        cluster.publish(snapshot, as_of);
    }
}

/// Resolves when the client is gone. Wishes that it swallows are seen by the next step anyway.
async fn gone(cluster: &Weak<Cluster>, wake: &Notify) {
    while cluster.strong_count() > 0 {
        wake.notified().await;
    }
}
