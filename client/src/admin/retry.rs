//! The patience of one admin call: attempts with growing pauses until `default.api.timeout.ms` is over.

use std::time::Instant;

use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;
use sealwax_protocol::version::VersionRange;

use crate::admin::Admin;
use crate::machine::{Destination, Lane, Outbound, RequestFailure, RequestId};
use crate::runtime::{clock, entropy};

/// How much patience a call has left.
#[derive(Debug)]
pub(super) struct Patience {
    deadline: Instant,
    failures: u32,
    rng: fastrand::Rng,
}

impl Admin {
    /// The patience of a call that begins now.
    pub(super) fn patience(&self) -> Patience {
        Patience {
            deadline: clock::now() + self.cluster.config().default_api_timeout,
            failures: 0,
            rng: entropy::rng(),
        }
    }

    /// One attempt.
    pub(super) async fn attempt(
        &self,
        patience: &Patience,
        to: Destination,
        body: impl Into<RequestBody>,
    ) -> Result<ResponseBody, RequestFailure> {
        let body = body.into();
        let versions = body.versions();
        self.attempt_in(patience, to, versions, body).await
    }

    /// One attempt, in one of these versions.
    pub(super) async fn attempt_in(
        &self,
        patience: &Patience,
        to: Destination,
        versions: VersionRange,
        body: RequestBody,
    ) -> Result<ResponseBody, RequestFailure> {
        let outbound = Outbound {
            id: RequestId(0),
            to,
            lane: Lane::General,
            versions,
            body,
            deadline: self.end_of_attempt(patience),
        };
        self.cluster.submit(outbound).await
    }

    /// When an attempt that begins now is given up.
    pub(super) fn end_of_attempt(&self, patience: &Patience) -> Instant {
        let limit = clock::now() + self.cluster.config().request_timeout;
        limit.min(patience.deadline)
    }

    /// Waits before the next attempt. `false` if there is no time for another one.
    pub(super) async fn pause(&self, patience: &mut Patience) -> bool {
        patience.failures = patience.failures.saturating_add(1);
        let backoff = self.cluster.retry_backoff();
        let until = clock::now() + backoff.delay(patience.failures, &mut patience.rng);
        if until >= patience.deadline {
            return false;
        }
        tokio::time::sleep_until(until.into()).await;
        true
    }
}
