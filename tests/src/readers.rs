//! Readers that are not ours: Java's console consumer.

use std::time::Duration;

use anyhow::Result;
use xtask::kafka::{Cluster, ConsoleConsumer, Isolation};

/// All values of a topic as Java reads them from the beginning.
///
/// # Errors
/// If the consumer fails.
pub fn java(cluster: &Cluster, topic: &str, isolation: Isolation) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    ConsoleConsumer::new(topic, isolation)
        .idle(Duration::from_secs(6))
        .run(cluster.jvm(), &cluster.bootstrap(), |line| {
            lines.push(line.to_owned())
        })?;
    Ok(lines)
}

/// As [`java`], with each record's key in front of its value, separated by a tab.
///
/// # Errors
/// If the consumer fails.
pub fn java_with_keys(cluster: &Cluster, topic: &str, isolation: Isolation) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    ConsoleConsumer::new(topic, isolation)
        .idle(Duration::from_secs(6))
        .property("print.key", "true")
        .run(cluster.jvm(), &cluster.bootstrap(), |line| {
            lines.push(line.to_owned())
        })?;
    Ok(lines)
}
