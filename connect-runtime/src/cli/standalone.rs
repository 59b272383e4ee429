//! `sealwax standalone WORKER.properties CONNECTOR…`: reads the files and runs the connectors until a signal.
//!
//! Input: paths. Output: logs; `Ok` after an orderly stop, else a [`Failure`]: 2 if a file (or every connector) is not
//! valid, 3 if no broker answers, 1 if every connector has failed. A worker with nothing left to run ends, because a
//! process that stays up would hide the failure.

use std::path::PathBuf;
use std::time::Duration;

use sealwax::{Client, ErrorKind};

use super::{Exit, Failure};
use crate::config::{
    ConnectorConfig, InvalidConfig, WorkerConfig, client_config, read_connector_file, read_worker_file,
};
use crate::herder::ConnectorEnd;
use crate::plugin::Plugins;
use crate::task::StopSwitch;
use crate::worker::Worker;

/// Exit code of a process that was ended by a second signal.
const INTERRUPTED: i32 = 130;

/// Signals this close to the first are the same request: a process group and its leader, say, are signalled both.
const SAME_REQUEST: Duration = Duration::from_millis(500);

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
    let config = read_worker_file(&arguments.worker).map_err(|e| invalid(&e))?;
    let connectors = read_connectors(&arguments.connectors)?;
    for warning in config.warnings() {
        tracing::warn!("{warning}");
    }
    let switch = StopSwitch::new();
    let mut stop = switch.listener();
    tokio::spawn(watch_signals(switch));
    let client = tokio::select! {
        client = connect(&config) => client?,
        () = stop.requested() => return Ok(()),
    };
    let worker = Worker::new(config, client, Plugins::built_in());
    outcome(&worker.run_standalone(connectors, stop).await)
}

/// A file that cannot be used stops the worker before anything is started.
fn read_connectors(paths: &[PathBuf]) -> Result<Vec<ConnectorConfig>, Failure> {
    paths
        .iter()
        .map(|path| read_connector_file(path).map_err(|e| invalid(&e)))
        .collect()
}

fn invalid(error: &InvalidConfig) -> Failure {
    Failure::new(Exit::Validation, error.to_string())
}

async fn connect(config: &WorkerConfig) -> Result<Client, Failure> {
    let settings = client_config(config.settings())
        .map_err(|errors| invalid(&InvalidConfig::new("the worker", errors)))?;
    let servers = settings.bootstrap_servers.join(",");
    let client = Client::builder(Vec::<String>::new())
        .config(settings)
        .connect()
        .await
        .map_err(|error| {
            let exit = if error.kind() == ErrorKind::Config {
                Exit::Validation
            } else {
                Exit::Environment
            };
            Failure::new(
                exit,
                format!("cannot connect to Kafka at bootstrap.servers={servers}: {error}"),
            )
        })?;
    tracing::info!(bootstrap_servers = servers, "connected");
    Ok(client)
}

/// The worker's outcome from how its connectors ended.
fn outcome(ends: &[ConnectorEnd]) -> Result<(), Failure> {
    let is_stopped = |end: &ConnectorEnd| matches!(end, ConnectorEnd::Stopped);
    if ends.iter().any(is_stopped) {
        return Ok(());
    }
    let all_invalid = ends.iter().all(|end| matches!(end, ConnectorEnd::Invalid(_)));
    let exit = if all_invalid {
        Exit::Validation
    } else {
        Exit::RunTime
    };
    Err(Failure::new(
        exit,
        "every connector has failed, nothing is left to run; the reasons are in the log above",
    ))
}

/// The first signal asks for an orderly stop, the second ends the process at once.
async fn watch_signals(switch: StopSwitch) {
    signal().await;
    tracing::info!(
        "stopping: transactions are finished or aborted; a second signal ends the process at once"
    );
    switch.press();
    tokio::time::sleep(SAME_REQUEST).await;
    signal().await;
    tracing::warn!("second signal: ending at once; what was not committed stays invisible");
    std::process::exit(INTERRUPTED);
}

/// Waits for Ctrl-C or SIGTERM.
#[cfg(unix)]
async fn signal() {
    use tokio::signal::unix::{SignalKind, signal};
    match (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) {
        (Ok(mut interrupt), Ok(mut terminate)) => tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        },
        (Err(error), _) | (_, Err(error)) => {
            tracing::warn!(%error, "signals cannot be watched; the process ends without an orderly stop");
            std::future::pending::<()>().await;
        }
    }
}

/// Waits for Ctrl-C.
#[cfg(not(unix))]
async fn signal() {
    if let Err(error) = tokio::signal::ctrl_c().await {
        tracing::warn!(%error, "signals cannot be watched; the process ends without an orderly stop");
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_follows_how_connectors_ended() {
        let failed = || ConnectorEnd::Failed {
            reasons: vec!["r".into()],
        };
        let invalid = || ConnectorEnd::Invalid(InvalidConfig::new("c", vec![]));
        let exit = |ends: &[ConnectorEnd]| outcome(ends).err().map(|failure| failure.exit());
        assert_eq!(exit(&[ConnectorEnd::Stopped, failed(), invalid()]), None);
        assert_eq!(exit(&[failed(), invalid()]), Some(Exit::RunTime));
        assert_eq!(exit(&[invalid(), invalid()]), Some(Exit::Validation));
    }
}
