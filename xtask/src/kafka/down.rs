//! `cargo xtask kafka down`: ends what `up` started. A process is touched only if its command line names our node.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::layout::{self, Layout};
use super::{node, up};
use crate::leash;

const PATIENCE: Duration = Duration::from_secs(30);

/// What becomes of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data {
    /// Removed.
    Remove,
    /// Kept, for a later `up` on the same directory.
    Keep,
}

/// Ends the cluster in `dir`, or with `None` every cluster in a default directory. Prints what it did to stderr.
///
/// # Errors
/// If there is no cluster in `dir`, or a process cannot be ended.
pub fn down(dir: Option<&Path>, data: Data) -> Result<()> {
    let dirs = match dir {
        Some(dir) => vec![dir.to_path_buf()],
        None => all_default_dirs()?,
    };
    if dirs.is_empty() {
        eprintln!("no cluster in {}", up::clusters_dir()?.display());
    }
    for dir in dirs {
        end_cluster(&dir, data)?;
    }
    Ok(())
}

fn all_default_dirs() -> Result<Vec<PathBuf>> {
    let Ok(entries) = fs::read_dir(up::clusters_dir()?) else {
        return Ok(Vec::new());
    };
    let mut dirs = Vec::new();
    for entry in entries {
        let path = entry.context("a directory cannot be read")?.path();
        if Layout::read(&path)?.is_some() {
            dirs.push(path);
        }
    }
    dirs.sort();
    Ok(dirs)
}

fn end_cluster(dir: &Path, data: Data) -> Result<()> {
    let dir = dir
        .canonicalize()
        .with_context(|| format!("{} is not there", dir.display()))?;
    let layout = Layout::read(&dir)?;
    ensure!(
        layout.is_some(),
        "{} holds no cluster of `cargo xtask kafka up`",
        dir.display()
    );
    let Some(layout) = layout else { return Ok(()) };
    // All at once: a node of three that is stopped alone would wait for peers that are going too.
    std::thread::scope(|scope| {
        let enders: Vec<_> = layout
            .nodes
            .iter()
            .map(|spec| scope.spawn(|| end_node(&layout::node_dir(&dir, spec.id))))
            .collect();
        enders
            .into_iter()
            .try_for_each(|ender| ender.join().map_err(|_| anyhow::Error::msg("a thread died"))?)
    })?;
    if data == Data::Remove {
        layout.remove(&dir)?;
    }
    eprintln!("Kafka {} in {} is down", layout.version, dir.display());
    Ok(())
}

fn end_node(node_dir: &Path) -> Result<()> {
    let marker = layout::marker(node_dir);
    match layout::read_pid(node_dir) {
        Some(pid) if leash::runs(pid, &marker) => node::end_foreign(pid, &marker, PATIENCE)?,
        Some(_) | None => eprintln!("{} does not run", node_dir.display()),
    }
    let _ = fs::remove_file(node_dir.join("pid"));
    Ok(())
}
