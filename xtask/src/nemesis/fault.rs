//! What can be done to a cluster and its clients: drawn at random, and as JSON. Pure.

use anyhow::{Context, Result, bail};
use fastrand::Rng;
use serde_json::{Value, json};

/// How many nodes there are, numbered from 1.
pub(super) const NODES: i32 = 3;
/// How many partitions the topic has.
pub(super) const PARTITIONS: i32 = 4;
/// How many writer processes there are, numbered from 0.
pub(super) const WRITERS: usize = 2;
/// Partitions of `__transaction_state`, as the cluster's settings say.
const COORDINATORS: i32 = 3;

/// One thing that is done, and undone at the end of `hold`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// SIGKILL to a node; it is started again afterwards.
    Kill(i32),
    /// SIGTERM to a node; it is started again afterwards.
    Stop(i32),
    /// SIGSTOP to a node.
    Pause(i32),
    /// SIGSTOP to one node and SIGKILL to another: no majority is left.
    PauseAndKill(i32, i32),
    /// A node is cut off from the other nodes, and clients still reach it.
    Isolate(i32),
    /// A node is cut off from the other nodes and from clients.
    Split(i32),
    /// Clients are cut off from a node.
    CutClients(Seat, Way),
    /// A partition of the topic is led by this node, if it can be.
    MoveLeader(i32, i32),
    /// A partition of `__transaction_state` is led by this node, if it can be.
    MoveCoordinator(i32, i32),
    /// SIGKILL to a writer process; it is started again at once.
    KillWriter(usize),
    /// SIGSTOP to a writer process.
    FreezeWriter(usize),
    /// Another process with the same transactional ids is started beside a writer.
    Usurp(usize),
    /// A writer is frozen, another process with its transactional ids is started, and then the older one goes on.
    UsurpFrozen(usize),
}

/// A node by what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seat {
    /// The coordinator of a writer's first transactional id.
    Coordinator(usize),
    /// The leader of a partition of the topic.
    Leader(i32),
}

/// Which packets between clients and a node are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// All.
    Both,
    /// Those to the clients: a node acts, and nobody hears of it.
    AnswersLost,
    /// Those from the clients.
    RequestsLost,
}

impl Fault {
    /// A fault of nodes or of the network.
    pub(super) fn draw_on_nodes(rng: &mut Rng) -> Self {
        let node = rng.i32(1..=NODES);
        let other = node % NODES + 1;
        match rng.u8(0..14) {
            0 | 1 => Self::Kill(node),
            2 => Self::Stop(node),
            3 | 4 => Self::Pause(node),
            5 => Self::PauseAndKill(node, other),
            6 => Self::Isolate(node),
            7 => Self::Split(node),
            8..=11 => Self::CutClients(Seat::draw(rng), Way::draw(rng)),
            12 => Self::MoveLeader(rng.i32(0..PARTITIONS), node),
            _ => Self::MoveCoordinator(rng.i32(0..COORDINATORS), node),
        }
    }

    /// A fault of clients.
    pub(super) fn draw_on_writers(rng: &mut Rng) -> Self {
        let writer = rng.usize(0..WRITERS);
        match rng.u8(0..4) {
            0 => Self::KillWriter(writer),
            1 => Self::FreezeWriter(writer),
            2 => Self::Usurp(writer),
            _ => Self::UsurpFrozen(writer),
        }
    }

