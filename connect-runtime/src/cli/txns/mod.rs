//! `sealwax txns`: who has which transaction open, which of them hold readers up for good, and how to end one.
//!
//! Input: a cluster. Output: tables for people or one JSON document, and exit code 1 if something could not be told, or hangs.
//!
//! Rooms: one file per subcommand (`list`, `describe`, `hanging`, `abort`); `open` (transactions that partitions have open), `judge`
//! (whether a coordinator still knows one; pure), `scope` (which partitions), `confirm` (the question before an act), `table`, `time`.

mod abort;
mod confirm;
mod describe;
mod hanging;
mod judge;
mod list;
mod open;
mod scope;
mod table;
mod time;

use sealwax::Error;
use sealwax::admin::Admin;
use serde_json::{Value, json};

use super::cluster::{self, ClusterArguments};
use super::{Exit, Failure};
use crate::api::Settings;

/// Arguments of `sealwax txns`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// List transactional ids with their state and coordinator
    List(list::Arguments),
    /// Describe transactional ids, or the producers that a partition remembers
    Describe(describe::Arguments),
    /// Find transactions that hold up read_committed readers and that no coordinator will ever end
    Hanging(hanging::Arguments),
    /// End a transaction: fence a transactional id, or abort a hanging transaction on its partition
    Abort(abort::Arguments),
}

/// Runs the verb.
///
/// # Errors
/// A [`Failure`]: something could not be told or done, or `hanging` has found something (run time); bad arguments (validation); no
/// broker (environment).
///
/// # Cancel safety
/// `abort` may have acted when it is cancelled; the others only read.
pub async fn run(arguments: Arguments) -> Result<(), Failure> {
    match arguments.verb {
        Verb::List(arguments) => list::run(arguments).await,
        Verb::Describe(arguments) => describe::run(arguments).await,
        Verb::Hanging(arguments) => hanging::run(arguments).await,
        Verb::Abort(arguments) => abort::run(arguments).await,
    }
}

/// Connects. Settings that nothing reads are told to the user.
async fn connect(arguments: &ClusterArguments) -> Result<Admin, Failure> {
    let settings = arguments.settings(&Settings::new())?;
    let all: Vec<(&str, &str)> = settings.iter().collect();
    cluster::warn_without_effect(&all, &[]);
    Ok(cluster::connect(&settings).await?.admin())
}

/// An error in a JSON document.
fn error_json(error: &Error) -> Value {
    json!({
        "message": error.to_string(),
        "code": error.code().and_then(sealwax::ErrorCode::name),
    })
}

/// What could not be had, each with its error; the failure of the whole has the first one's exit code.
fn incomplete(what: &str, errors: &[(String, Error)]) -> Result<(), Failure> {
    let Some((_, first)) = errors.first() else {
        return Ok(());
    };
    let lines: Vec<String> = errors
        .iter()
        .map(|(of, error)| format!("{of}: {error}"))
        .collect();
    let exit = cluster::failure(what, first).exit();
    Err(Failure::new(exit, format!("{what}:\n  {}", lines.join("\n  "))))
}

/// A negative finding.
fn finding(message: impl Into<String>) -> Failure {
    Failure::new(Exit::RunTime, message)
}
