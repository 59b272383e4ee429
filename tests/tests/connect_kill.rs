//! The worker is killed -9 at chosen and at random points within its transactions; a reader that is not ours counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kafka_protocol::messages::ApiKey;
use rustix::process::Signal;
use sealwax_tests::process::signal_pid;
use sealwax_tests::proxy::{Proxy, Request, Rule, Verdict};
use sealwax_tests::worker::FileSource;
use sealwax_tests::{clusters, numbers, progress, readers};
use xtask::kafka::{Cluster, Isolation, Version};

/// Where in a transaction the worker dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KillPoint {
    /// Records were appended by the broker, the answer did not arrive: between send and offsets, or behind both.
    AfterProduce,
    /// All is written, EndTxn has not left the machine: between offsets and EndTxn.
    BeforeEndTxn,
    /// EndTxn is on its way to the broker: after it was sent.
    DuringEndTxn,
    /// The broker has carried out EndTxn, the worker does not know: before it learns of the commit.
    AfterEndTxn,
    /// The worker has learned of the commit: between commit and the next poll.
    AfterCommit,
}

const KILL_POINTS: [KillPoint; 5] = [
    KillPoint::AfterProduce,
    KillPoint::BeforeEndTxn,
    KillPoint::DuringEndTxn,
    KillPoint::AfterEndTxn,
    KillPoint::AfterCommit,
];

/// Kills a process at a point of its n-th transaction.
#[derive(Debug)]
struct Killer {
    point: KillPoint,
    /// How many matching frames pass before the deadly one.
    countdown: AtomicU64,
    pid: AtomicU32,
}

impl Killer {
    fn strikes(&self) -> bool {
        let strikes = self
            .countdown
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
            .is_err();
        if strikes {
            // Struck before, the process may be gone already.
            let _ = signal_pid(self.pid.load(Ordering::SeqCst), Signal::KILL);
        }
        strikes
    }
}

struct KillerRule(Arc<Killer>);

impl Rule for KillerRule {
    fn request(&self, request: &Request) -> Verdict {
        match (self.0.point, request.api) {
            (KillPoint::BeforeEndTxn, Some(ApiKey::EndTxn)) if self.0.strikes() => Verdict::Cut,
            (KillPoint::DuringEndTxn, Some(ApiKey::EndTxn)) if self.0.strikes() => Verdict::Pass,
            _ => Verdict::Pass,
        }
    }

    fn answer(&self, request: &Request) -> Verdict {
        match (self.0.point, request.api) {
            (KillPoint::AfterProduce, Some(ApiKey::Produce)) if self.0.strikes() => Verdict::Cut,
            (KillPoint::AfterEndTxn, Some(ApiKey::EndTxn)) if self.0.strikes() => Verdict::Cut,
            (KillPoint::AfterCommit, Some(ApiKey::EndTxn)) => {
                // The answer goes out first; the kill follows at once, before the next poll's records are committed.
                let killer = Arc::clone(&self.0);
                std::thread::spawn(move || killer.strikes());
                Verdict::Pass
            }
            _ => Verdict::Pass,
        }
    }
}

const LINES: u64 = 200_000;

/// Kills the worker once at each kill point, in its n-th transaction, and lets the last run finish.
fn attack(version: Version, settings: &[&str], seed: u64) -> Result<()> {
    let cluster = clusters::shared(version)?;
    let source = FileSource::numbers(&cluster.bootstrap(), LINES, settings)?;
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut points = KILL_POINTS;
    rng.shuffle(&mut points);
    for point in points {
        let killer = Arc::new(Killer {
            point,
            countdown: AtomicU64::new(rng.u64(1..4)),
            pid: AtomicU32::new(0),
        });
        // The rule cannot strike before it knows whom: the worker starts only when the proxy stands.
        let proxy = Proxy::start(&cluster.bootstrap(), KillerRule(Arc::clone(&killer)))?;
        source.set_bootstrap(&proxy.bootstrap())?;
        let mut worker = source.start()?;
        killer.pid.store(worker.pid(), Ordering::SeqCst);
        worker
            .await_end(Duration::from_secs(60))
            .with_context(|| format!("{point:?}, seed {seed}"))?;
        agree(&cluster, &source).with_context(|| format!("after a kill {point:?}, seed {seed}"))?;
    }
    source.set_bootstrap(&cluster.bootstrap())?;
    let worker = source.start()?;
    progress::await_whole_file(&cluster.bootstrap(), &source, &worker, Duration::from_secs(60))?;
    let committed = readers::java(&cluster, &source.topic, Isolation::ReadCommitted)?;
    if let Some(difference) = numbers::difference(&committed, LINES) {
        anyhow::bail!("seed {seed}: {difference}");
    }
    let offsets = readers::java_with_keys(&cluster, &source.offsets_topic(), Isolation::ReadCommitted)?;
    let length = std::fs::metadata(&source.input)?.len();
    let wanted = format!(
        "[\"{}\",{{\"filename\":\"{}\"}}]\t{{\"position\":{length}}}",
        source.name,
        source.input.display()
    );
    ensure!(
        offsets.last() == Some(&wanted),
        "seed {seed}: the last offset is {:?}, not {wanted}",
        offsets.last()
    );
    let all = readers::java(&cluster, &source.topic, Isolation::ReadUncommitted)?;
    ensure!(
        numbers::duplicates(&all) > 0,
        "seed {seed}: no kill left an aborted transaction behind, so the attack was none"
    );
    Ok(())
}

/// Offsets topic and data agree: as many bytes of lines are committed as the offset says, now, with no worker alive.
fn agree(cluster: &Cluster, source: &FileSource) -> Result<()> {
    let lines = progress::committed(&cluster.bootstrap(), &source.topic)?;
    let position = progress::committed_position(&cluster.bootstrap(), source)?;
    let bytes: usize = lines.iter().map(|line| line.len() + 1).sum();
    ensure!(
        bytes as u64 == position,
        "{} lines of {bytes} bytes are committed, but the offset says {position}",
        lines.len()
    );
    Ok(())
}

macro_rules! attacks {
    ($($name:ident: $version:ident, $settings:expr, $seed:literal;)*) => {
        $(
            #[test]
            fn $name() -> Result<()> {
                attack(Version::$version, &$settings, $seed)
            }
        )*
    };
}

/// Short intervals, so that a run of some seconds has many transactions.
const INTERVAL: [&str; 2] = [
    "transaction.boundary=interval",
    "transaction.boundary.interval.ms=20",
];
/// Not a divisor of the batch size: transactions end inside of batches.
const CONNECTOR: [&str; 2] = ["transaction.boundary=connector", "transaction.lines=700"];

attacks! {
    poll_boundary_on_3_3_2: V3_3_2, [], 1;
    poll_boundary_on_3_9_1: V3_9_1, [], 2;
    poll_boundary_on_4_4_0: V4_4_0, [], 3;
    interval_boundary_on_3_3_2: V3_3_2, INTERVAL, 4;
    interval_boundary_on_3_9_1: V3_9_1, INTERVAL, 5;
    interval_boundary_on_4_4_0: V4_4_0, INTERVAL, 6;
    connector_boundary_on_3_3_2: V3_3_2, CONNECTOR, 7;
    connector_boundary_on_3_9_1: V3_9_1, CONNECTOR, 8;
    connector_boundary_on_4_4_0: V4_4_0, CONNECTOR, 9;
}
