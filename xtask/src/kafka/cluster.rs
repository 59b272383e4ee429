//! A running cluster: its addresses, its nodes, and what can be done to them.
//!
//! Dropped, it kills its nodes and removes its directory if that was its own. The same happens when this process is
//! killed (see [`crate::leash`]).

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::Signal;

use super::builder::{ClusterBuilder, Recipe, write_properties};
use super::jvm::Jvm;
use super::layout::{NodeSpec, node_dir};
use super::node::{self, NodeProcess};
use super::ready::{self, Expectation};
use super::versions::Version;
use crate::leash::Leash;

/// How long a node may take to end after SIGTERM before it is killed.
const STOP_PATIENCE: Duration = Duration::from_secs(40);

/// A cluster of real Kafka nodes on 127.0.0.1, or in namespaces of a [`Network`](super::Network). All methods block; it is `Send` and `Sync`.
#[derive(Debug)]
pub struct Cluster {
    recipe: Recipe,
    nodes: Vec<Mutex<NodeProcess>>,
    /// Present if the directory is the cluster's own; removes it if this process dies.
    scrap: Option<Leash>,
}

impl Cluster {
    /// Starts to describe a cluster of this version.
    pub fn builder(version: Version) -> ClusterBuilder {
        ClusterBuilder::new(version)
    }

    /// The addresses of all brokers, running or not: `host1:p1,host2:p2,…`.
    pub fn bootstrap(&self) -> String {
        self.recipe.layout.bootstrap()
    }

    /// The Kafka version.
    pub fn version(&self) -> Version {
        self.recipe.layout.version
    }

    /// The cluster's directory: `node-<id>/{server.properties, node.log, data}`.
    pub fn dir(&self) -> &Path {
        &self.recipe.dir
    }

    /// Java with this version's jars, to run its tools.
    pub fn jvm(&self) -> &Jvm {
        &self.recipe.jvm
    }

    /// The ids of all nodes: 1, or 1 to 3.
    pub fn node_ids(&self) -> Vec<i32> {
        self.recipe.layout.nodes.iter().map(|spec| spec.id).collect()
    }

    /// The node with this broker id.
    ///
    /// # Errors
    /// If there is no such node.
    pub fn node(&self, id: i32) -> Result<Node<'_>> {
        let index = self.recipe.layout.nodes.iter().position(|spec| spec.id == id);
        let found =
            index.and_then(|index| Some((self.recipe.layout.nodes.get(index)?, self.nodes.get(index)?)));
        let (spec, process) = found.with_context(|| format!("the cluster has no node {id}"))?;
        Ok(Node {
            cluster: self,
            spec,
            process,
        })
    }

    /// Waits until all running (not stopped, not paused) nodes agree that the cluster works: see
    /// [`ClusterBuilder::start`].
    ///
    /// # Errors
    /// If that does not happen within the builder's boot limit, or a running node's process has ended.
    pub fn await_ready(&self) -> Result<()> {
        self.await_answers(false)
    }

    /// Whether all running (not stopped, not paused) nodes agree now that the cluster works.
    pub fn is_ready(&self) -> bool {
        ready::probe(&self.expectation(false)).is_ok()
    }

    pub(super) fn boot(recipe: Recipe, fresh: bool) -> Result<Self> {
        let nodes = recipe
            .layout
            .nodes
            .iter()
            .map(|_| Mutex::new(NodeProcess::Stopped))
            .collect();
        let cluster = Self {
            recipe,
            nodes,
            scrap: None,
        };
        let begun = Instant::now();
        eprintln!("booting Kafka {} …", cluster.version());
        let booted = cluster.spawn_all().and_then(|()| cluster.await_answers(fresh));
        if let Err(error) = booted {
            cluster.kill_all();
            return Err(error);
        }
        eprintln!(
            "Kafka {} answers after {:.1} s",
            cluster.version(),
            begun.elapsed().as_secs_f32()
        );
        Ok(cluster)
    }

    pub(super) fn with_scrap(mut self, scrap: Option<Leash>) -> Self {
        self.scrap = scrap;
        self
    }

    fn spawn_all(&self) -> Result<()> {
        for id in self.node_ids() {
            self.node(id)?.launch()?;
        }
        Ok(())
    }

    fn await_answers(&self, coordinators: bool) -> Result<()> {
        let expectation = self.expectation(coordinators);
        ready::await_ready(&expectation, self.recipe.boot_limit, || self.check_alive())
            .map_err(|error| self.with_logs(&expectation, error))
    }

    fn expectation(&self, coordinators: bool) -> Expectation {
        let mut brokers = Vec::new();
        for (spec, process) in self.recipe.layout.nodes.iter().zip(&self.nodes) {
            if lock(process).is_running() {
                brokers.push((spec.id, spec.address()));
            }
        }
        Expectation {
            brokers,
            coordinators,
        }
    }

    fn check_alive(&self) -> Result<()> {
        for (spec, process) in self.recipe.layout.nodes.iter().zip(&self.nodes) {
            lock(process)
                .check_alive()
                .with_context(|| format!("node {}", spec.id))?;
        }
        Ok(())
    }

    fn with_logs(&self, expectation: &Expectation, error: anyhow::Error) -> anyhow::Error {
        let mut text = format!("Kafka {} did not come up: {error:#}", self.version());
        for (id, _) in &expectation.brokers {
            text.push('\n');
            text.push_str(&node::log_tail(&node_dir(&self.recipe.dir, *id)));
        }
        anyhow::Error::msg(text)
    }

    /// Ends what this process started, the quick way; also a boot of detached nodes that failed.
    fn kill_all(&self) {
        for process in &self.nodes {
            let mut process = lock(process);
            if let NodeProcess::Detached(child) = &mut *process {
                let _ = child.kill();
                let _ = child.wait();
            }
            *process = NodeProcess::Stopped;
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for process in &self.nodes {
            // A detached child goes on; one on a leash is killed by its own drop.
            *lock(process) = NodeProcess::Stopped;
        }
        if self.scrap.is_some() {
            let _ = fs::remove_dir_all(&self.recipe.dir);
        }
    }
}

