//! Every broker is down while a producer with little memory goes on sending: its process does not grow, what does not fit is refused in
//! time, and when brokers are back it goes on by itself; what was acknowledged is there once, and what was refused is not there.
//!
//! The producer is in a process of its own, so that its memory can be told from that of the tests beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sealwax::config::ProducerConfig;
use sealwax::{Client, ErrorKind, Producer, Record};
use sealwax_tests::scratch::Scratch;
use sealwax_tests::wait;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use xtask::kafka::{Cluster, ConsoleConsumer, Isolation, Version, create_topic};
use xtask::leash::Leashed;

use crate::buffer::resident;

const TOPIC: &str = "outage";
const BUFFER: usize = 8 * 1024 * 1024;
const RECORD: usize = 1_000;
/// Senders that wait for room at the same time.
const SENDERS: usize = 100;
const PACE: Duration = Duration::from_millis(50);
const MAX_BLOCK: Duration = Duration::from_millis(500);
/// Far beyond `max.block.ms`: a send that takes so long hangs.
const HANG: Duration = Duration::from_secs(20);
/// From before the first record to the end: the buffer, what surrounds it, and the results kept for the test.
const GROWTH: u64 = 4 * BUFFER as u64;
/// From when the buffer has long been full to the end of the outage. A few hundred sends are refused in each second.
const LATE_GROWTH: u64 = 4 * 1024 * 1024;
/// Tells the sending process where brokers and its directory are.
const TOLD: &str = "SEALWAX_OUTAGE_CHILD";

/// What became of each number, by the number.
type Fates = BTreeMap<u64, &'static str>;

#[derive(Debug)]
struct Sending {
    dir: PathBuf,
    producer: Producer,
    next: AtomicU64,
    refused: AtomicU64,
    fates: Mutex<Fates>,
}

impl Sending {
    fn is(&self, flag: &str) -> bool {
        self.dir.join(flag).exists()
    }

    fn settle(&self, number: u64, fate: &'static str) {
        let mut fates = self.fates.lock().unwrap_or_else(PoisonError::into_inner);
        fates.insert(number, fate);
    }

    async fn send(self: Arc<Self>) -> Result<()> {
        let mut results = JoinSet::new();
        while !self.is("stop") {
            let number = self.next.fetch_add(1, Ordering::SeqCst);
            let value = format!("{number:0RECORD$}");
            let is_after = self.is("back");
            let sent = tokio::time::timeout(HANG, self.producer.send(Record::new(TOPIC, &value)));
            match sent.await.context("a send hangs")? {
                Ok(delivery) => {
                    let sending = Arc::clone(&self);
                    results.spawn(async move {
                        match delivery.wait().await {
                            Ok(_) if is_after => {
                                sending.settle(number, "acknowledged");
                                std::fs::write(sending.dir.join("recovered"), "")?;
                            }
                            Ok(_) => sending.settle(number, "acknowledged"),
                            Err(error) if error.kind() == ErrorKind::OutcomeUnknown => {
                                sending.settle(number, "unknown");
                            }
                            Err(_) => sending.settle(number, "failed"),
                        }
                        anyhow::Ok(())
                    });
                }
                Err(error) => {
                    ensure!(error.kind() == ErrorKind::Timeout, "{error:?}");
                    self.refused.fetch_add(1, Ordering::SeqCst);
                    self.settle(number, "refused");
                }
            }
            while let Some(result) = results.try_join_next() {
                result??;
            }
            tokio::time::sleep(PACE).await;
        }
        while let Some(result) = results.join_next().await {
            result??;
        }
        Ok(())
    }

