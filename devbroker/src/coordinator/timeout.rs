//! `transaction.timeout.ms`: a transaction that was open for too long is aborted, and its producer fenced off.

use std::time::Duration;

use super::metadata::{Level, Phase, TransactionMetadata};

impl TransactionMetadata {
    /// When the open transaction times out.
    pub(crate) fn expires_at(&self) -> Option<Duration> {
        match &self.phase {
            Phase::Ongoing(open) => Some(open.started.saturating_add(self.timeout)),
            Phase::Empty | Phase::Prepare { .. } | Phase::Complete { .. } => None,
        }
    }

    /// Aborts the open transaction if its time is over. Returns whether it did: markers are to be written then.
    pub(crate) fn expire(&mut self, now: Duration, level: Level, new_id: impl FnOnce() -> i64) -> bool {
        let is_due = self.expires_at().is_some_and(|due| due <= now);
        is_due && self.fence(level, new_id).is_ok()
    }
}
