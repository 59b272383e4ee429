//! From wishes to a cluster that answers: ports, directory, format, boot, retry when a port was taken meanwhile.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::cluster::Cluster;
use super::java::Missing;
use super::jvm::Jvm;
use super::layout::{Layout, NodeSpec, node_dir};
use super::network::Network;
use super::node::{self, Lifetime};
use super::versions::Version;
use super::{format, ports, properties};
use crate::leash::Leash;

const BOOT_ATTEMPTS: usize = 3;

/// What a cluster should be; [`start`](Self::start) makes it so.
#[derive(Debug, Clone)]
#[must_use]
pub struct ClusterBuilder {
    pub(super) version: Version,
    pub(super) nodes: u16,
    pub(super) port: Option<u16>,
    pub(super) dir: Option<PathBuf>,
    pub(super) overrides: Vec<(String, String)>,
    pub(super) features: Vec<String>,
    pub(super) heap_mib: u32,
    pub(super) boot_limit: Duration,
    pub(super) missing: Missing,
    pub(super) lifetime: Lifetime,
    pub(super) network: Option<Arc<Network>>,
}

/// What a running cluster keeps of its builder: enough to start a node again.
#[derive(Debug)]
pub(super) struct Recipe {
    pub(super) jvm: Jvm,
    pub(super) layout: Layout,
    pub(super) dir: PathBuf,
    pub(super) overrides: Vec<(String, String)>,
    pub(super) heap_mib: u32,
    pub(super) boot_limit: Duration,
    pub(super) lifetime: Lifetime,
    pub(super) network: Option<Arc<Network>>,
}

impl ClusterBuilder {
    pub(super) fn new(version: Version) -> Self {
        Self {
            version,
            nodes: 1,
            port: None,
            dir: None,
            overrides: Vec::new(),
            features: Vec::new(),
            heap_mib: 384,
            boot_limit: Duration::from_secs(180),
            missing: Missing::Name,
            lifetime: Lifetime::Ours,
            network: None,
        }
    }

    /// How many nodes, 1 or 3 (default 1). Each is broker and controller; with 3, three copies of which two must be in sync.
    pub fn nodes(mut self, nodes: u16) -> Self {
        self.nodes = nodes;
        self
    }

    /// The first port: brokers take `port`, `port + 1`, …, controllers the ports after them. Default: free ports.
    pub fn port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// Runs each node in its own namespace of this network, with the network's addresses; such a cluster cannot be found in its
    /// directory again. Default: all on 127.0.0.1.
    pub fn network(mut self, network: Arc<Network>) -> Self {
        self.network = Some(network);
        self
    }

