//! The report: a table per Kafka version and the page that holds them. Pure. The first of the results is ours.

use std::fmt::Write;
use std::time::Duration;

use super::figures::{Percentiles, median};
use super::{Latency, Rounds};
use crate::kafka::Version;

fn p50(results: &Rounds) -> Duration {
    median(&results.rounds, |round| round.p50)
}

/// Whether our median is at most every other's.
pub(super) fn is_no_slower(results: &[Rounds]) -> bool {
    let Some((ours, others)) = results.split_first() else {
        return false;
    };
    others.iter().all(|other| p50(ours) <= p50(other))
}

fn millis(duration: Duration) -> String {
    format!("{:.2}", duration.as_secs_f64() * 1e3)
}

/// One version's table.
pub(super) fn section(latency: &Latency, version: Version, results: &[Rounds]) -> String {
    let mut text = format!(
        "## Kafka {version}\n\n{} rounds of {} transactions for each client, in turn. Milliseconds, median of the rounds:\n\n\
         | client | p50 | p90 | p99 | p50 of the quickest and slowest round | its p50 / ours |\n|---|---|---|---|---|---|\n",
        latency.rounds, latency.transactions
    );
    let ours = results.first().map(p50).unwrap_or_default().as_secs_f64();
    for result in results {
        let rounds = &result.rounds;
        let each = |of: fn(&Percentiles) -> Duration| millis(median(rounds, of));
        let all: Vec<Duration> = rounds.iter().map(|round| round.p50).collect();
        let extreme = |found: Option<&Duration>| millis(found.copied().unwrap_or_default());
        // Writing into a String does not fail.
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} … {} | {:.2} |",
            result.name,
            each(|round| round.p50),
            each(|round| round.p90),
            each(|round| round.p99),
            extreme(all.iter().min()),
            extreme(all.iter().max()),
            p50(result).as_secs_f64() / ours,
        );
    }
    text
}

/// The whole page.
pub(super) fn page(latency: &Latency, sections: &[String]) -> String {
    format!(
        "# Latency of a small transaction\n\nFrom `begin` to the end of `commit`, one record in between, back to back, one producer, one \
         broker on the same machine, acks=all, linger 0. All three clients live through the whole run, are warmed up with {} transactions \
         and then take turns. Ours is `client/examples/transaction_latency.rs` (release profile), Java's runs on a JVM with its optimising \
         compiler, librdkafka's through its Python binding.\n\nMade by `cargo xtask latency --transactions {} --rounds {} --write` on a \
         machine with {} processors: the figures compare clients with each other and say nothing of Kafka's own speed.\n\n{}",
        latency.transactions * 2,
        latency.transactions,
        latency.rounds,
        std::thread::available_parallelism().map_or(0, std::num::NonZero::get),
        sections.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(name: &str, milliseconds: u64) -> Rounds {
        let round = Percentiles::of(vec![milliseconds * 1_000_000]).unwrap();
        Rounds {
            name: name.to_owned(),
            rounds: vec![round; 3],
        }
    }

    #[test]
    fn ours_must_not_be_slower_than_any() {
        assert!(is_no_slower(&[rounds("a", 2), rounds("b", 2), rounds("c", 3)]));
        assert!(!is_no_slower(&[rounds("a", 2), rounds("b", 3), rounds("c", 1)]));
        assert!(!is_no_slower(&[]));
    }
}
