//! A child process that can be killed, frozen and read: the worker under attack.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use xtask::leash::Leash;

use crate::{binary, wait};

/// A running `sealwax` process. Killed when the value goes, or when the test process ends in any way.
#[derive(Debug)]
pub struct Process {
    child: Child,
    log: PathBuf,
    _leash: Leash,
}

impl Process {
    /// Starts `sealwax` with arguments; its output goes to `log`.
    ///
    /// # Errors
    /// If it cannot be built or started.
    pub fn sealwax<S: AsRef<std::ffi::OsStr>>(arguments: &[S], log: &Path) -> Result<Self> {
        let output = File::create(log).with_context(|| format!("{} cannot be written", log.display()))?;
        let child = Command::new(binary::sealwax()?)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .context("sealwax cannot be started")?;
        let leash = Leash::kill(child.id(), "sealwax")?;
        Ok(Self {
            child,
            log: log.to_owned(),
            _leash: leash,
        })
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Everything that it wrote so far.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn output(&self) -> Result<String> {
        Ok(String::from_utf8_lossy(&std::fs::read(&self.log)?).into_owned())
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// If the process is gone.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        signal_pid(self.child.id(), signal)
    }

    /// Whether it has ended, and how.
    ///
    /// # Errors
    /// If the system cannot tell.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// If it does not end within `limit`; what it wrote is in the error.
    pub fn await_end(&mut self, limit: Duration) -> Result<ExitStatus> {
        let child = &mut self.child;
        let ended = wait::until("the end of sealwax", limit, || Ok(child.try_wait()?));
        ended.with_context(|| self.output().unwrap_or_default())
    }

    /// Kills it with SIGKILL and waits until it is gone.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Already dead is fine, and nothing more can be done about a system that refuses.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal to a process of ours by its id.
///
/// # Errors
/// If the process is gone.
pub fn signal_pid(pid: u32, signal: Signal) -> Result<()> {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .context("no such process id")?;
    Ok(kill_process(pid, signal)?)
}
