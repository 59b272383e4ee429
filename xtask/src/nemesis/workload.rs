//! The clients under attack: processes of the test program `nemesis`, which write and read through sealwax and keep a history.
//!
//! Each is told what to do by one variable of its environment. A file named `stop` in the run's directory asks all of them to end, a
//! file `yield-<name>` tells one writer that its next fencing is final.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::fault::{PARTITIONS, WRITERS};
use crate::kafka::Version;
use crate::leash::{Leashed, Signal};
use crate::workspace;

/// The variable that tells a process what it is.
const TOLD: &str = "SEALWAX_NEMESIS";
/// The test that is run in each process.
const TEST: &str = "under_attack";
/// Transactional ids of one writer process.
const IDS: usize = 3;
/// How long a writer may take to end once it is asked to: a commit that is on its way first, and whatever it may wait for.
const STOP_LIMIT: Duration = Duration::from_secs(60);
const JUDGE_LIMIT: Duration = Duration::from_secs(300);

/// What all processes of a run have in common.
#[derive(Debug, Clone)]
pub(super) struct Recipe {
    pub(super) program: PathBuf,
    pub(super) dir: PathBuf,
    pub(super) bootstrap: String,
    pub(super) version: Version,
    pub(super) topic: String,
    pub(super) seed: u64,
    pub(super) isolation: &'static str,
    /// When the run began: histories count from there.
    pub(super) base: SystemTime,
}

/// The writers and the reader of a run.
#[derive(Debug)]
pub(super) struct Workload {
    recipe: Recipe,
    writers: Vec<Writer>,
    /// Writers that another one has taken the place of.
    replaced: Vec<Leashed>,
    reader: Leashed,
}

#[derive(Debug)]
struct Writer {
    process: Leashed,
    /// How many there have been in this place.
    incarnation: u32,
}

impl Workload {
    /// Starts all processes.
    pub(super) fn start(recipe: Recipe) -> Result<Self> {
        let writers = (0..WRITERS)
            .map(|writer| {
                let process = recipe.start_writer(writer, 1)?;
                Ok(Writer {
                    process,
                    incarnation: 1,
                })
            })
            .collect::<Result<_>>()?;
        let reader = recipe.start("reader", json!({ "role": "reader" }))?;
        Ok(Self {
            recipe,
            writers,
            replaced: Vec::new(),
            reader,
        })
    }

    /// The first transactional id of a writer.
    pub(super) fn first_id(writer: usize) -> String {
        ids(writer).swap_remove(0)
    }

    /// SIGKILL, and a new process in its place.
    pub(super) fn kill(&mut self, writer: usize) -> Result<()> {
        let place = place(&mut self.writers, writer)?;
        place.process.kill()?;
        place.incarnation += 1;
        place.process = self.recipe.start_writer(writer, place.incarnation)?;
        Ok(())
    }

    /// SIGSTOP or SIGCONT to the writer.
    pub(super) fn signal(&mut self, writer: usize, signal: Signal) -> Result<()> {
        place(&mut self.writers, writer)?.process.signal(signal)
    }

    /// A new process with the same transactional ids beside the present one, which must give way. It gets SIGCONT when the plan says so.
    pub(super) fn usurp(&mut self, writer: usize) -> Result<()> {
        let place = place(&mut self.writers, writer)?;
        let older = name(writer, place.incarnation);
        fs::write(self.recipe.dir.join(format!("yield-{older}")), "")?;
        place.incarnation += 1;
        let newer = self.recipe.start_writer(writer, place.incarnation)?;
        self.replaced.push(std::mem::replace(&mut place.process, newer));
        Ok(())
    }

    /// SIGCONT to every writer that another one has taken the place of.
    pub(super) fn thaw_replaced(&self) -> Result<()> {
        self.replaced
            .iter()
            .try_for_each(|older| older.signal(Signal::CONT))
    }

    /// Fails if a process has ended that should not have. One that was replaced may end, but only well.
    pub(super) fn check(&mut self) -> Result<()> {
        for (number, writer) in self.writers.iter_mut().enumerate() {
            if let Some(status) = writer.process.try_wait()? {
                bail!(
                    "writer {} ended by itself ({status})\n{}",
                    name(number, writer.incarnation),
                    self.recipe.logs()
                );
            }
        }
        for process in self.replaced.iter_mut().chain([&mut self.reader]) {
            if let Some(status) = process.try_wait()? {
                ensure!(
                    status.success(),
                    "a process failed ({status})\n{}",
                    self.recipe.logs()
                );
            }
        }
        Ok(())
    }

