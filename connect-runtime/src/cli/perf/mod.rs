//! `sealwax perf produce|consume|transactions`: loads with the flags of Kafka's own perf tools.
//!
//! Input: arguments. Output: a progress line each five seconds on stderr, and the figures on stdout: rates, latencies and this
//! process's own processor time.
//!
//! Rooms: one file per verb; `producer` (settings of producers), `payload`, `throttle` and `feed` (what is sent, and when),
//! `acks` (awaiting deliveries), `meter` and `latency` (counting), `cpu` (processor time), `figures` (text and JSON).

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
use super::Failure;

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

fn print(figures: &Figures, json: bool) {
    if json {
        println!("{}", figures.to_json());
    } else {
        println!("{figures}");
    }
}