/// One node of a cluster, by its broker id.
#[derive(Debug)]
pub struct Node<'a> {
    cluster: &'a Cluster,
    spec: &'a NodeSpec,
    process: &'a Mutex<NodeProcess>,
}

impl Node<'_> {
    /// Its broker id, as in Kafka's metadata.
    pub fn id(&self) -> i32 {
        self.spec.id
    }

    /// Its broker's address, `host:port`.
    pub fn address(&self) -> String {
        self.spec.address()
    }

    /// Its process id; `None` while it is stopped.
    pub fn pid(&self) -> Option<u32> {
        lock(self.process).pid()
    }

    /// Its log file.
    pub fn log_file(&self) -> PathBuf {
        node::log_file(&self.dir())
    }

    /// SIGKILL; when it returns the process is gone. Nothing happens if it is stopped.
    ///
    /// # Errors
    /// If the process cannot be killed.
    pub fn kill(&self) -> Result<()> {
        let mut process = lock(self.process);
        if let NodeProcess::Running(leashed) | NodeProcess::Paused(leashed) = &mut *process {
            leashed.kill()?;
            *process = NodeProcess::Stopped;
        }
        Ok(())
    }

    /// SIGTERM, and waits until the process is gone: a controlled shutdown. After 40 s it is killed. Nothing happens if it is
    /// stopped; a paused node is resumed first.
    ///
    /// # Errors
    /// If the process cannot be signalled.
    pub fn stop(&self) -> Result<()> {
        let mut process = lock(self.process);
        if let NodeProcess::Running(leashed) | NodeProcess::Paused(leashed) = &mut *process {
            leashed.signal(Signal::TERM)?;
            leashed.signal(Signal::CONT)?;
            if leashed.wait_for(STOP_PATIENCE)?.is_none() {
                eprintln!(
                    "node {} did not end within {} s of SIGTERM: SIGKILL",
                    self.spec.id,
                    STOP_PATIENCE.as_secs()
                );
                leashed.kill()?;
            }
            *process = NodeProcess::Stopped;
        }
        Ok(())
    }

    /// Starts it again on the same port and data, and waits until the cluster's running nodes agree that it is back and in sync.
    ///
    /// # Errors
    /// If it runs already, or does not come up within the builder's boot limit.
    pub fn start(&self) -> Result<()> {
        self.launch()?;
        self.cluster.await_answers(false)
    }

    /// Starts it again on the same port and data, and waits for nothing.
    ///
    /// # Errors
    /// If it runs already or cannot be started.
    pub fn launch(&self) -> Result<()> {
        let mut process = lock(self.process);
        if process.pid().is_some() {
            bail!("node {} runs already", self.spec.id);
        }
        let recipe = &self.cluster.recipe;
        let dir = self.dir();
        let file = write_properties(&recipe.layout, self.spec, &dir, &recipe.overrides)?;
        let mut command = recipe.jvm.node(&dir, recipe.heap_mib)?;
        command.arg(file);
        if let Some(network) = &recipe.network {
            command = network.enter(self.spec.id, &command);
        }
        *process = NodeProcess::start(command, &dir, recipe.lifetime)?;
        Ok(())
    }

    /// SIGSTOP: it keeps its connections and answers nothing. Nothing happens unless it runs.
    ///
    /// # Errors
    /// If the process cannot be signalled.
    pub fn pause(&self) -> Result<()> {
        self.signal_and_move(Signal::STOP)
    }

    /// SIGCONT: it goes on. Nothing happens unless it is paused.
    ///
    /// # Errors
    /// If the process cannot be signalled.
    pub fn resume(&self) -> Result<()> {
        self.signal_and_move(Signal::CONT)
    }

    fn signal_and_move(&self, signal: Signal) -> Result<()> {
        let mut process = lock(self.process);
        let (next, sent) = match std::mem::replace(&mut *process, NodeProcess::Stopped) {
            NodeProcess::Running(leashed) if signal == Signal::STOP => {
                let sent = leashed.signal(signal);
                (NodeProcess::Paused(leashed), sent)
            }
            NodeProcess::Paused(leashed) if signal == Signal::CONT => {
                let sent = leashed.signal(signal);
                (NodeProcess::Running(leashed), sent)
            }
            other => (other, Ok(())),
        };
        *process = next;
        sent
    }

    fn dir(&self) -> PathBuf {
        node_dir(&self.cluster.recipe.dir, self.spec.id)
    }
}

/// A poisoned lock only means that another test panicked while it held a node; the node is still there to be cleaned up.
fn lock(process: &Mutex<NodeProcess>) -> MutexGuard<'_, NodeProcess> {
    process.lock().unwrap_or_else(PoisonError::into_inner)
}