    /// What it is called in plans and reports.
    #[must_use]
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Kill(_) => "kill",
            Self::Stop(_) => "stop",
            Self::Pause(_) => "pause",
            Self::PauseAndKill(..) => "pause and kill",
            Self::Isolate(_) => "isolate",
            Self::Split(_) => "split",
            Self::CutClients(_, Way::Both) => "cut clients",
            Self::CutClients(_, Way::AnswersLost) => "lose answers",
            Self::CutClients(_, Way::RequestsLost) => "lose requests",
            Self::MoveLeader(..) => "move leader",
            Self::MoveCoordinator(..) => "move coordinator",
            Self::KillWriter(_) => "kill writer",
            Self::FreezeWriter(_) => "freeze writer",
            Self::Usurp(_) => "usurp",
            Self::UsurpFrozen(_) => "usurp frozen",
        }
    }

    /// Whether it takes a cluster that answers, and that agrees.
    #[must_use]
    pub(super) fn can_be_refused(&self) -> bool {
        matches!(
            self,
            Self::CutClients(..) | Self::MoveLeader(..) | Self::MoveCoordinator(..)
        )
    }

    /// As JSON.
    pub(super) fn to_json(self) -> Value {
        let kind = self.kind();
        match self {
            Self::Kill(node)
            | Self::Stop(node)
            | Self::Pause(node)
            | Self::Isolate(node)
            | Self::Split(node) => json!({ "kind": kind, "node": node }),
            Self::PauseAndKill(node, other) => json!({ "kind": kind, "node": node, "other": other }),
            Self::CutClients(Seat::Coordinator(writer), _) => {
                json!({ "kind": kind, "coordinator_of": writer })
            }
            Self::CutClients(Seat::Leader(partition), _) => json!({ "kind": kind, "leader_of": partition }),
            Self::MoveLeader(partition, node) | Self::MoveCoordinator(partition, node) => {
                json!({ "kind": kind, "partition": partition, "node": node })
            }
            Self::KillWriter(writer)
            | Self::FreezeWriter(writer)
            | Self::Usurp(writer)
            | Self::UsurpFrozen(writer) => json!({ "kind": kind, "writer": writer }),
        }
    }

    /// From JSON.
    ///
    /// # Errors
    /// If it is no fault, or names a node, partition or writer that there is not.
    pub(super) fn from_json(value: &Value) -> Result<Self> {
        let node = || below(value, "node", 1, NODES);
        let writer = || writer(value, "writer");
        Ok(match value["kind"].as_str().context("no kind")? {
            "kill" => Self::Kill(node()?),
            "stop" => Self::Stop(node()?),
            "pause" => Self::Pause(node()?),
            "pause and kill" => Self::PauseAndKill(node()?, below(value, "other", 1, NODES)?),
            "isolate" => Self::Isolate(node()?),
            "split" => Self::Split(node()?),
            "cut clients" => Self::CutClients(Seat::from_json(value)?, Way::Both),
            "lose answers" => Self::CutClients(Seat::from_json(value)?, Way::AnswersLost),
            "lose requests" => Self::CutClients(Seat::from_json(value)?, Way::RequestsLost),
            "move leader" => Self::MoveLeader(below(value, "partition", 0, PARTITIONS - 1)?, node()?),
            "move coordinator" => {
                Self::MoveCoordinator(below(value, "partition", 0, COORDINATORS - 1)?, node()?)
            }
            "kill writer" => Self::KillWriter(writer()?),
            "freeze writer" => Self::FreezeWriter(writer()?),
            "usurp" => Self::Usurp(writer()?),
            "usurp frozen" => Self::UsurpFrozen(writer()?),
            other => bail!("there is no fault {other:?}"),
        })
    }
}

impl Seat {
    fn draw(rng: &mut Rng) -> Self {
        if rng.bool() {
            Self::Coordinator(rng.usize(0..WRITERS))
        } else {
            Self::Leader(rng.i32(0..PARTITIONS))
        }
    }

    fn from_json(value: &Value) -> Result<Self> {
        if value["coordinator_of"].is_null() {
            return Ok(Self::Leader(below(value, "leader_of", 0, PARTITIONS - 1)?));
        }
        Ok(Self::Coordinator(writer(value, "coordinator_of")?))
    }
}

impl Way {
    /// One way more often than both: lost answers make outcomes unknown, and a lost request is still resent by its sender's kernel long
    /// after the client has given it up, so that it arrives late.
    fn draw(rng: &mut Rng) -> Self {
        match rng.u8(0..5) {
            0 => Self::Both,
            1 | 2 => Self::RequestsLost,
            _ => Self::AnswersLost,
        }
    }
}

fn below(value: &Value, key: &str, least: i32, most: i32) -> Result<i32> {
    let number = value[key].as_i64().and_then(|number| i32::try_from(number).ok());
    number
        .filter(|number| (least..=most).contains(number))
        .with_context(|| format!("{key} of {value} is not between {least} and {most}"))
}

fn writer(value: &Value, key: &str) -> Result<usize> {
    let number = value[key]
        .as_u64()
        .and_then(|number| usize::try_from(number).ok());
    number
        .filter(|number| *number < WRITERS)
        .with_context(|| format!("{key} of {value} is no writer"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_there_is_not_is_refused() {
        let refused = |fault: Value| Fault::from_json(&fault).is_err();
        assert!(refused(json!({ "kind": "kill", "node": 4 })));
        assert!(refused(json!({ "kind": "kill" })));
        assert!(refused(json!({ "kind": "usurp", "writer": WRITERS })));
        assert!(refused(json!({ "kind": "flood" })));
    }
}
