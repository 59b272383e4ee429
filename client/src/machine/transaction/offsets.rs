//! A transaction's offsets of consumer groups: what waits to be sent, in order, and what was accepted. In: calls and answers. Out: what
//! has to be sent next.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use sealwax_protocol::ids::TopicPartition;

use crate::offsets::{ConsumerGroupMetadata, OffsetAndMetadata};

/// What one call of `send_offsets` wants.
#[derive(Debug, Clone)]
pub(crate) struct SentOffsets {
    /// In whose name.
    pub(crate) group: ConsumerGroupMetadata,
    /// What. Never empty.
    pub(crate) offsets: BTreeMap<TopicPartition, OffsetAndMetadata>,
    /// Until then it is tried.
    pub(crate) until: Instant,
}

/// The offsets of one transaction.
#[derive(Debug, Default)]
pub(crate) struct Offsets {
    waiting: VecDeque<Arc<SentOffsets>>,
    /// How many were accepted.
    accepted: u64,
    /// Groups that the transaction's coordinator knows to be part of it (V1).
    groups: HashSet<String>,
}

impl Offsets {
    /// Queues offsets; the number by which [`Offsets::is_accepted`] knows them.
    pub(crate) fn push(&mut self, sent: SentOffsets) -> u64 {
        self.waiting.push_back(Arc::new(sent));
        self.accepted + self.waiting.len() as u64
    }

    /// What is to be sent next.
    pub(crate) fn next(&self) -> Option<&Arc<SentOffsets>> {
        self.waiting.front()
    }

    /// The group of what is to be sent next, if it has to be added to the transaction first.
    pub(crate) fn group_to_add(&self) -> Option<&str> {
        let group = &self.waiting.front()?.group.group_id;
        (!self.groups.contains(group)).then_some(group)
    }

    /// The coordinator has this group.
    pub(crate) fn group_added(&mut self, group: String) {
        self.groups.insert(group);
    }

    /// Whether the coordinator has any group.
    pub(crate) fn has_group(&self) -> bool {
        !self.groups.is_empty()
    }

    /// What was to be sent next is part of the transaction.
    pub(crate) fn next_accepted(&mut self) {
        if self.waiting.pop_front().is_some() {
            self.accepted += 1;
        }
    }

    /// Whether these offsets are part of the transaction.
    pub(crate) const fn is_accepted(&self, number: u64) -> bool {
        number <= self.accepted
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::machine::testing::harness::instant;

    fn sent(group: &str) -> SentOffsets {
        SentOffsets {
            group: ConsumerGroupMetadata::new(group),
            offsets: [(TopicPartition::new("in", 0), OffsetAndMetadata::new(1))].into(),
            until: instant() + Duration::from_secs(1),
        }
    }

    #[test]
    fn offsets_are_accepted_in_order_and_each_group_is_added_once() {
        let mut offsets = Offsets::default();
        let numbers = ["a", "a", "b"].map(|group| offsets.push(sent(group)));
        assert_eq!(numbers, [1, 2, 3]);
        assert_eq!(offsets.group_to_add(), Some("a"));
        assert!(!offsets.has_group());
        offsets.group_added("a".to_owned());
        assert!(offsets.has_group());
        assert_eq!(offsets.group_to_add(), None);
        offsets.next_accepted();
        assert_eq!(
            numbers.map(|number| offsets.is_accepted(number)),
            [true, false, false]
        );
        assert_eq!(offsets.group_to_add(), None);
        offsets.next_accepted();
        assert_eq!(offsets.group_to_add(), Some("b"));
        offsets.next_accepted();
        assert!(offsets.next().is_none());
        offsets.next_accepted();
        assert!(!offsets.is_accepted(4), "nothing was waiting");
    }
}
