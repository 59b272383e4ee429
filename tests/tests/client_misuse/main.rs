//! Bad use of the producers: each ends in an error that says what is wrong, with the names and numbers that it is about. What does not even
//! compile is in the documentation of `sealwax::Transaction`.

mod fencing;
mod limits;
mod sending;

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, ensure};
use sealwax::{Client, Error, ErrorKind};
use sealwax_tests::scratch::unique;
use xtask::kafka::{Cluster, Version, create_topic};

static RUNNING: Mutex<Vec<(Version, Arc<Cluster>)>> = Mutex::new(Vec::new());

/// The cluster that creates no topics by itself, one for each version.
fn cluster(version: Version) -> Result<Arc<Cluster>> {
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, cluster)) = running.iter().find(|(of, _)| *of == version) {
        return Ok(Arc::clone(cluster));
    }
    let builder = Cluster::builder(version).config("auto.create.topics.enable", "false");
    let cluster = Arc::new(builder.start()?);
    running.push((version, Arc::clone(&cluster)));
    Ok(cluster)
}

/// A cluster, a client connected to it, and a topic of the test's own.
async fn set_up(version: Version) -> Result<(Arc<Cluster>, Client, String)> {
    let cluster = tokio::task::spawn_blocking(move || cluster(version)).await??;
    let topic = unique("misuse");
    create_topic(&cluster.bootstrap(), &topic, 1, &[])?;
    let client = Client::builder(cluster.bootstrap().split(',')).connect().await?;
    Ok((cluster, client, topic))
}

/// The error is of this kind, and its text has these parts.
fn check(error: &Error, kind: ErrorKind, parts: &[&str]) -> Result<()> {
    let text = error.to_string();
    ensure!(
        error.kind() == kind,
        "{:?} instead of {kind:?}: {text}",
        error.kind()
    );
    for part in parts {
        ensure!(text.contains(part), "{text:?} lacks {part:?}");
    }
    Ok(())
}
