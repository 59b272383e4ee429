//! Missing permissions (O18): the producer fails fast, says who lacks what on which resource and the command that grants it, and works after
//! the grant. A real broker with Kafka's own authorizer; one permission is missing at a time.

mod producing;
mod transactional;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sealwax::{Client, Error, ErrorKind};
use xtask::kafka::{AUTHORIZER, AclOperation, AclResource, Cluster, Version, create_topic};

/// Half of `max.block.ms`: an error that comes within it was not waited for.
const FAST: Duration = Duration::from_secs(30);

static RUNNING: Mutex<Vec<(Version, Arc<Cluster>)>> = Mutex::new(Vec::new());

/// The cluster with an authorizer, one for each version.
fn cluster(version: Version) -> Result<Arc<Cluster>> {
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, cluster)) = running.iter().find(|(of, _)| *of == version) {
        return Ok(Arc::clone(cluster));
    }
    let builder = Cluster::builder(version).config("auto.create.topics.enable", "false");
    let builder = AUTHORIZER
        .iter()
        .fold(builder, |builder, (key, value)| builder.config(*key, *value));
    let cluster = Arc::new(builder.start()?);
    running.push((version, Arc::clone(&cluster)));
    Ok(cluster)
}

/// A cluster, a client connected to it, and a topic of the test's own.
async fn set_up(version: Version) -> Result<(Arc<Cluster>, Client, String)> {
    let cluster = tokio::task::spawn_blocking(move || cluster(version)).await??;
    let topic = sealwax_tests::scratch::unique("acl");
    create_topic(&cluster.bootstrap(), &topic, 1, &[])?;
    let client = Client::builder(cluster.bootstrap().split(',')).connect().await?;
    Ok((cluster, client, topic))
}

/// Leaves `User:ANONYMOUS` only these operations on the resource.
async fn restrict(
    cluster: &Arc<Cluster>,
    resource: AclResource<'static>,
    operations: &'static [AclOperation],
) -> Result<()> {
    let bootstrap = cluster.bootstrap();
    let restrict = move || xtask::kafka::restrict(&bootstrap, resource, operations);
    tokio::task::spawn_blocking(restrict).await?
}

/// Grants what was missing.
async fn allow(
    cluster: &Arc<Cluster>,
    resource: AclResource<'static>,
    operation: AclOperation,
) -> Result<()> {
    let bootstrap = cluster.bootstrap();
    let allow = move || xtask::kafka::allow(&bootstrap, resource, operation);
    tokio::task::spawn_blocking(allow).await?
}

/// A name for as long as the process lives: there are few, and resources are handed to other threads.
fn leaked(name: &str) -> &'static str {
    Box::leak(name.to_owned().into_boxed_str())
}

/// The error says who lacks what on which resource, and how it is granted.
fn check(error: &Error, operation: &str, option: &str, begun: Instant) -> Result<()> {
    let text = error.to_string();
    ensure!(
        begun.elapsed() < FAST,
        "it came after {:?}: {text}",
        begun.elapsed()
    );
    for part in [
        "User:ANONYMOUS",
        "kafka-acls",
        &format!("--operation {operation}"),
        option,
    ] {
        ensure!(text.contains(part), "{text:?} lacks {part:?}");
    }
    Ok(())
}

/// As [`check`], for an error whose kind says at once that it is about permissions.
fn check_kind(error: &Error, operation: &str, option: &str, begun: Instant) -> Result<()> {
    ensure!(error.kind() == ErrorKind::Authorization, "{error:?}");
    check(error, operation, option, begun).context("the message")
}
