//! The operator's hands: topics, leaders, coordinators, nodes, features.

use std::time::Duration;

use sealwax_protocol::ApiKey;
use sealwax_protocol::Uuid;
use sealwax_protocol::ids::{NodeId, TopicPartition};

use super::Cluster;

impl Cluster {
    /// Creates a topic whose partitions are led by the nodes in turn. Nothing happens if there is one of that name.
    pub fn create_topic(&mut self, name: &str, partitions: i32) {
        let leaders = self.state.nodes.spread(0, partitions);
        self.state.topics.create(name, leaders);
    }

    /// The id of a topic.
    #[must_use]
    pub fn topic_id(&self, name: &str) -> Option<Uuid> {
        self.state.topics.by_name(name).map(|topic| topic.id)
    }

    /// Another node leads a partition from now on. Nothing happens if there is no such partition, or the node does not live.
    pub fn move_leader(&mut self, now: Duration, partition: &TopicPartition, to: NodeId) {
        self.handle_timeout(now);
        if self.state.nodes.is_up(to)
            && let Some(found) = self.state.topics.partition_mut(partition)
        {
            found.leadership.move_to(Some(to));
            self.state.changes += 1;
            self.wake(now);
        }
    }

    /// Another node coordinates this transactional id from now on, and all ids that share its partition of the transaction log. Nothing happens if
    /// the node does not live.
    pub fn move_transaction_coordinator(&mut self, now: Duration, transactional_id: &str, to: NodeId) {
        self.handle_timeout(now);
        if self.state.nodes.is_up(to) {
            let index = self.state.transactions.partition_of(transactional_id);
            self.state.move_transaction_partition(now, index, Some(to));
        }
    }

    /// Another node coordinates this group from now on, and all groups that share its partition of `__consumer_offsets`. Nothing happens if the
    /// node does not live.
    pub fn move_group_coordinator(&mut self, now: Duration, group: &str, to: NodeId) {
        self.handle_timeout(now);
        if self.state.nodes.is_up(to) {
            let partition = self.state.groups.partition_of(group);
            self.state.move_offsets_partition(now, &partition, Some(to));
        }
    }

    /// A node dies: what it works on is lost, its connections get no answers any more, and the nodes that live take over what it led.
    pub fn stop_node(&mut self, now: Duration, node: NodeId) {
        self.handle_timeout(now);
        if self.state.nodes.set_up(node, false) {
            self.connections.drop_node(node);
            self.answers.retain(|answer| answer.to.node != node);
            self.state.elect(now);
            self.wake(now);
        }
    }

    /// A node lives again. It leads what nobody else does.
    pub fn start_node(&mut self, now: Duration, node: NodeId) {
        self.handle_timeout(now);
        if self.state.nodes.set_up(node, true) {
            self.state.elect(now);
            self.wake(now);
        }
    }

    /// Raises or lowers the finalized level of `transaction.version`; the epoch of the features grows.
    pub fn set_transaction_version(&mut self, now: Duration, level: i16) {
        self.handle_timeout(now);
        self.state.features.transaction_version = level;
        self.state.features.epoch += 1;
    }

    /// From now on a node speaks an API up to this version only, as one of an older release does.
    pub fn cap_version(&mut self, node: NodeId, api: ApiKey, max: i16) {
        self.state.nodes.cap_version(node, api, max);
    }

    /// Sets the generation and members of a group, whose protocol is not modelled.
    pub fn set_group_members(&mut self, group: &str, generation: i32, members: &[&str]) {
        let group = self.state.groups.groups.entry(group.into()).or_default();
        group.generation = generation;
        group.members = members.iter().map(|member| (*member).into()).collect();
    }
}
