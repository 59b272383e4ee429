//! Who leads a partition, and in which epoch.

use sealwax_protocol::ids::NodeId;

/// The leadership of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Leadership {
    /// `None` while no replica lives.
    pub(crate) leader: Option<NodeId>,
    /// Grows with every change.
    pub(crate) epoch: i32,
}

impl Leadership {
    pub(crate) const fn new(leader: Option<NodeId>) -> Self {
        Self { leader, epoch: 0 }
    }

    /// Another leads now. Returns whether that is a change.
    pub(crate) fn move_to(&mut self, leader: Option<NodeId>) -> bool {
        let changes = self.leader != leader;
        if changes {
            self.leader = leader;
            self.epoch += 1;
        }
        changes
    }
}
