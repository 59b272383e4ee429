//! Whether this process may run the task: asked before and after the producer is initialised (KIP-618).
//!
//! Before: a stale task must not fence the one that is valid. After: who starts later fences us, and we do not run a
//! configuration that was replaced in between.

use async_trait::async_trait;

use super::Fault;

/// The two checks around InitProducerId.
#[async_trait]
pub trait Ownership: Send + Sync {
    /// Asked before the producer is initialised.
    ///
    /// # Errors
    /// The task must not start.
    async fn before_producer(&self) -> Result<(), Fault>;

    /// Asked after the producer was initialised.
    ///
    /// # Errors
    /// The task must not start.
    async fn after_producer(&self) -> Result<(), Fault>;
}

/// A standalone worker owns its tasks as long as it runs; between two such workers the transactional id decides.
#[derive(Debug, Clone, Copy, Default)]
pub struct AlwaysOwner;

#[async_trait]
impl Ownership for AlwaysOwner {
    async fn before_producer(&self) -> Result<(), Fault> {
        Ok(())
    }

    async fn after_producer(&self) -> Result<(), Fault> {
        Ok(())
    }
}
