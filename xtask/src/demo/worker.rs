//! The worker under attack: its property files, and the process that is killed and started again.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::leash::{Leashed, Signal};

const TAIL_LINES: usize = 25;
/// A worker promises to end within 5 s of SIGTERM; the rest is for a busy machine.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// What is needed to start the worker, again and again.
#[derive(Debug)]
pub(super) struct Recipe {
    binary: PathBuf,
    worker: PathBuf,
    connector: PathBuf,
    log: PathBuf,
}

impl Recipe {
    /// Writes the property files into `dir`: a worker on `bootstrap`, and a file source from `file` to `topic`.
    pub(super) fn write(
        dir: &Path,
        binary: PathBuf,
        bootstrap: &str,
        file: &Path,
        topic: &str,
    ) -> Result<Self> {
        let recipe = Self {
            binary,
            worker: dir.join("worker.properties"),
            connector: dir.join("connector.properties"),
            log: dir.join("worker.log"),
        };
        fs::write(&recipe.worker, worker_properties(bootstrap))
            .context("worker.properties cannot be written")?;
        let connector = connector_properties(file, topic);
        fs::write(&recipe.connector, connector).context("connector.properties cannot be written")?;
        Ok(recipe)
    }

    /// Starts `sealwax standalone`.
    pub(super) fn start(&self) -> Result<Leashed> {
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.log)
            .context("the log cannot be opened")?;
        let mut command = Command::new(&self.binary);
        command.arg("standalone").arg(&self.worker).arg(&self.connector);
        command
            .stdin(Stdio::null())
            .stderr(log.try_clone().context("a file handle cannot be copied")?)
            .stdout(log);
        Leashed::spawn(&mut command, &self.connector.to_string_lossy())
    }

    /// Fails, with the end of the log, if the worker has ended by itself.
    pub(super) fn check_alive(&self, worker: &mut Leashed) -> Result<()> {
        match worker.try_wait()? {
            Some(status) => bail!("the worker ended by itself ({status})\n{}", self.log_tail()),
            None => Ok(()),
        }
    }

    /// SIGTERM; the worker must end cleanly and soon.
    pub(super) fn stop(&self, worker: &mut Leashed) -> Result<()> {
        worker.signal(Signal::TERM)?;
        let Some(status) = worker.wait_for(STOP_LIMIT)? else {
            bail!(
                "the worker did not end within {} s of SIGTERM\n{}",
                STOP_LIMIT.as_secs(),
                self.log_tail()
            )
        };
        ensure!(
            status.success(),
            "the worker ended with {status} after SIGTERM\n{}",
            self.log_tail()
        );
        Ok(())
    }

    /// The last lines of the worker's log, for an error message.
    pub(super) fn log_tail(&self) -> String {
        let bytes = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().collect();
        let tail = lines
            .get(lines.len().saturating_sub(TAIL_LINES)..)
            .unwrap_or_default();
        format!("the end of its log:\n    {}", tail.join("\n    "))
    }
}

fn worker_properties(bootstrap: &str) -> String {
    format!(
        "bootstrap.servers={bootstrap}\n\
         group.id=sealwax-demo\n\
         key.converter=org.apache.kafka.connect.storage.StringConverter\n\
         value.converter=org.apache.kafka.connect.storage.StringConverter\n"
    )
}

fn connector_properties(file: &Path, topic: &str) -> String {
    format!(
        "name=numbers\n\
         connector.class=FileStreamSource\n\
         tasks.max=1\n\
         file={}\n\
         topic={topic}\n",
        file.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_properties_are_those_of_java_connect() {
        let connector = connector_properties(Path::new("/d/n.txt"), "t");
        assert_eq!(
            connector,
            "name=numbers\nconnector.class=FileStreamSource\ntasks.max=1\nfile=/d/n.txt\ntopic=t\n"
        );
        assert!(worker_properties("b:1").starts_with("bootstrap.servers=b:1\n"));
    }
}
