//! The `sealwax` binary: parses the command line, starts logging and the async runtime, runs one verb.
//!
//! Input: arguments and `RUST_LOG`. Output: the verb's own output on stdout, logs on stderr, and the exit code
//! (0 ok, 1 run time, 2 validation, 3 environment; see [`sealwax_connect::cli::Exit`]).

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;
use sealwax_connect::cli::{Cli, Exit, Failure, say};
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    let cli = Cli::parse();
    start_logging();
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say::note(&format_args!("sealwax: {failure}"));
            failure.exit().into()
        }
    }
}

fn run(cli: Cli) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::new(Exit::Environment, format!("cannot start the async runtime: {e}")))?;
    let outcome = runtime.block_on(cli.run());
    // A blocking read that never returns must not hold up the exit.
    runtime.shutdown_background();
    outcome
}

/// Logs go to stderr, so that stdout stays a verb's result. Level from `RUST_LOG`, `info` by default. A log that nobody takes
/// (a closed pipe, a full disk) ends no worker: telling of it on stderr in turn would panic.
fn start_logging() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .log_internal_errors(false)
        .init();
}
