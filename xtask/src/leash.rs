//! Child processes that cannot outlive us.
//!
//! A leash is a small `sh` that blocks on a pipe whose other end only this process holds. When this process ends in any
//! way, `kill -9` included, the kernel closes the pipe and the shell does its one duty: kill a process, or remove a
//! directory. There is no polling of parents and no dependence on the thread that spawned (which rules out
//! `PR_SET_PDEATHSIG`: it fires when the *thread* ends, and every Rust test is a thread of its own).

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::Pid;
pub use rustix::process::Signal;

/// Kills `$1` if its command line holds `$2` (so that a reused pid is left alone).
const KILL: &str =
    r#"read -r _ && exit 0; grep -aqF -e "$2" "/proc/$1/cmdline" 2>/dev/null && kill -KILL "$1""#;

/// Waits until no process that a pid file below `$1` names runs from there, then removes `$1`.
const REMOVE: &str = r#"read -r _ && exit 0
for file in "$1"/node-*/pid; do
  pid=$(cat "$file" 2>/dev/null) || continue
  while grep -aqF -e "$1" "/proc/$pid/cmdline" 2>/dev/null; do sleep 0.1; done
done
rm -rf -- "$1""#;

/// A duty that is done when this process ends without releasing it.
#[derive(Debug)]
pub struct Leash {
    shell: Child,
    pipe: Option<ChildStdin>,
}

impl Leash {
    /// When this process ends: kill `pid`, provided that its command line still holds `marker`.
    pub fn kill(pid: u32, marker: &str) -> Result<Self> {
        Self::spawn(KILL, &[&pid.to_string(), marker])
    }

    /// When this process ends: remove `dir` and all in it, after the nodes that run from it are gone.
    pub fn remove(dir: &Path) -> Result<Self> {
        Self::spawn(REMOVE, &[&dir.to_string_lossy()])
    }

    fn spawn(script: &str, arguments: &[&str]) -> Result<Self> {
        let mut shell = Command::new("sh")
            .args(["-c", script, "sealwax-leash"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .context("`sh` cannot be started; it guards the child processes")?;
        let pipe = shell.stdin.take();
        Ok(Self { shell, pipe })
    }
}

impl Drop for Leash {
    /// Releases: the duty is not done.
    fn drop(&mut self) {
        if let Some(mut pipe) = self.pipe.take() {
            // A shell that is gone already has no duty left, so a failed write needs no answer.
            let _ = pipe.write_all(b"released\n");
        }
        let _ = self.shell.wait();
    }
}

/// A child process on a leash: dropped or orphaned, it is killed.
#[derive(Debug)]
pub struct Leashed {
    child: Child,
    _leash: Leash,
}

impl Leashed {
    /// Starts `command` in a process group of its own. `marker` must be part of its command line.
    pub fn spawn(command: &mut Command, marker: &str) -> Result<Self> {
        let mut child = spawn_apart(command)?;
        match Leash::kill(child.id(), marker) {
            Ok(leash) => Ok(Self { child, _leash: leash }),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }

    /// The process id. It stays ours until the child is reaped.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it did.
    pub fn try_wait(&mut self) -> Result<Option<ExitStatus>> {
        self.child
            .try_wait()
            .context("waiting for a child process failed")
    }

    /// Waits at most `limit` for the end; `None` if it still runs.
    pub fn wait_for(&mut self, limit: Duration) -> Result<Option<ExitStatus>> {
        let end = Instant::now() + limit;
        loop {
            let status = self.try_wait()?;
            if status.is_some() || Instant::now() >= end {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sends a signal; an ended child is no error.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        send(self.child.id(), signal)
    }

    /// SIGKILL, then reaps. When it returns the process is gone.
    pub fn kill(&mut self) -> Result<ExitStatus> {
        self.child.kill().context("SIGKILL failed")?;
        self.child.wait().context("waiting for a killed process failed")
    }
}

impl Drop for Leashed {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts `command` in a process group of its own: a Ctrl-C at the terminal does not reach it.
pub fn spawn_apart(command: &mut Command) -> Result<Child> {
    let program = command.get_program().to_string_lossy().into_owned();
    command
        .process_group(0)
        .spawn()
        .with_context(|| format!("`{program}` cannot be started"))
}

/// Sends `signal` to `pid`. A process that does not exist is no error.
pub fn send(pid: u32, signal: Signal) -> Result<()> {
    let target = i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .context("0 is no process id")?;
    match rustix::process::kill_process(target, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error).with_context(|| format!("signal {signal:?} to process {pid} failed")),
    }
}

/// Whether process `pid` runs and has `marker` in its command line. A zombie has an empty one, so it does not count.
pub fn runs(pid: u32, marker: &str) -> bool {
    std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| {
        line.windows(marker.len().max(1))
            .any(|part| part == marker.as_bytes())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leash_kills_when_its_pipe_closes_without_release() {
        let mut child = spawn_apart(Command::new("sleep").arg("600.25")).unwrap();
        let mut leash = Leash::kill(child.id(), "600.25").unwrap();
        drop(leash.pipe.take());
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn a_released_leash_leaves_the_process_alone() {
        let mut child = spawn_apart(Command::new("sleep").arg("600.5")).unwrap();
        drop(Leash::kill(child.id(), "600.5").unwrap());
        assert!(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_leash_spares_a_pid_whose_command_line_is_another() {
        let mut child = spawn_apart(Command::new("sleep").arg("600.75")).unwrap();
        let mut leash = Leash::kill(child.id(), "no such marker").unwrap();
        drop(leash.pipe.take());
        leash.shell.wait().unwrap();
        assert!(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_directory_on_a_leash_is_removed() {
        let dir = std::env::temp_dir().join(format!("sealwax-leash-{}", fastrand::u64(..)));
        std::fs::create_dir_all(dir.join("node-1")).unwrap();
        std::fs::write(dir.join("node-1/pid"), "999999999").unwrap();
        let mut leash = Leash::remove(&dir).unwrap();
        drop(leash.pipe.take());
        leash.shell.wait().unwrap();
        assert!(!dir.exists());
    }

    #[test]
    fn a_dropped_child_is_gone() {
        let child = Leashed::spawn(Command::new("sleep").arg("600.125"), "600.125").unwrap();
        let pid = child.pid();
        // The kernel shows the new command line a moment after the exec that spawning waits for.
        while !runs(pid, "600.125") {
            std::thread::yield_now();
        }
        drop(child);
        assert!(!runs(pid, "600.125"));
    }
}
