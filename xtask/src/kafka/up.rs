//! `cargo xtask kafka up`: a cluster that goes on after the command has ended.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::builder::ClusterBuilder;
use super::cluster::Cluster;
use super::layout::{self, Layout};
use super::versions::Version;
use crate::{leash, workspace};

/// The directory of `kafka up` where none is given: `target/kafka/<version>-<nodes>`.
pub fn default_dir(version: Version, nodes: u16) -> Result<PathBuf> {
    Ok(clusters_dir()?.join(format!("{version}-{nodes}")))
}

/// Where the default directories are.
pub(super) fn clusters_dir() -> Result<PathBuf> {
    Ok(workspace::target_dir()?.join("kafka"))
}

/// Boots the cluster, detached, and returns its bootstrap list. A cluster that runs in the directory already is left as it
/// is; one that was stopped there is started again with its data.
///
/// # Errors
/// As [`ClusterBuilder::start`]; also if only some nodes of the directory's cluster run.
pub fn up(builder: ClusterBuilder, dir: &Path) -> Result<String> {
    eprintln!("directory: {}", dir.display());
    if let Some(layout) = running_cluster(dir)? {
        eprintln!(
            "a cluster runs there already; `cargo xtask kafka down --dir {}` ends it",
            dir.display()
        );
        return Ok(layout.bootstrap());
    }
    let cluster: Cluster = builder.dir(dir).detached().start()?;
    eprintln!(
        "it goes on until `cargo xtask kafka down --dir {}`",
        dir.display()
    );
    Ok(cluster.bootstrap())
}

fn running_cluster(dir: &Path) -> Result<Option<Layout>> {
    let Ok(dir) = dir.canonicalize() else {
        return Ok(None);
    };
    let Some(layout) = Layout::read(&dir)? else {
        return Ok(None);
    };
    let runs = |id: i32| {
        let dir = layout::node_dir(&dir, id);
        layout::read_pid(&dir).is_some_and(|pid| leash::runs(pid, &layout::marker(&dir)))
    };
    match layout.nodes.iter().filter(|node| runs(node.id)).count() {
        0 => Ok(None),
        count if count == layout.nodes.len() => Ok(Some(layout)),
        count => bail!(
            "{count} of {} nodes run in {}; end them with `cargo xtask kafka down --dir` first",
            layout.nodes.len(),
            dir.display()
        ),
    }
}
