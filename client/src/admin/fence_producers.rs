//! FenceProducers: InitProducerId (API key 22) for transactional ids of others.

use crate::admin::Admin;
use crate::error::Result;
use crate::machine::admin::fence_producers::{FenceProducer, FencedProducer};

impl Admin {
    /// Fences the producers of transactional ids; one result each, in order. What they left open is aborted first; the result comes
    /// when that is done. A producer that is fenced learns it by its next request to the cluster.
    ///
    /// An attempt without an answer is repeated: each may raise the epoch once more, and fences whoever holds the id by then.
    ///
    /// Each result's own errors: the id may not be written (operation Write on TransactionalId), or the coordinator did not confirm
    /// within `default.api.timeout.ms`.
    ///
    /// *Cancel safety*: the producers may be fenced all the same.
    pub async fn fence_producers(&self, ids: &[&str]) -> Vec<Result<FencedProducer>> {
        self.at_coordinators(ids, FenceProducer).await
    }
}