    /// Where the cluster lives; it stays there when the cluster is dropped, and a cluster found there is started again with
    /// its data and ports. Default: a temporary directory of its own that goes with the cluster.
    pub fn dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = Some(dir.into());
        self
    }

    /// Sets a broker property on every node; may be repeated, the last of a key wins.
    pub fn config(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.overrides.push((key.into(), value.into()));
        self
    }

    /// Formats with this level of a feature in place of the version's default, such as `("transaction.version", 1)`
    /// to have TV1 on Kafka 4. Versions before 4.0 do not know this.
    pub fn feature(mut self, name: &str, level: u16) -> Self {
        self.features.push(format!("{name}={level}"));
        self
    }

    /// The heap of each node in MiB (default 384).
    pub fn heap_mib(mut self, heap_mib: u32) -> Self {
        self.heap_mib = heap_mib;
        self
    }

    /// How long a boot may take until the cluster answers (default 180 s).
    pub fn boot_limit(mut self, limit: Duration) -> Self {
        self.boot_limit = limit;
        self
    }

    /// What to do if Java or Maven is missing (default: fail and name the packages).
    pub fn missing(mut self, missing: Missing) -> Self {
        self.missing = missing;
        self
    }

    /// Lets the nodes outlive this process; only `kafka down` ends them.
    pub(super) fn detached(mut self) -> Self {
        self.lifetime = Lifetime::Detached;
        self
    }

    /// Boots the cluster and waits until it answers: every broker's metadata lists all brokers and a controller, every
    /// partition has a leader, and the coordinators of transactions and groups are there.
    ///
    /// Blocks for seconds; from async code call it through `spawn_blocking`.
    ///
    /// # Errors
    /// If Java or Maven is missing, the jars cannot be fetched, a port is not free, or a node does not come up; then
    /// the error shows the end of its log.
    pub fn start(self) -> Result<Cluster> {
        ensure!(
            matches!(self.nodes, 1 | 3),
            "{} nodes were asked for: 1 or 3 are supported",
            self.nodes
        );
        let jvm = Jvm::prepare(self.version, self.missing)?;
        let (dir, temporary) = self.make_dir()?;
        // Taken before the first process starts, so that nothing is left behind whatever happens from here on.
        let scrap = if temporary {
            Some(Leash::remove(&dir)?)
        } else {
            None
        };
        let booted = self.boot(&jvm, &dir);
        if booted.is_err() && temporary {
            let _ = fs::remove_dir_all(&dir);
        }
        Ok(booted?.with_scrap(scrap))
    }

    fn make_dir(&self) -> Result<(PathBuf, bool)> {
        let (dir, temporary) = match &self.dir {
            Some(dir) => (dir.clone(), false),
            None => (
                std::env::temp_dir().join(format!("sealwax-kafka-{:016x}", fastrand::u64(..))),
                true,
            ),
        };
        fs::create_dir_all(&dir).with_context(|| format!("{} cannot be created", dir.display()))?;
        let dir = dir
            .canonicalize()
            .with_context(|| format!("{} cannot be resolved", dir.display()))?;
        Ok((dir, temporary))
    }

    fn boot(&self, jvm: &Jvm, dir: &Path) -> Result<Cluster> {
        if let Some(layout) = Layout::read(dir)? {
            ensure!(
                layout.version == self.version && layout.nodes.len() == usize::from(self.nodes),
                "{} holds a cluster of {} node(s) of Kafka {}; take another directory, or remove it with `kafka down --dir`",
                dir.display(),
                layout.nodes.len(),
                layout.version
            );
            return Cluster::boot(self.recipe(jvm, dir, layout), false);
        }
        let mut attempt = 1;
        loop {
            let layout = self.lay_out()?;
            // Written first: whatever fails from here on, it is known what to remove.
            layout.write(dir)?;
            let formatted = self.format_all(jvm, dir, &layout);
            match formatted.and_then(|()| Cluster::boot(self.recipe(jvm, dir, layout.clone()), true)) {
                Err(error) if self.port.is_none() && attempt < BOOT_ATTEMPTS && clashed(dir, &layout) => {
                    eprintln!("a port was taken meanwhile, trying others: {error:#}");
                    layout.remove(dir)?;
                    fs::create_dir_all(dir)
                        .with_context(|| format!("{} cannot be created", dir.display()))?;
                    attempt += 1;
                }
                Err(error) => {
                    layout.remove(dir)?;
                    return Err(error);
                }
                Ok(cluster) => return Ok(cluster),
            }
        }
    }

    fn lay_out(&self) -> Result<Layout> {
        let nodes = match &self.network {
            Some(network) => network.specs().take(usize::from(self.nodes)).collect(),
            None => self.local_specs()?,
        };
        Ok(Layout {
            version: self.version,
            cluster_id: format::cluster_id(),
            nodes,
        })
    }

    fn local_specs(&self) -> Result<Vec<NodeSpec>> {
        let count = usize::from(self.nodes) * 2;
        let ports = match self.port {
            Some(first) => ports::fixed(first, count)?,
            None => ports::free(count)?,
        };
        let (brokers, controllers) = ports.split_at(usize::from(self.nodes));
        let nodes = brokers.iter().zip(controllers).zip(1..);
        let nodes = nodes.map(|((port, controller_port), id)| NodeSpec {
            id,
            host: Ipv4Addr::LOCALHOST,
            port: *port,
            controller_port: *controller_port,
        });
        Ok(nodes.collect())
    }

    fn format_all(&self, jvm: &Jvm, dir: &Path, layout: &Layout) -> Result<()> {
        eprintln!(
            "formatting {} node(s) of Kafka {} in {} …",
            layout.nodes.len(),
            layout.version,
            dir.display()
        );
        for spec in &layout.nodes {
            let node_dir = node_dir(dir, spec.id);
            fs::create_dir_all(&node_dir)
                .with_context(|| format!("{} cannot be created", node_dir.display()))?;
            let file = write_properties(layout, spec, &node_dir, &self.overrides)?;
            format::format(jvm, &layout.cluster_id, &file, &self.features)?;
        }
        Ok(())
    }

    fn recipe(&self, jvm: &Jvm, dir: &Path, layout: Layout) -> Recipe {
        Recipe {
            jvm: jvm.clone(),
            layout,
            dir: dir.to_path_buf(),
            overrides: self.overrides.clone(),
            heap_mib: self.heap_mib,
            boot_limit: self.boot_limit,
            lifetime: self.lifetime,
            network: self.network.clone(),
        }
    }
}

/// Writes a node's `server.properties` and returns its path.
pub(super) fn write_properties(
    layout: &Layout,
    spec: &NodeSpec,
    node_dir: &Path,
    overrides: &[(String, String)],
) -> Result<PathBuf> {
    let file = node_dir.join("server.properties");
    fs::write(&file, properties::render(layout, spec, node_dir, overrides)?)
        .with_context(|| format!("{} cannot be written", file.display()))?;
    Ok(file)
}

fn clashed(dir: &Path, layout: &Layout) -> bool {
    layout
        .nodes
        .iter()
        .any(|spec| node::port_was_taken(&node_dir(dir, spec.id)))
}
