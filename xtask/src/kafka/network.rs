//! Nodes in network namespaces of their own, joined by a bridge, so that packets between them, and between them and clients, can
//! be dropped.
//!
//! Only inside of [`crate::apart`]: the namespaces, the bridge and the addresses are seen by this process and its children alone, and
//! the kernel removes them with the last of these.

use std::io::Write;
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::layout::NodeSpec;
use crate::apart;

const BROKER_PORT: u16 = 9092;
const CONTROLLER_PORT: u16 = 9093;
/// The last octet of this process' own address; nodes have their ids there.
const HUB: u8 = 254;

/// A bridge with a namespace for each node. Nodes are numbered from 1.
#[derive(Debug)]
pub struct Network {
    nodes: u8,
}

impl Network {
    /// The network for this many nodes.
    ///
    /// # Errors
    /// If this process shares its network with the machine, or the kernel refuses.
    pub fn create(nodes: u8) -> Result<Self> {
        ensure!(
            apart::is_apart(),
            "this process is in the machine's own network, which is left alone"
        );
        ip(&["link", "add", "hub", "type", "bridge"])?;
        ip(&["address", "add", &format!("{}/24", Self::hub()), "dev", "hub"])?;
        ip(&["link", "set", "hub", "up"])?;
        let network = Self { nodes };
        for id in 1..=nodes {
            network.join(id)?;
        }
        Ok(network)
    }

    /// The address from which this process and its children speak.
    pub fn hub() -> Ipv4Addr {
        address(HUB)
    }

    /// The address of a node.
    ///
    /// # Errors
    /// If there is no such node.
    pub fn node(&self, id: i32) -> Result<Ipv4Addr> {
        let octet = u8::try_from(id).ok().filter(|id| (1..=self.nodes).contains(id));
        Ok(address(
            octet.with_context(|| format!("the network has no node {id}"))?,
        ))
    }

    /// Replaces what a node's namespace drops. Each rule is one of nftables for its input (`Direction::In`) or output; none at all
    /// heals the node.
    ///
    /// # Errors
    /// If there is no such node, or `nft` refuses a rule.
    pub fn drop_packets(&self, id: i32, rules: &[(Direction, String)]) -> Result<()> {
        let mut command = Command::new("nft");
        command.args(["-f", "-"]);
        self.node(id)?;
        let mut child = self
            .enter(id, &command)
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("`nsenter` cannot be started")?;
        let mut input = child.stdin.take().context("`nft` has no input")?;
        input.write_all(script(rules).as_bytes())?;
        drop(input);
        let output = child.wait_with_output()?;
        ensure!(
            output.status.success(),
            "`nft` failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(())
    }

    /// The same command inside of a node's namespace. It keeps its process id.
    pub(super) fn enter(&self, id: i32, command: &Command) -> Command {
        let mut entered = Command::new("nsenter");
        entered
            .arg(format!("--net=/run/netns/{}", namespace(id)))
            .arg("--")
            .arg(command.get_program())
            .args(command.get_args());
        entered
    }

    pub(super) fn specs(&self) -> impl Iterator<Item = NodeSpec> {
        (1..=self.nodes).map(|id| NodeSpec {
            id: i32::from(id),
            host: address(id),
            port: BROKER_PORT,
            controller_port: CONTROLLER_PORT,
        })
    }

    fn join(&self, id: u8) -> Result<()> {
        let (name, port) = (namespace(i32::from(id)), format!("port{id}"));
        ip(&["netns", "add", &name])?;
        ip(&[
            "link", "add", &port, "type", "veth", "peer", "name", "eth0", "netns", &name,
        ])?;
        ip(&["link", "set", &port, "master", "hub", "up"])?;
        let inside = ["-n", &name];
        let address = format!("{}/24", address(id));
        ip(&[&inside[..], &["address", "add", &address, "dev", "eth0"]].concat())?;
        ip(&[&inside[..], &["link", "set", "eth0", "up"]].concat())?;
        ip(&[&inside[..], &["link", "set", "lo", "up"]].concat())
    }
}

/// Which packets of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Those that it gets.
    In,
    /// Those that it sends.
    Out,
}

fn address(octet: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 199, 7, octet)
}

fn namespace(id: i32) -> String {
    format!("node-{id}")
}

fn ip(arguments: &[&str]) -> Result<()> {
    let output = Command::new("ip")
        .args(arguments)
        .output()
        .context("`ip` cannot be started")?;
    ensure!(
        output.status.success(),
        "`ip {}` failed: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

/// One transaction of nftables, so that there is no moment between the old rules and the new.
fn script(rules: &[(Direction, String)]) -> String {
    let mut text = String::from("table inet cut\ndelete table inet cut\ntable inet cut {\n");
    for (direction, hook) in [(Direction::In, "input"), (Direction::Out, "output")] {
        text.push_str(&format!(
            "chain {hook} {{ type filter hook {hook} priority 0; policy accept;\n"
        ));
        for (_, rule) in rules.iter().filter(|(of, _)| *of == direction) {
            text.push_str(&format!("{rule} drop\n"));
        }
        text.push_str("}\n");
    }
    text.push_str("}\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_replaced_whole_and_sorted_by_direction() {
        let rules = [
            (Direction::Out, "ip daddr 10.0.0.1".to_owned()),
            (Direction::In, "ip saddr 10.0.0.2".to_owned()),
        ];
        let text = script(&rules);
        assert!(
            text.starts_with("table inet cut\ndelete table inet cut\n"),
            "{text}"
        );
        let (input, output) = text.split_once("hook output").unwrap();
        assert!(
            input.contains("saddr 10.0.0.2 drop") && !input.contains("daddr"),
            "{text}"
        );
        assert!(output.contains("daddr 10.0.0.1 drop"), "{text}");
    }

    #[test]
    fn the_machines_own_network_is_left_alone() {
        if !apart::is_apart() {
            assert!(Network::create(3).is_err());
        }
    }

    #[test]
    fn a_node_that_is_not_there_has_no_address() {
        let network = Network { nodes: 3 };
        assert_eq!(network.node(3).unwrap(), Ipv4Addr::new(10, 199, 7, 3));
        assert!(network.node(0).is_err() && network.node(4).is_err() && network.node(-1).is_err());
    }
}
