//! `cargo xtask demo`: a file of numbered lines goes into a real Kafka topic exactly once, although the process that carries it
//! is killed -9 again and again; then `sealwax verify` and Java's console consumer count.
//!
//! Everything lives in one temporary directory and in child processes on a leash, so nothing stays behind, also after Ctrl-C.

mod attack;
mod numbers;
mod worker;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::kafka::{Cluster, ConsoleConsumer, Isolation, Missing, Version, create_topic};
use crate::leash::Leash;
use crate::workspace;
use attack::Target;
use numbers::Tally;
use worker::Recipe;

const TOPIC: &str = "numbers";

/// What the demo is to do.
#[derive(Debug, Clone)]
pub struct Demo {
    /// The Kafka version.
    pub version: Version,
    /// How many lines the file has; at least 1000.
    pub lines: u64,
    /// How often the worker is killed; at least 1.
    pub kills: usize,
    /// The seed of all random choices.
    pub seed: u64,
    /// Whether the binary is built with optimisations, which takes longer to build than the demo takes to run.
    pub release: bool,
    /// What to do if Java or Maven is missing.
    pub missing: Missing,
}

/// Runs the demo and prints what happens; says whether both readers found every line exactly once.
///
/// # Errors
/// If something cannot be built, started or read, or the worker fails in another way than by being killed.
pub fn run(demo: &Demo) -> Result<bool> {
    ensure!(demo.lines >= 1000, "--lines must be at least 1000");
    ensure!(demo.kills >= 1, "--kills must be at least 1");
    let begun = Instant::now();
    println!("seed {} (repeat with --seed {})", demo.seed, demo.seed);
    let binary = build(demo.release)?;
    let scratch = Scratch::new()?;
    let file = scratch.dir.join("numbers.txt");
    numbers::write(&file, demo.lines)?;
    println!("wrote {} numbered lines", demo.lines);
    let cluster = Cluster::builder(demo.version).missing(demo.missing).start()?;
    let bootstrap = cluster.bootstrap();
    println!("Kafka {} answers on {bootstrap}", demo.version);
    create_topic(&bootstrap, TOPIC, 1, &[])?;
    carry(demo, &scratch.dir, &binary, &bootstrap, &file)?;
    let good = count(demo, &binary, &cluster)?;
    println!(
        "{} after {:.0} s",
        if good { "exactly once" } else { "NOT exactly once" },
        begun.elapsed().as_secs_f32()
    );
    Ok(good)
}

fn carry(demo: &Demo, dir: &Path, binary: &Path, bootstrap: &str, file: &Path) -> Result<()> {
    let mut rng = fastrand::Rng::with_seed(demo.seed);
    let target = Target {
        bootstrap: bootstrap.to_owned(),
        topic: TOPIC.to_owned(),
        lines: demo.lines,
    };
    let recipe = Recipe::write(dir, binary.to_path_buf(), bootstrap, file, TOPIC)?;
    let begun = Instant::now();
    let plan = attack::plan(demo.lines, demo.kills, &mut rng);
    let mut worker = attack::run(&recipe, &target, &plan, &mut rng)?;
    attack::await_all(&recipe, &mut worker, &target)?;
    println!(
        "the last line arrived {:.1} s after the first start",
        begun.elapsed().as_secs_f32()
    );
    recipe.stop(&mut worker)
}

fn count(demo: &Demo, binary: &Path, cluster: &Cluster) -> Result<bool> {
    println!("── sealwax verify");
    let bootstrap = cluster.bootstrap();
    let range = format!("1..{}", demo.lines);
    let verify = Command::new(binary)
        .args([
            "verify",
            "--bootstrap-server",
            &bootstrap,
            "--topic",
            TOPIC,
            "--numbers",
            &range,
        ])
        .status()
        .with_context(|| format!("{} cannot be started", binary.display()))?;
    println!("── Java's console consumer");
    let read = |isolation| -> Result<Tally> {
        let mut tally = Tally::new(demo.lines);
        ConsoleConsumer::new(TOPIC, isolation).run(cluster.jvm(), &bootstrap, |line| tally.add(line))?;
        Ok(tally)
    };
    let committed = read(Isolation::ReadCommitted)?;
    println!("read_committed:   {committed}");
    let uncommitted = read(Isolation::ReadUncommitted)?;
    println!("read_uncommitted: {uncommitted}");
    match uncommitted.duplicates() {
        0 => println!("no kill left records behind this time; another --seed will"),
        left => println!("{left} records are left of transactions that were killed: the attack was real"),
    }
    Ok(verify.success() && committed.is_exact())
}

/// Builds the binary as users get it, and says where it is.
fn build(release: bool) -> Result<PathBuf> {
    let (profile, folder) = if release {
        ("release", "release")
    } else {
        ("dev", "debug")
    };
    println!("building sealwax (profile {profile}) …");
    let status = Command::new(workspace::cargo())
        .args(["build", "--locked", "-p", "sealwax-connect", "--bin", "sealwax"])
        .args(["--profile", profile])
        .current_dir(workspace::root()?)
        .status()
        .context("cargo cannot be started")?;
    ensure!(status.success(), "sealwax does not build ({status})");
    Ok(workspace::target_dir()?.join(folder).join("sealwax"))
}

/// A temporary directory that is removed at the end, whatever the end is.
#[derive(Debug)]
struct Scratch {
    dir: PathBuf,
    _leash: Leash,
}

impl Scratch {
    fn new() -> Result<Self> {
        let dir = std::env::temp_dir().join(format!("sealwax-demo-{:016x}", fastrand::u64(..)));
        fs::create_dir_all(&dir).with_context(|| format!("{} cannot be created", dir.display()))?;
        Ok(Self {
            _leash: Leash::remove(&dir)?,
            dir,
        })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}
