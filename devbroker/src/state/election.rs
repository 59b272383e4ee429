//! Who takes over when a node dies or comes back, and what a coordinator does when it takes over.

use std::sync::Arc;
use std::time::Duration;

use sealwax_protocol::ids::{NodeId, TopicPartition};

use super::State;
use crate::coordinator::Phase;
use crate::names::OFFSETS_TOPIC;

impl State {
    /// Every partition without a live leader gets one, if any node lives.
    pub(crate) fn elect(&mut self, now: Duration) {
        self.changes += 1;
        let nodes = &self.nodes;
        for (partition, turn) in self.topics.partitions_mut().zip(0..) {
            if !partition
                .leadership
                .leader
                .is_some_and(|leader| nodes.is_up(leader))
            {
                partition.leadership.move_to(nodes.any(turn));
            }
        }
        for index in 0..self.transactions.partitions.len() {
            let leader = self
                .transactions
                .partitions
                .get(index)
                .and_then(|home| home.leadership.leader);
            if !leader.is_some_and(|leader| self.nodes.is_up(leader)) {
                self.move_transaction_partition(now, index, self.nodes.any(turn_of(index)));
            }
        }
        for index in 0..self.groups.partitions.len() {
            let partition = TopicPartition::new(OFFSETS_TOPIC, turn_of(index));
            let leader = self
                .groups
                .leadership(&partition)
                .and_then(|leadership| leadership.leader);
            if !leader.is_some_and(|leader| self.nodes.is_up(leader)) {
                self.move_offsets_partition(now, &partition, self.nodes.any(turn_of(index)));
            }
        }
    }

    /// Another node coordinates a partition of the transaction log: it loads it, and then writes all markers again of the ends that were decided.
    pub(crate) fn move_transaction_partition(&mut self, now: Duration, index: usize, to: Option<NodeId>) {
        let loaded_at = now + self.settings.load_delay;
        let Some(home) = self.transactions.partitions.get_mut(index) else {
            return;
        };
        if !home.leadership.move_to(to) {
            return;
        }
        home.loaded_at = loaded_at;
        let ids = self.transactions.ids.iter();
        let ended: Vec<Arc<str>> = ids
            .filter(|(id, found)| {
                self.transactions.partition_of(id) == index
                    && matches!(found.metadata.phase(), Phase::Prepare { .. })
            })
            .map(|(id, _)| Arc::clone(id))
            .collect();
        for id in ended {
            self.send_markers(loaded_at, &id);
        }
    }

    /// Another node coordinates the groups of a partition of `__consumer_offsets`.
    pub(crate) fn move_offsets_partition(
        &mut self,
        now: Duration,
        partition: &TopicPartition,
        to: Option<NodeId>,
    ) {
        let loaded_at = now + self.settings.load_delay;
        if let Some(home) = self.groups.home_mut(partition)
            && home.coordinator.leadership.move_to(to)
        {
            home.coordinator.loaded_at = loaded_at;
        }
    }
}

fn turn_of(index: usize) -> i32 {
    i32::try_from(index).unwrap_or(i32::MAX)
}
