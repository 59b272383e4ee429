//! Everything that the cluster is at an instant: nodes, topics with their logs, transactional ids, groups, features, and what is due when.

mod election;
pub(crate) mod groups;
mod leadership;
pub(crate) mod markers;
mod nodes;
mod timers;
pub(crate) mod topics;
pub(crate) mod transactions;
pub(crate) mod verification;

use sealwax_protocol::ids::{NodeId, TopicPartition};

use crate::settings::{Release, Settings};
use groups::Groups;

pub(crate) use nodes::{Nodes, PORT, host};
pub(crate) use timers::{Event, Timers};
use topics::Topics;
use transactions::Transactions;

/// The finalized features (KIP-584).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Features {
    /// Grows with every change.
    pub(crate) epoch: i64,
    /// The level of `transaction.version`.
    pub(crate) transaction_version: i16,
}

/// The cluster at an instant.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) settings: Settings,
    pub(crate) nodes: Nodes,
    pub(crate) topics: Topics,
    pub(crate) transactions: Transactions,
    pub(crate) groups: Groups,
    pub(crate) features: Features,
    pub(crate) timers: Timers,
    /// Counts what a waiting Fetch should know of: writes to logs and changes of leaders.
    pub(crate) changes: u64,
    next_producer_id: i64,
}

impl State {
    pub(crate) fn new(settings: Settings) -> Self {
        let nodes = Nodes::new(settings.nodes, settings.release);
        let internal = |shift| nodes.spread(shift, settings.internal_partitions);
        Self {
            transactions: Transactions::new(internal(0)),
            groups: Groups::new(internal(1)),
            features: Features {
                epoch: 1,
                transaction_version: settings.effective_transaction_version(),
            },
            topics: Topics::default(),
            timers: Timers::default(),
            changes: 0,
            next_producer_id: 1000,
            nodes,
            settings,
        }
    }

    /// A producer id that nobody had before.
    pub(crate) const fn new_producer_id(&mut self) -> i64 {
        let id = self.next_producer_id;
        self.next_producer_id += 1;
        id
    }

    /// Whether the brokers behave as this release's or a later one's.
    pub(crate) fn is_at_least(&self, release: Release) -> bool {
        self.settings.release >= release
    }

    /// The leader of a partition, also of one of committed offsets.
    pub(crate) fn leader_of(&self, partition: &TopicPartition) -> Option<NodeId> {
        self.groups
            .leadership(partition)
            .or_else(|| self.topics.partition(partition).map(|found| &found.leadership))
            .and_then(|leadership| leadership.leader)
    }
}
