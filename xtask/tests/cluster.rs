//! The library's clusters on real brokers: they come up, survive what is done to them, and leave nothing behind.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use xtask::kafka::{
    Cluster, ConsoleConsumer, Isolation, Tool, Version, create_topic, end_offset, last_committed_value,
    partition_count, run_java_tool,
};
use xtask::leash;

/// The environment variable that turns [`orphan`] from nothing into a process that waits to be killed.
const ORPHAN: &str = "XTASK_TEST_ORPHAN";

fn produce(cluster: &Cluster, count: u32, transactional: bool) -> Result<()> {
    let servers = format!("bootstrap.servers={}", cluster.bootstrap());
    let count = count.to_string();
    let mut arguments = vec![
        "--topic",
        "t",
        "--num-records",
        &count,
        "--record-size",
        "8",
        "--throughput",
        "-1",
    ];
    if transactional {
        arguments.extend(["--transactional-id", "x", "--transaction-duration-ms", "60000"]);
    }
    arguments.extend(["--producer-props", &servers]);
    run_java_tool(
        cluster.jvm(),
        "org.apache.kafka.tools.ProducerPerformance",
        &arguments,
    )?;
    Ok(())
}

fn count(cluster: &Cluster) -> Result<u64> {
    let consumer = ConsoleConsumer::new("t", Isolation::ReadCommitted).idle(Duration::from_secs(5));
    consumer.run(cluster.jvm(), &cluster.bootstrap(), |line| {
        assert_eq!(line.len(), 8)
    })
}

fn life_of_a_node(version: Version) -> Result<()> {
    let cluster = Cluster::builder(version).start()?;
    create_topic(&cluster.bootstrap(), "t", 1, &[("retention.ms", "-1")])?;
    assert_eq!(partition_count(&cluster.bootstrap(), "t")?, 1);
    produce(&cluster, 100, false)?;
    let node = cluster.node(1)?;
    let pid = node.pid().context("a running node has a process")?;
    node.kill()?;
    assert_eq!(node.pid(), None);
    assert!(!leash::runs(pid, "server.properties"));
    node.start()?;
    node.pause()?;
    node.resume()?;
    cluster.await_ready()?;
    assert_eq!(last_committed_value(&cluster.bootstrap(), "t", 0)?, None);
    produce(&cluster, 50, true)?;
    assert_eq!(
        last_committed_value(&cluster.bootstrap(), "t", 0)?.map(|value| value.len()),
        Some(8)
    );
    node.stop()?;
    node.start()?;
    assert_eq!(count(&cluster)?, 150);
    assert_eq!(
        end_offset(&cluster.bootstrap(), "t", 0, Isolation::ReadCommitted)?,
        151
    );
    let (dir, pid) = (
        cluster.dir().to_path_buf(),
        node.pid().context("a running node has a process")?,
    );
    drop(cluster);
    assert!(!dir.exists() && !leash::runs(pid, "server.properties"));
    Ok(())
}

#[test]
fn a_node_of_the_newest_version_is_killed_paused_and_stopped() {
    life_of_a_node(Version::V4_4_0).unwrap();
}

#[test]
fn a_node_of_the_oldest_version_is_killed_paused_and_stopped() {
    life_of_a_node(Version::V3_3_2).unwrap();
}

#[test]
fn one_of_three_nodes_dies_and_comes_back() {
    let cluster = Cluster::builder(Version::V4_4_0)
        .nodes(3)
        .config("auto.create.topics.enable", "false")
        .start()
        .unwrap();
    assert_eq!(cluster.node_ids(), [1, 2, 3]);
    assert_eq!(cluster.bootstrap().split(',').count(), 3);
    create_topic(&cluster.bootstrap(), "t", 3, &[]).unwrap();
    let node = cluster.node(2).unwrap();
    node.kill().unwrap();
    // The two that are left take over, and stay writable: two copies of three are enough.
    cluster.await_ready().unwrap();
    produce(&cluster, 30, false).unwrap();
    node.start().unwrap();
    assert_eq!(count(&cluster).unwrap(), 30);
    let topics = run_java_tool(
        cluster.jvm(),
        cluster.version().main_class(Tool::Topics),
        &["--bootstrap-server", &cluster.bootstrap(), "--list"],
    );
    assert!(topics.unwrap().lines().any(|topic| topic == "t"));
}

#[test]
fn a_cluster_does_not_outlive_a_killed_test() {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["orphan", "--exact", "--nocapture"])
        .env(ORPHAN, "1")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let report = lines
        .map(Result::unwrap)
        .find_map(|line| line.split_once("orphan:").map(|(_, rest)| rest.to_owned()));
    let report = report.unwrap();
    let (pid, dir) = report.split_once(' ').unwrap();
    let (pid, dir): (u32, PathBuf) = (pid.parse().unwrap(), dir.into());
    assert!(leash::runs(pid, "server.properties") && dir.exists());
    child.kill().unwrap();
    child.wait().unwrap();
    await_gone(pid, &dir);
}

/// Part of the test above: a process with a cluster, which is then killed.
#[test]
fn orphan() {
    if std::env::var_os(ORPHAN).is_none() {
        return;
    }
    let cluster = Cluster::builder(Version::V4_4_0).start().unwrap();
    let pid = cluster.node(1).unwrap().pid().unwrap();
    println!("orphan:{pid} {}", cluster.dir().display());
    loop {
        std::thread::park();
    }
}

fn await_gone(pid: u32, dir: &Path) {
    while leash::runs(pid, "server.properties") || dir.exists() {
        std::thread::sleep(Duration::from_millis(20));
    }
}
