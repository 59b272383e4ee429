//! The three clients as processes, and how they are told what to do.
//!
//! Each gets bootstrap servers, topic and transactional id as arguments. A line with a count on its input makes it carry out that many
//! transactions of one record, back to back, and answer with one line: nanoseconds from begin to the end of commit, separated by
//! spaces. It ends with its input, so none outlives us.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::kafka::Cluster;
use crate::{librdkafka, workspace};

const JAVA: &str = include_str!("TransactionLatency.java");
const PYTHON: &str = include_str!("transaction_latency.py");

/// What the clients are run from.
#[derive(Debug)]
pub(super) struct Programs {
    ours: PathBuf,
    python: PathBuf,
    java_source: PathBuf,
}

impl Programs {
    /// Builds ours with optimisations and fetches what is missing.
    pub(super) fn prepare() -> Result<Self> {
        let java_source = workspace::target_dir()?.join("latency/TransactionLatency.java");
        if let Some(dir) = java_source.parent() {
            fs::create_dir_all(dir).with_context(|| format!("{} cannot be created", dir.display()))?;
        }
        fs::write(&java_source, JAVA)
            .with_context(|| format!("{} cannot be written", java_source.display()))?;
        Ok(Self {
            ours: build()?,
            python: librdkafka::python()?,
            java_source,
        })
    }

    /// Starts all three; `topics` are theirs in this order: ours, Java's, librdkafka's.
    pub(super) fn start(&self, cluster: &Cluster, topics: [&str; 3]) -> Result<Vec<Peer>> {
        let ours = Command::new(&self.ours);
        // Java compiles the source itself.
        let java = cluster.jvm().source(&self.java_source)?;
        let mut librdkafka = Command::new(&self.python);
        librdkafka.args(["-c", PYTHON]);
        let named = [
            ("sealwax".to_owned(), ours),
            (format!("Java {}", cluster.version()), java),
            (format!("librdkafka {}", librdkafka::VERSION), librdkafka),
        ];
        let bootstrap = cluster.bootstrap();
        named
            .into_iter()
            .zip(topics)
            .map(|((name, command), topic)| Peer::start(name, command, &bootstrap, topic))
            .collect()
    }
}

fn build() -> Result<PathBuf> {
    println!("building our example (profile release) …");
    let status = Command::new(workspace::cargo())
        .args(["build", "--locked", "--release", "-p", "sealwax"])
        .args(["--example", "transaction_latency"])
        .current_dir(workspace::root()?)
        .status()
        .context("cargo cannot be started")?;
    ensure!(status.success(), "the example does not build ({status})");
    Ok(workspace::target_dir()?.join("release/examples/transaction_latency"))
}

/// A client at work.
#[derive(Debug)]
pub(super) struct Peer {
    name: String,
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Peer {
    fn start(name: String, mut command: Command, bootstrap: &str, topic: &str) -> Result<Self> {
        let mut process = command
            .args([bootstrap, topic, &format!("latency-{topic}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{name} cannot be started"))?;
        let input = process.stdin.take().context("a child without input")?;
        let output = process.stdout.take().context("a child without output")?;
        Ok(Self {
            name,
            process,
            input,
            output: BufReader::new(output),
        })
    }

    /// Which client, with its version.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Carries out `count` transactions: nanoseconds of each.
    pub(super) fn round(&mut self, count: usize) -> Result<Vec<u64>> {
        let failed = || format!("{} ended early; see what it printed", self.name);
        writeln!(self.input, "{count}").with_context(failed)?;
        let mut line = String::new();
        self.output.read_line(&mut line).with_context(failed)?;
        let figures: Vec<u64> = line
            .split_whitespace()
            .map(str::parse)
            .collect::<Result<_, _>>()
            .with_context(|| format!("{} answered with {line:?}", self.name))?;
        ensure!(figures.len() == count, failed());
        Ok(figures)
    }

    /// Lets it close its producer.
    pub(super) fn end(mut self) -> Result<()> {
        drop(self.input);
        let status = self.process.wait().context("a child cannot be awaited")?;
        ensure!(status.success(), "{} failed ({status})", self.name);
        Ok(())
    }
}
