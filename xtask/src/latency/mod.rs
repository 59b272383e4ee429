//! `cargo xtask latency`: how long a transaction of one record takes with our client, with Java's and with librdkafka, on the same broker in
//! the same run.
//!
//! The three clients live for the whole run and are warmed up; then they take turns, round after round, so that whatever else the
//! machine does meets all of them alike. What is compared is the median of the rounds' percentiles.

mod figures;
mod peers;
mod report;

use std::fs;

use anyhow::{Context, Result, ensure};

use crate::kafka::{Cluster, Missing, Version, create_topic};
use crate::workspace;
use figures::Percentiles;
use peers::Peer;

/// The evidence file, below the root.
const EVIDENCE: &str = "docs/evidence/latency.md";

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct Latency {
    /// The Kafka versions, one after the other.
    pub versions: Vec<Version>,
    /// Transactions of a round; at least 10.
    pub transactions: usize,
    /// Rounds of each client; at least 3.
    pub rounds: usize,
    /// Whether the report replaces `docs/evidence/latency.md`.
    pub write: bool,
    /// What to do if Java or Maven is missing.
    pub missing: Missing,
}

/// Measures and prints the report; says whether ours was no slower than the others at the median on every version.
///
/// # Errors
/// If something cannot be built, fetched, started or written, or a client fails.
pub fn run(latency: &Latency) -> Result<bool> {
    ensure!(latency.transactions >= 10, "--transactions must be at least 10");
    ensure!(latency.rounds >= 3, "--rounds must be at least 3");
    let programs = peers::Programs::prepare()?;
    let mut sections = Vec::new();
    let mut is_good = true;
    for version in &latency.versions {
        let results = measure(latency, *version, &programs)?;
        is_good &= report::is_no_slower(&results);
        let section = report::section(latency, *version, &results);
        println!("{section}");
        sections.push(section);
    }
    if latency.write {
        let path = workspace::root()?.join(EVIDENCE);
        fs::write(&path, report::page(latency, &sections))
            .with_context(|| format!("{} cannot be written", path.display()))?;
    }
    Ok(is_good)
}

/// One client's rounds.
#[derive(Debug)]
struct Rounds {
    name: String,
    rounds: Vec<Percentiles>,
}

fn measure(latency: &Latency, version: Version, programs: &peers::Programs) -> Result<Vec<Rounds>> {
    let cluster = Cluster::builder(version).missing(latency.missing).start()?;
    let topics = ["ours", "java", "librdkafka"];
    for topic in topics {
        create_topic(&cluster.bootstrap(), topic, 1, &[])?;
    }
    let mut peers = programs.start(&cluster, topics)?;
    for peer in &mut peers {
        peer.round(latency.transactions * 2)
            .context("while it warmed up")?;
    }
    let mut results: Vec<Rounds> = peers
        .iter()
        .map(|peer| Rounds {
            name: peer.name().to_owned(),
            rounds: Vec::new(),
        })
        .collect();
    for round in 0..latency.rounds {
        for turn in 0..peers.len() {
            // Another one begins each round.
            let at = (round + turn) % peers.len();
            if let (Some(peer), Some(result)) = (peers.get_mut(at), results.get_mut(at)) {
                let nanoseconds = peer.round(latency.transactions)?;
                result.rounds.push(Percentiles::of(nanoseconds)?);
            }
        }
    }
    peers.into_iter().try_for_each(Peer::end)?;
    Ok(results)
}
