//! What a cluster's directory holds: `cluster.json` (version, cluster id, ports) and one `node-<id>` per node with
//! `server.properties`, `node.log`, `pid` and `data`.
//!
//! Written once when the cluster is made; read again by `down`, and by `up` on the same directory.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::versions::Version;

const FILE: &str = "cluster.json";

/// The fixed facts of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) version: Version,
    pub(super) cluster_id: String,
    pub(super) nodes: Vec<NodeSpec>,
}

/// One node: broker and controller in one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NodeSpec {
    pub(super) id: i32,
    pub(super) host: Ipv4Addr,
    pub(super) port: u16,
    pub(super) controller_port: u16,
}

impl NodeSpec {
    /// The broker's listener, `host:port`.
    pub(super) fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// The controller's listener, `host:port`.
    pub(super) fn controller_address(&self) -> String {
        format!("{}:{}", self.host, self.controller_port)
    }
}

/// The directory of node `id` below `cluster_dir`.
pub(super) fn node_dir(cluster_dir: &Path, id: i32) -> PathBuf {
    cluster_dir.join(format!("node-{id}"))
}

/// The process id in a node directory's pid file, if there is one.
pub(super) fn read_pid(node_dir: &Path) -> Option<u32> {
    fs::read_to_string(node_dir.join("pid")).ok()?.trim().parse().ok()
}

/// What the command line of a node's process must hold to be taken for that node.
pub(super) fn marker(node_dir: &Path) -> String {
    node_dir.join("server.properties").to_string_lossy().into_owned()
}

impl Layout {
    /// The addresses of all brokers, comma separated.
    pub(super) fn bootstrap(&self) -> String {
        self.nodes
            .iter()
            .map(NodeSpec::address)
            .collect::<Vec<_>>()
            .join(",")
    }

    /// What `dir` says; `None` if there is no cluster in it.
    pub(super) fn read(dir: &Path) -> Result<Option<Self>> {
        let path = dir.join(FILE);
        if !path.exists() {
            return Ok(None);
        }
        let text = fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        Self::parse(&text)
            .map(Some)
            .with_context(|| format!("{} is damaged; remove its directory", path.display()))
    }

    /// Writes `cluster.json` into `dir`.
    pub(super) fn write(&self, dir: &Path) -> Result<()> {
        let path = dir.join(FILE);
        fs::write(&path, self.render()).with_context(|| format!("{} cannot be written", path.display()))
    }

    /// Removes what this module and its nodes wrote into `dir`, and `dir` itself if nothing else is in it.
    pub(super) fn remove(&self, dir: &Path) -> Result<()> {
        for node in &self.nodes {
            let path = node_dir(dir, node.id);
            if path.exists() {
                fs::remove_dir_all(&path).with_context(|| format!("{} cannot be removed", path.display()))?;
            }
        }
        let path = dir.join(FILE);
        fs::remove_file(&path).with_context(|| format!("{} cannot be removed", path.display()))?;
        // Fails if the user keeps files of his own there; then it stays.
        let _ = fs::remove_dir(dir);
        Ok(())
    }

    fn render(&self) -> String {
        let nodes: Vec<Value> = self.nodes.iter().map(render_node).collect();
        let value = json!({"version": self.version.as_str(), "cluster_id": self.cluster_id, "nodes": nodes});
        format!("{value:#}\n")
    }

    fn parse(text: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(text)?;
        let string = |key: &str| {
            value
                .get(key)
                .and_then(Value::as_str)
                .with_context(|| format!("`{key}` is missing"))
        };
        let version = string("version")?.parse().map_err(anyhow::Error::msg)?;
        let cluster_id = string("cluster_id")?.to_owned();
        let nodes = value
            .get("nodes")
            .and_then(Value::as_array)
            .context("`nodes` is missing")?;
        let nodes = nodes.iter().map(parse_node).collect::<Result<Vec<_>>>()?;
        ensure!(!nodes.is_empty(), "`nodes` is empty");
        Ok(Self {
            version,
            cluster_id,
            nodes,
        })
    }
}

fn render_node(node: &NodeSpec) -> Value {
    json!({
        "id": node.id,
        "host": node.host.to_string(),
        "port": node.port,
        "controller_port": node.controller_port,
    })
}

fn parse_node(node: &Value) -> Result<NodeSpec> {
    let number = |key: &str| {
        node.get(key)
            .and_then(Value::as_i64)
            .with_context(|| format!("a node has no `{key}`"))
    };
    let host = node
        .get("host")
        .and_then(Value::as_str)
        .context("a node has no `host`")?;
    Ok(NodeSpec {
        id: number("id")?.try_into()?,
        host: host.parse()?,
        port: number("port")?.try_into()?,
        controller_port: number("controller_port")?.try_into()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_survives_its_file() {
        let layout = Layout {
            version: Version::V3_9_1,
            cluster_id: "x".to_owned(),
            nodes: vec![
                NodeSpec {
                    id: 1,
                    host: Ipv4Addr::LOCALHOST,
                    port: 1001,
                    controller_port: 2001,
                },
                NodeSpec {
                    id: 2,
                    host: Ipv4Addr::LOCALHOST,
                    port: 1002,
                    controller_port: 2002,
                },
            ],
        };
        assert_eq!(Layout::parse(&layout.render()).unwrap(), layout);
        assert_eq!(layout.bootstrap(), "127.0.0.1:1001,127.0.0.1:1002");
    }

    #[test]
    fn a_damaged_file_is_an_error() {
        assert!(Layout::parse("{}").is_err());
        assert!(Layout::parse("{\"version\":\"4.4.0\",\"cluster_id\":\"x\",\"nodes\":[]}").is_err());
    }
}
