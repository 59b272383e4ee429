//! The nodes: which of them live, and which versions of which API each of them speaks.

use std::collections::BTreeMap;

use sealwax_protocol::ApiKey;
use sealwax_protocol::ids::NodeId;
use sealwax_protocol::request::APIS;
use sealwax_protocol::version::VersionRange;

use super::leadership::Leadership;
use crate::settings::Release;

/// Port of every node; its host names it.
pub(crate) const PORT: i32 = 9092;

/// The host of a node.
pub(crate) fn host(node: NodeId) -> String {
    format!("node-{node}")
}

/// What is highest on Kafka 3.9, of the APIs where the protocol crate goes further.
const MAX_3_9: &[(ApiKey, i16)] = &[
    (ApiKey::Produce, 11),
    (ApiKey::Fetch, 17),
    (ApiKey::ListOffsets, 9),
    (ApiKey::Metadata, 12),
    (ApiKey::EndTxn, 4),
    (ApiKey::TxnOffsetCommit, 4),
    (ApiKey::ListTransactions, 1),
];

/// All nodes of the cluster.
#[derive(Debug)]
pub(crate) struct Nodes {
    nodes: BTreeMap<NodeId, Node>,
}

#[derive(Debug)]
struct Node {
    is_up: bool,
    /// By API key.
    max_versions: BTreeMap<i16, i16>,
}

impl Nodes {
    pub(crate) fn new(count: i32, release: Release) -> Self {
        let max_versions: BTreeMap<i16, i16> = match release {
            Release::V3_9 => MAX_3_9.iter().map(|(api, max)| (*api as i16, *max)).collect(),
            Release::V4_4 => BTreeMap::new(),
        };
        let node = |id| {
            let max_versions = max_versions.clone();
            let node = Node {
                is_up: true,
                max_versions,
            };
            (NodeId(id), node)
        };
        Self {
            nodes: (1..=count.max(1)).map(node).collect(),
        }
    }

    /// `count` partitions, led by the nodes in turn.
    pub(crate) fn spread(&self, shift: i32, count: i32) -> Vec<Leadership> {
        let nodes: Vec<NodeId> = self.all().collect();
        (0..count.max(1))
            .map(|partition| {
                let at = (partition + shift).unsigned_abs() as usize % nodes.len().max(1);
                let preferred = nodes.get(at).copied();
                Leadership::new(
                    preferred
                        .filter(|node| self.is_up(*node))
                        .or_else(|| self.any(partition)),
                )
            })
            .collect()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = NodeId> {
        self.nodes.keys().copied()
    }

    pub(crate) fn live(&self) -> impl Iterator<Item = NodeId> {
        self.nodes
            .iter()
            .filter(|(_, node)| node.is_up)
            .map(|(id, _)| *id)
    }

    pub(crate) fn is_up(&self, node: NodeId) -> bool {
        self.nodes.get(&node).is_some_and(|node| node.is_up)
    }

    /// A live node; which one depends on `turn` alone.
    pub(crate) fn any(&self, turn: i32) -> Option<NodeId> {
        let live = self.live().count();
        let at = turn.unsigned_abs() as usize % live.max(1);
        self.live().nth(at)
    }

    /// Returns whether that is a change.
    pub(crate) fn set_up(&mut self, node: NodeId, is_up: bool) -> bool {
        match self.nodes.get_mut(&node) {
            Some(found) if found.is_up != is_up => {
                found.is_up = is_up;
                true
            }
            Some(_) | None => false,
        }
    }

    pub(crate) fn cap_version(&mut self, node: NodeId, api: ApiKey, max: i16) {
        if let Some(node) = self.nodes.get_mut(&node) {
            node.max_versions.insert(api as i16, max);
        }
    }

    /// The versions of each API that a node speaks.
    pub(crate) fn versions(&self, node: NodeId) -> impl Iterator<Item = (ApiKey, VersionRange)> {
        APIS.iter().filter_map(move |(api, range)| {
            let range = self.cap(node, *api, *range);
            (range.min <= range.max).then_some((*api, range))
        })
    }

    /// Whether a node speaks this version.
    pub(crate) fn speaks(&self, node: NodeId, api: ApiKey, version: i16) -> bool {
        let range = APIS.iter().find(|(other, _)| *other == api);
        range.is_some_and(|(_, range)| self.cap(node, api, *range).contains(version))
    }

    fn cap(&self, node: NodeId, api: ApiKey, range: VersionRange) -> VersionRange {
        let cap = self
            .nodes
            .get(&node)
            .and_then(|node| node.max_versions.get(&(api as i16)));
        VersionRange {
            min: range.min,
            max: cap.map_or(range.max, |cap| range.max.min(*cap)),
        }
    }
}
