//! Java's console consumer, in the version of the brokers.

use std::time::Duration;

use anyhow::{Context, Result};
use xtask::kafka::{Cluster, ConsoleConsumer, Isolation};

use super::Place;

/// How long it waits for more before it takes the end for the end.
const IDLE: Duration = Duration::from_secs(6);

/// All values of a topic as Java reads them from the beginning.
///
/// # Errors
/// If the consumer fails.
pub fn java(cluster: &Cluster, topic: &str, isolation: Isolation) -> Result<Vec<String>> {
    lines(cluster, ConsoleConsumer::new(topic, isolation))
}

/// As [`java`], with each record's key in front of its value, separated by a tab.
///
/// # Errors
/// If the consumer fails.
pub fn java_with_keys(cluster: &Cluster, topic: &str, isolation: Isolation) -> Result<Vec<String>> {
    lines(
        cluster,
        ConsoleConsumer::new(topic, isolation).property("print.key", "true"),
    )
}

/// As [`java`], with each record's partition and offset.
///
/// # Errors
/// If the consumer fails, or a line is not what it should be.
pub fn java_places(cluster: &Cluster, topic: &str, isolation: Isolation) -> Result<Vec<Place>> {
    let consumer = ConsoleConsumer::new(topic, isolation)
        .property("print.partition", "true")
        .property("print.offset", "true");
    lines(cluster, consumer)?
        .iter()
        .map(|line| place(line).with_context(|| format!("Java's console consumer printed {line:?}")))
        .collect()
}

/// `Partition:2⇥Offset:17⇥value`.
fn place(line: &str) -> Option<Place> {
    let mut parts = line.splitn(3, '\t');
    Some(Place {
        partition: parts.next()?.strip_prefix("Partition:")?.parse().ok()?,
        offset: parts.next()?.strip_prefix("Offset:")?.parse().ok()?,
        value: parts.next()?.to_owned(),
    })
}

fn lines(cluster: &Cluster, consumer: ConsoleConsumer) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    consumer
        .idle(IDLE)
        .run(cluster.jvm(), &cluster.bootstrap(), |line| {
            lines.push(line.to_owned())
        })?;
    Ok(lines)
}
