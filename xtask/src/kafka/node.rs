//! The process of one node: start it, signal it, see it end.
//!
//! Decides nothing about the cluster; [`super::cluster`] does. Its states are [`NodeProcess`]'s variants.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::Signal;

use super::layout;
use crate::leash::{self, Leashed};

/// How many lines of a node's log an error shows.
const TAIL_LINES: usize = 25;

/// Whether a node's process ends with the process that started it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lifetime {
    /// It is killed when we end, however we end.
    Ours,
    /// It goes on until `kafka down`.
    Detached,
}

/// The state of a node's process.
#[derive(Debug)]
pub(super) enum NodeProcess {
    /// There is none.
    Stopped,
    /// It runs on a leash.
    Running(Leashed),
    /// It is stopped by SIGSTOP.
    Paused(Leashed),
    /// It runs on its own.
    Detached(Child),
}

impl NodeProcess {
    /// Starts `command` as the process of the node in `dir`, its output appended to `node.log`.
    pub(super) fn start(mut command: Command, dir: &Path, lifetime: Lifetime) -> Result<Self> {
        let path = log_file(dir);
        let log = OpenOptions::new().create(true).append(true).open(&path);
        let log = log.with_context(|| format!("{} cannot be opened", path.display()))?;
        let errors: File = log.try_clone().context("a file handle cannot be copied")?;
        command
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .current_dir(dir);
        let process = match lifetime {
            Lifetime::Ours => Self::Running(Leashed::spawn(&mut command, &layout::marker(dir))?),
            Lifetime::Detached => Self::Detached(leash::spawn_apart(&mut command)?),
        };
        if let Some(pid) = process.pid() {
            fs::write(dir.join("pid"), format!("{pid}\n")).context("the pid file cannot be written")?;
        }
        Ok(process)
    }

    /// The process id while there is a process.
    pub(super) fn pid(&self) -> Option<u32> {
        match self {
            Self::Stopped => None,
            Self::Running(process) | Self::Paused(process) => Some(process.pid()),
            Self::Detached(child) => Some(child.id()),
        }
    }

    /// Whether it is meant to answer requests now.
    pub(super) fn is_running(&self) -> bool {
        matches!(self, Self::Running(_) | Self::Detached(_))
    }

    /// Fails if the process has ended by itself.
    pub(super) fn check_alive(&mut self) -> Result<()> {
        let status = match self {
            Self::Stopped => return Ok(()),
            Self::Running(process) | Self::Paused(process) => process.try_wait()?,
            Self::Detached(child) => child.try_wait().context("waiting for a node failed")?,
        };
        match status {
            Some(status) => bail!("the process ended ({status})"),
            None => Ok(()),
        }
    }
}

/// The node's log.
pub(super) fn log_file(dir: &Path) -> PathBuf {
    dir.join("node.log")
}

/// Ends a process that was started by another command: SIGTERM, then after `patience` SIGKILL. Returns when it is gone.
pub(super) fn end_foreign(pid: u32, marker: &str, patience: Duration) -> Result<()> {
    leash::send(pid, Signal::TERM)?;
    if gone_within(pid, marker, patience) {
        return Ok(());
    }
    eprintln!(
        "process {pid} did not end within {} s of SIGTERM: SIGKILL",
        patience.as_secs()
    );
    leash::send(pid, Signal::KILL)?;
    if gone_within(pid, marker, Duration::from_secs(10)) {
        return Ok(());
    }
    bail!("process {pid} is still there 10 s after SIGKILL")
}

fn gone_within(pid: u32, marker: &str, limit: Duration) -> bool {
    let end = Instant::now() + limit;
    while leash::runs(pid, marker) {
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    true
}

/// The last lines of the node's log, each indented, for an error message.
pub(super) fn log_tail(dir: &Path) -> String {
    let path = log_file(dir);
    let bytes = fs::read(&path).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let tail = lines
        .get(lines.len().saturating_sub(TAIL_LINES)..)
        .unwrap_or_default();
    let mut shown = format!("the end of {}:", path.display());
    for line in tail {
        shown.push_str("\n    ");
        shown.push_str(line);
    }
    shown
}

/// Whether the node's log says that its port was taken by someone else.
pub(super) fn port_was_taken(dir: &Path) -> bool {
    let bytes = fs::read(log_file(dir)).unwrap_or_default();
    String::from_utf8_lossy(&bytes).contains("Address already in use")
}
