//! What all roles of one client share: connections, metadata, coordinators.

use std::future::Future;
use std::sync::Arc;

use sealwax_protocol::response::ResponseBody;
use tokio::sync::watch;

use crate::config::ClientConfig;
use crate::error::Error;
use crate::machine::{ClusterView, Directive, Outbound, RequestFailure};

/// The shared side of a client.
#[derive(Debug)]
pub(crate) struct Cluster {
    config: ClientConfig,
}

impl Cluster {
    /// Connects to the first bootstrap address that answers, and keeps the metadata current from then on.
    pub(crate) async fn connect(_config: ClientConfig) -> Result<Arc<Self>, Error> {
        todo!()
    }

    /// The settings.
    pub(crate) fn config(&self) -> &ClientConfig {
        &self.config
    }

    /// The cluster's snapshot, now and whenever it changes.
    pub(crate) fn view(&self) -> watch::Receiver<ClusterView> {
        todo!()
    }

    /// Takes a machine's wish.
    pub(crate) fn direct(&self, _directive: Directive) {
        todo!()
    }

    /// Sends a request. Requests to the same node and lane leave in the order of these calls (not of the futures' polls).
    pub(crate) fn submit(
        self: &Arc<Self>,
        _outbound: Outbound,
    ) -> impl Future<Output = Result<ResponseBody, RequestFailure>> + Send + 'static {
        async { todo!() }
    }
}
