//! The client where it is hardest: two producers with one id, transactions that time out, calls that are cancelled at every point, brokers
//! that stop or die, buffers that are full, many producers and partitions at once. Real brokers, and nothing lost or doubled.

mod brokers;
mod buffer;
mod cancel;
mod crowd;
mod many;
mod reading;
mod timeout;
mod zombie;

use std::sync::Arc;

use anyhow::Result;
use sealwax::Client;
use sealwax_tests::clusters;
use sealwax_tests::scratch::unique;
use xtask::kafka::{Cluster, Version, create_topic};

/// A cluster, a client connected to it, and a topic of the test's own.
async fn set_up(version: Version, partitions: i32) -> Result<(Arc<Cluster>, Client, String)> {
    let cluster = tokio::task::spawn_blocking(move || clusters::shared(version)).await??;
    let topic = unique("hardship");
    create_topic(&cluster.bootstrap(), &topic, partitions, &[])?;
    let client = Client::builder(cluster.bootstrap().split(',')).connect().await?;
    Ok((cluster, client, topic))
}
