//! The end of the end: the last marker is written.

use super::metadata::{NONE, Phase, TransactionMetadata};

impl TransactionMetadata {
    /// All markers are written. Nothing happens unless they were being written.
    pub(crate) fn complete(&mut self) {
        let Phase::Prepare { outcome, open, .. } = &self.phase else {
            return;
        };
        self.last_started = Some(open.started);
        self.phase = Phase::Complete {
            outcome: *outcome,
            started: open.started,
        };
        self.previous_producer_id = self.producer_id;
        if self.next_producer_id != i64::from(NONE) {
            self.producer_id = self.next_producer_id;
            self.next_producer_id = i64::from(NONE);
            self.epoch = 0;
        }
    }
}
