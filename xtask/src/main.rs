//! `cargo xtask …`: parses the command line and lets the library act.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match xtask::cli::run(xtask::cli::Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
