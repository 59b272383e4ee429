//! The command line: one enum of verbs, one file per verb, one table of exit codes.
//!
//! Input: parsed arguments. Output: `Ok` or a [`Failure`] that carries the exit code and the sentence for the user.

mod cluster;
mod isolation;
pub mod perf;
pub mod say;
pub mod standalone;
pub mod txns;
pub mod verify;

use std::fmt;

use clap::{Parser, Subcommand};

/// Exactly-once Kafka Connect in one small binary.
#[derive(Debug, Parser)]
#[command(name = "sealwax", version, about, propagate_version = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs of the binary.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run connectors in this process, exactly once, without a worker group
    Standalone(standalone::Arguments),
    /// Prove that a topic holds each number of a range exactly once
    Verify(verify::Arguments),
    /// Measure how fast records are produced, consumed, or committed in transactions
    Perf(perf::Arguments),
    /// See open and hanging transactions, and end them
    Txns(txns::Arguments),
}

impl Cli {
    /// Runs the verb to its end.
    ///
    /// # Errors
    /// A [`Failure`] with the exit code and what to tell the user.
    ///
    /// # Cancel safety
    /// Not cancel safe: it is the whole life of the process.
    pub async fn run(self) -> Result<(), Failure> {
        match self.verb {
            Verb::Standalone(arguments) => standalone::run(arguments).await,
            Verb::Verify(arguments) => verify::run(arguments).await,
            Verb::Perf(arguments) => perf::run(arguments).await,
            Verb::Txns(arguments) => txns::run(arguments).await,
        }
    }
}

/// The exit codes, the same for every verb. Code 0 is success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// 1: the verb ran and failed, or its finding is negative.
    RunTime,
    /// 2: arguments or configuration are not valid; nothing was done. clap's own usage errors have this code too.
    Validation,
    /// 3: something outside is missing, for example no broker answers.
    Environment,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::RunTime => Self::from(1),
            Exit::Validation => Self::from(2),
            Exit::Environment => Self::from(3),
        }
    }
}

/// Why a verb failed: the exit code and a sentence that says what happened, why, and how to mend it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    exit: Exit,
    message: String,
}

impl Failure {
    /// A failure with its exit code and message. The message must not hold secrets.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            message: message.into(),
        }
    }

    /// The exit code that the process ends with.
    pub fn exit(&self) -> Exit {
        self.exit
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
