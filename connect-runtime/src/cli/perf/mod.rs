//! `sealwax perf produce|consume|transactions`: loads with the flags of Kafka's own perf tools.
//!
//! Input: arguments. Output: a progress line each five seconds on stderr, and the figures on stdout: rates, latencies and this
//! process's own processor time.
//!
//! Rooms: one file per verb; `producer` (settings of producers), `payload`, `throttle` and `feed` (what is sent, and when),
//! `acks` (awaiting deliveries), `abandon` (transactions that did not go through), `meter` and `latency` (counting), `cpu` (processor time), `figures` (text and JSON).

mod abandon;
mod acks;
mod consume;
mod cpu;
mod feed;
mod figures;
mod latency;
mod meter;
mod payload;
mod produce;
mod producer;
mod throttle;
mod transactions;

use self::figures::Figures;
use super::{Failure, say};

/// Arguments of `sealwax perf`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    load: Load,
}

/// The loads.
#[derive(Debug, clap::Subcommand)]
enum Load {
    /// Send records, as kafka-producer-perf-test does
    Produce(produce::Arguments),
    /// Read records, as kafka-consumer-perf-test does, without a group
    Consume(consume::Arguments),
    /// Commit transactions of one size, one after the other
    Transactions(transactions::Arguments),
}

/// Runs the verb: prints the figures of what was done, also if it then fails.
///
/// # Errors
/// A [`Failure`]: not everything was done (run time), bad arguments (validation), no broker (environment).
///
/// # Cancel safety
/// Not cancel safe: it is the whole life of the process.
pub async fn run(arguments: Arguments) -> Result<(), Failure> {
    match arguments.load {
        Load::Produce(arguments) => produce::run(arguments).await,
        Load::Consume(arguments) => consume::run(arguments).await,
        Load::Transactions(arguments) => transactions::run(arguments).await,
    }
}

fn print(figures: &Figures, json: bool) -> Result<(), Failure> {
    if json {
        say::result(&figures.to_json())
    } else {
        say::result(figures)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn parse(line: &str) -> Result<Load, clap::Error> {
        Line::try_parse_from(line.split(' ')).map(|line| line.arguments.load)
    }

    #[test]
    fn command_lines_of_kafkas_tools_are_taken() {
        for line in [
            "perf produce --topic t --num-records 9 --record-size 100 --throughput -1 --producer-props acks=all bootstrap.servers=b:1",
            "perf produce --producer-props bootstrap.servers=b:1 linger.ms=5 --topic t --num-records 9 --payload-monotonic --throughput 1000",
            "perf produce --topic t --num-records 9 --payload-file f --producer.config p --transactional-id x --transaction-duration-ms 50",
            "perf consume --bootstrap-server b:1 --topic t --messages 9 --timeout 5000 --consumer.config p --fetch-size 10 --from-latest",
            "perf consume --bootstrap-server b:1 --topic t --num-records 9 --command-config p --isolation-level read_committed",
            "perf transactions --bootstrap-server b:1 --topic t --count 9 --records-per-transaction 7 --record-size 5",
        ] {
            assert!(parse(line).is_ok(), "{line}: {:?}", parse(line));
        }
    }

    #[test]
    fn what_is_missing_contradictory_or_unknown_is_refused() {
        for line in [
            "perf produce --topic t --num-records 9",
            "perf produce --topic t --num-records 9 --record-size 1 --payload-monotonic",
            "perf produce --topic t --num-records 0 --record-size 1",
            "perf produce --topic t --num-records 9 --record-size 1 --producer-props acks",
            "perf produce --topic t --num-records 9 --record-size 1 --print-metrics",
            "perf consume --topic t",
            "perf consume --topic t --messages 9 --isolation-level committed",
            "perf transactions --topic t --count 9 --records-per-transaction 0",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