    /// Asks all to end and waits until they have.
    pub(super) fn stop(mut self) -> Result<Recipe> {
        fs::write(self.recipe.dir.join("stop"), "")?;
        self.thaw_replaced()?;
        let writers = self.writers.iter_mut().map(|writer| &mut writer.process);
        for process in writers.chain(&mut self.replaced).chain([&mut self.reader]) {
            let ended = process.wait_for(STOP_LIMIT)?;
            expect_success("a process of the workload", ended, &self.recipe)?;
        }
        Ok(self.recipe)
    }
}

impl Recipe {
    /// Has the histories judged. What was found is in the directory's `result.json`, and returned.
    pub(super) fn judge(&self, healed: &[SystemTime]) -> Result<Value> {
        let healed: Vec<u64> = healed.iter().map(|at| self.micros(*at)).collect();
        let mut judge = self.start("judge", json!({ "role": "judge", "healed": healed }))?;
        expect_success("the judge", judge.wait_for(JUDGE_LIMIT)?, self)?;
        let text = fs::read(self.dir.join("result.json")).context("the judge has left no result")?;
        Ok(serde_json::from_slice(&text)?)
    }

    /// Microseconds since the run began.
    pub(super) fn micros(&self, at: SystemTime) -> u64 {
        let since = at.duration_since(self.base).unwrap_or_default();
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    }

    fn start_writer(&self, writer: usize, incarnation: u32) -> Result<Leashed> {
        let seed = self.seed ^ (u64::try_from(writer)? << 32) ^ (u64::from(incarnation) << 40);
        let told = json!({ "role": "writer", "ids": ids(writer), "seed": seed });
        self.start(&name(writer, incarnation), told)
    }

    fn start(&self, name: &str, mut told: Value) -> Result<Leashed> {
        let base = self.base.duration_since(UNIX_EPOCH).unwrap_or_default();
        let common = json!({
            "name": name,
            "dir": self.dir,
            "base_micros": u64::try_from(base.as_micros())?,
            "bootstrap": self.bootstrap,
            "version": self.version.as_str(),
            "topic": self.topic,
            "partitions": PARTITIONS,
            "isolation": self.isolation,
        });
        if let (Value::Object(told), Value::Object(common)) = (&mut told, common) {
            told.extend(common);
        }
        let path = self.dir.join(format!("{name}.log"));
        let log = File::create(&path).with_context(|| format!("{} cannot be made", path.display()))?;
        let mut command = Command::new(&self.program);
        command
            .args([TEST, "--exact", "--ignored", "--nocapture"])
            .env(TOLD, told.to_string())
            .stdin(Stdio::null())
            .stdout(log.try_clone().context("a file handle cannot be copied")?)
            .stderr(log);
        Leashed::spawn(&mut command, &self.program.to_string_lossy())
    }

    /// The ends of all logs, for an error message.
    fn logs(&self) -> String {
        let mut text = format!("all of it is in {}", self.dir.display());
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            if path.extension().is_some_and(|extension| extension == "log") {
                let content = fs::read_to_string(&path).unwrap_or_default();
                let lines: Vec<&str> = content.lines().collect();
                let tail = lines.get(lines.len().saturating_sub(8)..).unwrap_or_default();
                text.push_str(&format!("\n{}:\n    {}", path.display(), tail.join("\n    ")));
            }
        }
        text
    }
}

fn expect_success(who: &str, ended: Option<ExitStatus>, recipe: &Recipe) -> Result<()> {
    match ended {
        Some(status) if status.success() => Ok(()),
        Some(status) => bail!("{who} failed ({status})\n{}", recipe.logs()),
        None => bail!("{who} did not end in time\n{}", recipe.logs()),
    }
}

fn place(writers: &mut [Writer], writer: usize) -> Result<&mut Writer> {
    writers
        .get_mut(writer)
        .with_context(|| format!("there is no writer {writer}"))
}

fn name(writer: usize, incarnation: u32) -> String {
    format!("writer-{writer}-{incarnation}")
}

fn ids(writer: usize) -> Vec<String> {
    (0..IDS).map(|id| format!("nemesis-{writer}-{id}")).collect()
}

/// Builds the test program and says where it is.
pub(super) fn build(root: &Path) -> Result<PathBuf> {
    let output = Command::new(workspace::cargo())
        .args([
            "test",
            "--locked",
            "-p",
            "sealwax-tests",
            "--test",
            "nemesis",
            "--no-run",
        ])
        .args(["--message-format", "json"])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .context("cargo cannot be started")?;
    ensure!(output.status.success(), "the workload does not build");
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == "nemesis")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .context("cargo named no executable")
}
