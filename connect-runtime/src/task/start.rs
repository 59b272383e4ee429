//! The start of a run, in the order that makes it safe (KIP-618).
//!
//! Ownership, producer (fences every older one and aborts what it left open), ownership again, then the committed
//! offsets: nothing older can add to them once they are read, and who starts later fences us.

use std::sync::Arc;

use sealwax::{Client, TransactionalProducer};

use super::{Fault, OffsetStore, Ownership, StoredOffsets, TaskSetup};

/// Takes the task over. The producer is put into `slot`, or kept there from the last run. Returns the committed offsets.
pub(super) async fn take_over(
    client: &Client,
    setup: &TaskSetup,
    ownership: &dyn Ownership,
    store: &dyn OffsetStore,
    slot: &mut Option<TransactionalProducer>,
) -> Result<Arc<dyn StoredOffsets>, Fault> {
    ownership.before_producer().await?;
    match slot {
        Some(producer) => settle(producer).await?,
        None => *slot = Some(initialise(client, setup).await?),
    }
    ownership.after_producer().await?;
    let offsets = store.read().await?;
    tracing::info!(
        task = %setup.id, transactional_id = setup.transactional_id, offsets_topic = store.topic(),
        start_offsets = ?offsets.summary(), boundary = ?setup.boundary, "task starts; older instances are fenced"
    );
    Ok(offsets)
}

async fn initialise(client: &Client, setup: &TaskSetup) -> Result<TransactionalProducer, Fault> {
    let id = setup.transactional_id.as_str();
    let builder = client.transactional_producer(id).config(setup.producer.clone());
    let failed = |e| Fault::client(&format!("initialise the producer with transactional id {id}"), &e);
    builder.build().await.map_err(failed)
}

/// Waits until the fate of the last transaction is settled, so that the offsets read next are the last word. Uses the
/// producer's own id and epoch: a new instance that took over is not fenced by this, it shows as being fenced here.
async fn settle(producer: &mut TransactionalProducer) -> Result<(), Fault> {
    let failed = |e| Fault::client("go on with the producer after a fault", &e);
    producer
        .begin()
        .await
        .map_err(failed)?
        .abort()
        .await
        .map_err(failed)
}
