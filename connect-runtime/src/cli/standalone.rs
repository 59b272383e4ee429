//! `sealwax standalone WORKER.properties CONNECTOR…`: reads the files and runs the connectors until a signal.
//!
//! Input: paths. Output: logs; `Ok` after an orderly stop, else a [`Failure`].

use std::path::PathBuf;

use super::{Exit, Failure};

/// Arguments of `sealwax standalone`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Worker configuration (.properties), as for Kafka's connect-standalone
    #[arg(value_name = "WORKER.properties")]
    worker: PathBuf,
    /// Connector configurations (.properties, or .json in flat or REST form)
    #[arg(value_name = "CONNECTOR", required = true)]
    connectors: Vec<PathBuf>,
}

/// Runs the verb.
///
/// # Errors
/// A [`Failure`] with the exit code and what to tell the user.
///
/// # Cancel safety
/// Not cancel safe: it is the whole life of the process.
pub async fn run(arguments: Arguments) -> Result<(), Failure> {
    let _ = arguments;
    Err(Failure::new(
        Exit::RunTime,
        "the standalone worker is not wired yet",
    ))
}
