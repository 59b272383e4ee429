//! `cargo xtask nemesis`: three brokers and their clients under random faults, from a seed; and the long forms of two tests on brokers.
//!
//! The flow: the machine is tried, the workload is built, this process takes itself out of the machine's network ([`crate::apart`]) and
//! begins anew; then `plan` → cluster and `workload` → `attack` → histories are judged → `report`. Everything of a run stays in
//! `target/nemesis/<version>-<seed>`: plan, histories, logs, result.

mod attack;
mod fault;
mod long;
mod plan;
mod report;
mod workload;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::apart;
use crate::kafka::{Cluster, Jvm, Missing, Network, Version, apt_install, create_topic};
use crate::workspace;
use attack::{Field, Tally};
pub use long::{Long, run as run_long};
use plan::Plan;
use workload::{Recipe, Workload};

const TOPIC: &str = "nemesis";
/// Where the test program is, for the process that begins anew.
const PROGRAM: &str = "SEALWAX_NEMESIS_PROGRAM";
/// How long the workload goes on when all faults are over.
const CALM: Duration = Duration::from_secs(20);
/// Beyond the settings of every cluster of ours: nodes that are cut off or frozen are given up within seconds by the others, too.
const SETTINGS: [(&str, &str); 4] = [
    ("replica.lag.time.max.ms", "4000"),
    ("replica.socket.timeout.ms", "4000"),
    ("request.timeout.ms", "5000"),
    ("broker.session.timeout.ms", "4000"),
];

/// What is to be done.
#[derive(Debug, Clone)]
pub struct Nemesis {
    /// The Kafka version.
    pub version: Version,
    /// For how long faults are caused.
    pub length: Duration,
    /// The seed of all random choices; drawn if not given.
    pub seed: Option<u64>,
    /// A plan to be repeated, in place of one drawn from the seed.
    pub plan: Option<PathBuf>,
    /// The negative control: the reader reads uncommitted records, and the judge must see it.
    pub control: bool,
    /// What to do if Java, Maven or nftables is missing.
    pub missing: Missing,
}

/// Runs it and prints what happens; says whether it found what it should: nothing, or in a negative control aborted reads.
///
/// # Errors
/// [`apart::Refused`] if this machine does not let us make network namespaces. Otherwise if something cannot be built, started or read,
/// or a process of the workload fails.
pub fn run(nemesis: &Nemesis) -> Result<bool> {
    let root = workspace::root()?;
    if !apart::is_apart() {
        if nemesis.missing == Missing::Install && !apart::has("nft") {
            apt_install("nftables")?;
        }
        apart::try_out()?;
        Jvm::prepare(nemesis.version, nemesis.missing)?;
        let program: OsString = workload::build(&root)?.into();
        match apart::run_again(&[(PROGRAM, &program)])? {}
    }
    let program = std::env::var_os(PROGRAM).with_context(|| format!("{PROGRAM} is not set"))?;
    let plan = make_plan(nemesis)?;
    println!(
        "seed {}: {} periods, {} of them clean",
        plan.seed,
        plan.periods.len(),
        plan.periods
            .iter()
            .filter(|period| period.faults.is_empty())
            .count()
    );
    let dir = make_dir(nemesis, &plan)?;
    let commit = report::commit(&root);
    let (tally, result) = fight(nemesis, &plan, &dir, program.into())?;
    let good = is_good(nemesis, &result);
    let (title, command) = head(nemesis, &plan, good);
    let section = report::of_nemesis(&title, &command, &commit, &tally, &result);
    println!("{section}");
    report::append(&root, &section)?;
    Ok(good)
}

fn is_good(nemesis: &Nemesis, result: &Value) -> bool {
    if nemesis.control {
        result["found"]["aborted read"].as_u64() > Some(0)
    } else {
        result["good"] == true
    }
}

fn make_plan(nemesis: &Nemesis) -> Result<Plan> {
    let Some(path) = &nemesis.plan else {
        let seed = nemesis.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
        return Ok(Plan::draw(seed, nemesis.length));
    };
    let text = fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let value: Value = serde_json::from_slice(&text)?;
    Plan::from_json(&value).with_context(|| format!("{} is no plan", path.display()))
}

/// The run's directory, emptied, with its plan in it.
fn make_dir(nemesis: &Nemesis, plan: &Plan) -> Result<PathBuf> {
    let name = format!("{}-{}", nemesis.version, plan.seed);
    let dir = workspace::target_dir()?.join("nemesis").join(name);
    if dir.exists() {
        fs::remove_dir_all(&dir).with_context(|| format!("{} cannot be emptied", dir.display()))?;
    }
    fs::create_dir_all(&dir).with_context(|| format!("{} cannot be made", dir.display()))?;
    fs::write(dir.join("plan.json"), format!("{:#}\n", plan.to_json()))?;
    println!("everything of this run is in {}", dir.display());
    Ok(dir)
}

fn fight(nemesis: &Nemesis, plan: &Plan, dir: &Path, program: PathBuf) -> Result<(Tally, Value)> {
    let network = Arc::new(Network::create(3)?);
    let mut builder = Cluster::builder(nemesis.version)
        .nodes(3)
        .network(Arc::clone(&network));
    for (key, value) in SETTINGS {
        builder = builder.config(key, value);
    }
    let cluster = builder.start()?;
    create_topic(&cluster.bootstrap(), TOPIC, fault::PARTITIONS, &[])?;
    let mut workload = Workload::start(Recipe {
        program,
        dir: dir.to_owned(),
        bootstrap: cluster.bootstrap(),
        version: nemesis.version,
        topic: TOPIC.to_owned(),
        seed: plan.seed,
        isolation: if nemesis.control {
            "read_uncommitted"
        } else {
            "read_committed"
        },
        base: SystemTime::now(),
    })?;
    let mut field = Field {
        cluster: &cluster,
        network: &network,
        workload: &mut workload,
        topic: TOPIC,
    };
    let attacked = field.attack(plan).and_then(|tally| {
        field.watch(CALM)?;
        Ok(tally)
    });
    if attacked.is_err() {
        keep_logs(&cluster, dir);
    }
    let tally = attacked?;
    println!("all faults are over; the workload ends, and its histories are judged");
    let result = workload.stop().and_then(|recipe| recipe.judge(&tally.healed));
    keep_logs(&cluster, dir);
    Ok((tally, result?))
}

/// The nodes' logs go with the cluster; what they say may be needed.
fn keep_logs(cluster: &Cluster, dir: &Path) {
    for id in cluster.node_ids() {
        if let Ok(node) = cluster.node(id) {
            // Best effort: the run's verdict does not depend on it.
            let _ = fs::copy(node.log_file(), dir.join(format!("node-{id}.txt")));
        }
    }
}

/// A run's title and command in the evidence.
fn head(nemesis: &Nemesis, plan: &Plan, good: bool) -> (String, String) {
    let minutes = nemesis.length.as_secs_f32() / 60.0;
    let flag = if nemesis.control { " --control" } else { "" };
    let verdict = match (nemesis.control, good) {
        (false, true) => "good",
        (false, false) => "NOT good",
        (true, true) => "negative control, caught",
        (true, false) => "negative control, NOT caught",
    };
    let (version, seed) = (nemesis.version, plan.seed);
    let command = match &nemesis.plan {
        Some(plan) => format!(
            "cargo xtask nemesis --version {version} --plan {}{flag}",
            plan.display()
        ),
        None => format!("cargo xtask nemesis --version {version} --minutes {minutes} --seed {seed}{flag}"),
    };
    (
        format!("{version}: {minutes} minutes, seed {seed}: {verdict}"),
        command,
    )
}