    /// The process' memory at its peak, and how much it grew from the flag `full` to the flag `back`.
    async fn measure(&self) -> Result<(usize, usize)> {
        let (mut peak, mut full, mut at_last) = (0, None, 0);
        while !self.is("stop") {
            let now = resident()?;
            peak = peak.max(now);
            if self.is("full") && !self.is("back") {
                full.get_or_insert(now);
                at_last = now;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok((peak, at_last.saturating_sub(full.unwrap_or(at_last))))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the process that the tests beside it start"]
async fn sends_on_and_on() -> Result<()> {
    let told: Value = serde_json::from_str(&std::env::var(TOLD)?)?;
    let bootstrap = told["bootstrap"].as_str().context("no bootstrap")?;
    let client = Client::builder(bootstrap.split(',')).connect().await?;
    let mut config = ProducerConfig::default();
    config.buffer_memory = BUFFER;
    config.max_block = MAX_BLOCK;
    let mut built = client.producer().config(config.clone()).build().await;
    while built.is_err() {
        built = client.producer().config(config.clone()).build().await;
    }
    let sending = Arc::new(Sending {
        dir: told["dir"].as_str().context("no dir")?.into(),
        producer: built?,
        next: AtomicU64::new(0),
        refused: AtomicU64::new(0),
        fates: Mutex::default(),
    });
    let before = resident()?;
    let mut senders = JoinSet::new();
    for _ in 0..SENDERS {
        senders.spawn(Arc::clone(&sending).send());
    }
    let (peak, late) = sending.measure().await?;
    while let Some(ended) = senders.join_next().await {
        ended??;
    }
    let fates = sending.fates.lock().unwrap_or_else(PoisonError::into_inner);
    let result = json!({
        "growth": peak.saturating_sub(before),
        "late_growth": late,
        "refused": sending.refused.load(Ordering::SeqCst),
        "fates": fates.iter().map(|(number, fate)| json!([number, fate])).collect::<Vec<_>>(),
    });
    Ok(std::fs::write(
        sending.dir.join("result.json"),
        result.to_string(),
    )?)
}

fn start(dir: &Path, bootstrap: &str) -> Result<Leashed> {
    let program = std::env::current_exe()?;
    let log = std::fs::File::create(dir.join("log"))?;
    let mut command = Command::new(&program);
    command
        .args(["outage::sends_on_and_on", "--exact", "--ignored", "--nocapture"])
        .env(TOLD, json!({ "bootstrap": bootstrap, "dir": dir }).to_string())
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log);
    Leashed::spawn(&mut command, &program.to_string_lossy())
}

fn all_down(cluster: &Cluster) -> Result<()> {
    cluster
        .node_ids()
        .into_iter()
        .try_for_each(|id| cluster.node(id)?.kill())
}

fn all_up(cluster: &Cluster) -> Result<()> {
    for id in cluster.node_ids() {
        cluster.node(id)?.launch()?;
    }
    cluster.await_ready()
}

/// The outage, as long as `cargo xtask nemesis --outage` says or short.
fn outage(version: Version) -> Result<()> {
    let told = std::env::var("SEALWAX_OUTAGE_SECONDS").ok();
    let (nodes, seconds) = match told {
        Some(seconds) => (3, seconds.parse()?),
        None => (1, 18),
    };
    let (cluster, scratch) = (Cluster::builder(version).nodes(nodes).start()?, Scratch::new()?);
    create_topic(&cluster.bootstrap(), TOPIC, 1, &[])?;
    let mut child = start(scratch.path(), &cluster.bootstrap())?;
    // The length of the run, not a wait for anything.
    std::thread::sleep(Duration::from_secs(3));
    all_down(&cluster)?;
    std::thread::sleep(Duration::from_secs(seconds / 2));
    scratch.file("full", "")?;
    std::thread::sleep(Duration::from_secs(seconds - seconds / 2));
    scratch.file("back", "")?;
    all_up(&cluster)?;
    let recovered = scratch.path().join("recovered");
    let went_on = wait::until(
        "an acknowledgement after the outage",
        Duration::from_secs(60),
        || Ok(recovered.exists().then_some(())),
    );
    scratch.file("stop", "")?;
    let status = child.wait_for(Duration::from_secs(200))?;
    let log = || std::fs::read_to_string(scratch.path().join("log")).unwrap_or_default();
    went_on.with_context(log)?;
    ensure!(
        status.is_some_and(|status| status.success()),
        "{status:?}\n{}",
        log()
    );
    let result = std::fs::read(scratch.path().join("result.json"))?;
    judge(&cluster, &serde_json::from_slice(&result)?, seconds)
}

fn judge(cluster: &Cluster, result: &Value, seconds: u64) -> Result<()> {
    let number = |key: &str| result[key].as_u64().with_context(|| format!("no {key}"));
    let of = |wanted: &str| -> BTreeSet<u64> {
        let fates = result["fates"].as_array().into_iter().flatten();
        fates
            .filter(|fate| fate[1] == wanted)
            .filter_map(|fate| fate[0].as_u64())
            .collect()
    };
    let (growth, late, refused) = (number("growth")?, number("late_growth")?, number("refused")?);
    let (acknowledged, unknown, failed) = (of("acknowledged"), of("unknown"), of("failed"));
    println!(
        "evidence: {seconds} s without brokers: {} acknowledged, {} unknown, {} failed, {refused} refused; the process grew by \
         {growth} bytes, {late} of them in the second half of the outage",
        acknowledged.len(),
        unknown.len(),
        failed.len()
    );
    let mut seen = BTreeSet::new();
    let mut wrong = Vec::new();
    ConsoleConsumer::new(TOPIC, Isolation::ReadUncommitted).run(
        cluster.jvm(),
        &cluster.bootstrap(),
        |line| match line.parse() {
            Ok(number) if seen.insert(number) => {}
            _ => wrong.push(line.to_owned()),
        },
    )?;
    ensure!(wrong.is_empty(), "doubled or not ours: {wrong:?}");
    let lost: Vec<_> = acknowledged.difference(&seen).collect();
    ensure!(lost.is_empty(), "acknowledged, but not there: {lost:?}");
    let uncalled: Vec<_> = seen
        .iter()
        .filter(|number| !acknowledged.contains(number) && !unknown.contains(number))
        .collect();
    ensure!(
        uncalled.is_empty(),
        "there, but said not to have been written: {uncalled:?}"
    );
    ensure!(
        refused > 100 && !acknowledged.is_empty(),
        "the buffer was hardly full: {refused} refused"
    );
    ensure!(growth < GROWTH, "the process grew by {growth} bytes");
    ensure!(
        late < LATE_GROWTH,
        "the process grew by {late} bytes while its buffer was full"
    );
    Ok(())
}

#[test]
fn memory_is_bounded_3_9_1() -> Result<()> {
    outage(Version::V3_9_1)
}

#[test]
fn memory_is_bounded_4_4_0() -> Result<()> {
    outage(Version::V4_4_0)
}
