//! A node's `server.properties`: settings that make faults fast and a small machine sufficient. Pure.
//!
//! Input: the cluster's layout, the node, and overrides. Output: the text of the file. Later entries win over earlier ones, so
//! overrides may change everything but the addresses, which the rest of this room relies on.

use std::path::Path;

use anyhow::{Result, bail};

use super::layout::{Layout, NodeSpec};

/// Renders the file for `node`.
///
/// # Errors
/// If an override names one of the keys that tie the cluster together.
pub(super) fn render(
    layout: &Layout,
    node: &NodeSpec,
    dir: &Path,
    overrides: &[(String, String)],
) -> Result<String> {
    let mut entries = addresses(layout, node, dir);
    if let Some((key, _)) = overrides
        .iter()
        .find(|(key, _)| entries.iter().any(|(fixed, _)| *fixed == key.as_str()))
    {
        bail!("`{key}` cannot be overridden: it ties the cluster together and is set by xtask");
    }
    entries.extend(replication(layout.nodes.len()));
    entries.extend(
        FAST_FAULTS
            .iter()
            .chain(SMALL_MACHINE)
            .map(|(key, value)| (*key, (*value).to_owned())),
    );
    entries.extend(overrides.iter().map(|(key, value)| (key.as_str(), value.clone())));
    let mut text = String::from("# Written by `cargo xtask kafka`; rewritten at every start.\n");
    for (key, value) in entries {
        text.push_str(&format!("{key}={}\n", escape(&value)));
    }
    Ok(text)
}

fn addresses(layout: &Layout, node: &NodeSpec, dir: &Path) -> Vec<(&'static str, String)> {
    let voters: Vec<String> = layout
        .nodes
        .iter()
        .map(|peer| format!("{}@{}", peer.id, peer.controller_address()))
        .collect();
    let broker = format!("PLAINTEXT://{}", node.address());
    vec![
        ("process.roles", "broker,controller".to_owned()),
        ("node.id", node.id.to_string()),
        ("controller.quorum.voters", voters.join(",")),
        (
            "listeners",
            format!("{broker},CONTROLLER://{}", node.controller_address()),
        ),
        ("advertised.listeners", broker),
        ("controller.listener.names", "CONTROLLER".to_owned()),
        (
            "listener.security.protocol.map",
            "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT".to_owned(),
        ),
        ("inter.broker.listener.name", "PLAINTEXT".to_owned()),
        ("log.dirs", dir.join("data").to_string_lossy().into_owned()),
    ]
}

/// Three copies of which two must be in sync where there are three nodes; else one.
fn replication(nodes: usize) -> Vec<(&'static str, String)> {
    let copies = if nodes >= 3 { "3" } else { "1" };
    let in_sync = if nodes >= 3 { "2" } else { "1" };
    let with = |value: &'static str| move |key: &&'static str| (*key, value.to_owned());
    let copies_keys = [
        "default.replication.factor",
        "offsets.topic.replication.factor",
        "transaction.state.log.replication.factor",
        "share.coordinator.state.topic.replication.factor",
    ];
    let in_sync_keys = [
        "min.insync.replicas",
        "transaction.state.log.min.isr",
        "share.coordinator.state.topic.min.isr",
    ];
    copies_keys
        .iter()
        .map(with(copies))
        .chain(in_sync_keys.iter().map(with(in_sync)))
        .collect()
}

/// Failures are noticed within seconds, and internal topics have few partitions so that they are led at once.
const FAST_FAULTS: &[(&str, &str)] = &[
    ("transaction.state.log.num.partitions", "3"),
    ("offsets.topic.num.partitions", "3"),
    (
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        "1000",
    ),
    ("group.initial.rebalance.delay.ms", "0"),
    ("group.min.session.timeout.ms", "1000"),
    ("broker.heartbeat.interval.ms", "500"),
    ("broker.session.timeout.ms", "6000"),
    ("unclean.leader.election.enable", "false"),
    ("auto.create.topics.enable", "true"),
    ("num.partitions", "1"),
];

/// The cleaner's buffer alone is 128 MiB by default, half of the heap that a test broker gets.
const SMALL_MACHINE: &[(&str, &str)] = &[
    ("num.network.threads", "2"),
    ("num.io.threads", "4"),
    ("log.cleaner.threads", "1"),
    ("log.cleaner.dedupe.buffer.size", "8388608"),
    ("log.cleaner.backoff.ms", "2000"),
];

/// Java's property files take a backslash as the start of an escape.
fn escape(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('\n', "\\n")
        .replace('\r', "\\r")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::versions::Version;

    fn layout(nodes: u16) -> Layout {
        Layout {
            version: Version::V4_4_0,
            cluster_id: "abc".to_owned(),
            nodes: (1..=nodes)
                .map(|id| NodeSpec {
                    id: i32::from(id),
                    host: std::net::Ipv4Addr::LOCALHOST,
                    port: 9000 + id,
                    controller_port: 9100 + id,
                })
                .collect(),
        }
    }

    fn lines(nodes: u16, overrides: &[(String, String)]) -> Vec<String> {
        let layout = layout(nodes);
        let text = render(&layout, &layout.nodes[0], Path::new("/d/node-1"), overrides).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn three_nodes_vote_and_replicate() {
        let lines = lines(3, &[]);
        let has = |line: &str| lines.iter().any(|found| found == line);
        assert!(has(
            "controller.quorum.voters=1@127.0.0.1:9101,2@127.0.0.1:9102,3@127.0.0.1:9103"
        ));
        assert!(has(
            "listeners=PLAINTEXT://127.0.0.1:9001,CONTROLLER://127.0.0.1:9101"
        ));
        assert!(has("transaction.state.log.replication.factor=3"));
        assert!(has("min.insync.replicas=2"));
        assert!(has("log.dirs=/d/node-1/data"));
    }

    #[test]
    fn one_node_keeps_one_copy() {
        let lines = lines(1, &[]);
        assert!(
            lines
                .iter()
                .any(|line| line == "offsets.topic.replication.factor=1")
        );
        assert!(lines.iter().any(|line| line == "min.insync.replicas=1"));
    }

    #[test]
    fn an_override_comes_after_the_setting_it_replaces() {
        let lines = lines(1, &[("auto.create.topics.enable".to_owned(), "false".to_owned())]);
        let last = lines
            .iter()
            .rfind(|line| line.starts_with("auto.create.topics.enable="))
            .unwrap();
        assert_eq!(last, "auto.create.topics.enable=false");
    }

    #[test]
    fn addresses_cannot_be_overridden() {
        let layout = layout(1);
        let overrides = [("listeners".to_owned(), "PLAINTEXT://:1".to_owned())];
        let error = render(&layout, &layout.nodes[0], Path::new("/d"), &overrides).unwrap_err();
        assert!(error.to_string().contains("`listeners`"), "{error}");
    }

    #[test]
    fn backslashes_and_line_ends_are_escaped() {
        assert_eq!(escape("a\\b\nc"), "a\\\\b\\nc");
    }
}
