//! What a reader of one isolation level sees of a partition's batches (KIP-98), and how far its position moves.
//!
//! In: the batches of one answer in log order, the position, and the answer's list of aborted transactions. Out: the batches to
//! hand out, untouched, and the position behind everything that was passed. Each answer is complete in itself: nothing is carried over.

use std::collections::HashSet;

use sealwax_protocol::error::DecodeError;
use sealwax_protocol::fetch::{AbortedTransaction, IsolationLevel};
use sealwax_protocol::record::{ControlType, RecordBatch};

/// What passed the filter.
#[derive(Debug, Clone)]
pub(crate) struct Visible {
    /// Where the reader stood before. The first batch may begin below.
    pub(crate) start: i64,
    /// The batches whose records the reader sees.
    pub(crate) batches: Vec<RecordBatch>,
    /// Where the reader stands behind them, and behind whatever was dropped.
    pub(crate) next_offset: i64,
    /// Records of aborted transactions that were dropped.
    pub(crate) aborted_records: u64,
}

/// Filters batches up to their end or to the first one that cannot be read, whose error is given beside what was good before it.
pub(super) fn filter(
    batches: impl Iterator<Item = Result<RecordBatch, DecodeError>>,
    start: i64,
    level: IsolationLevel,
    aborted: Option<Vec<AbortedTransaction>>,
) -> (Visible, Option<DecodeError>) {
    let mut transactions = match level {
        IsolationLevel::ReadCommitted => AbortedTransactions::new(aborted.unwrap_or_default()),
        IsolationLevel::ReadUncommitted => AbortedTransactions::new(Vec::new()),
    };
    let mut visible = Visible {
        start,
        batches: Vec::new(),
        next_offset: start,
        aborted_records: 0,
    };
    for batch in batches {
        let verdict = match batch.and_then(|batch| visible.pass(batch, &mut transactions)) {
            Ok(()) => continue,
            Err(error) => error,
        };
        return (visible, Some(verdict));
    }
    (visible, None)
}

impl Visible {
    /// Whether the position moved.
    pub(crate) const fn is_progress(&self) -> bool {
        self.next_offset > self.start
    }

    fn pass(
        &mut self,
        batch: RecordBatch,
        transactions: &mut AbortedTransactions,
    ) -> Result<(), DecodeError> {
        let header = *batch.header();
        if header.last_offset() < self.next_offset {
            return Ok(());
        }
        // The last offset, not the first: compaction may have removed the first records of a transaction.
        transactions.begin_up_to(header.last_offset());
        if header.is_control() {
            match batch.control_type()? {
                Some(ControlType::Abort) => transactions.end(header.producer_id),
                Some(ControlType::Commit | ControlType::Other(_)) | None => {}
            }
        } else if header.is_transactional() && transactions.contains(header.producer_id) {
            let ahead = header.next_offset().saturating_sub(self.next_offset);
            let dropped = i64::from(header.record_count).clamp(0, ahead);
            self.aborted_records = self.aborted_records.saturating_add(dropped.unsigned_abs());
        } else {
            self.batches.push(batch);
        }
        // Not behind the last record: compaction keeps a batch's last offset when that record is gone.
        self.next_offset = header.next_offset();
        Ok(())
    }
}

/// The aborted transactions that an answer lists, and those of them that are open at the present batch.
struct AbortedTransactions {
    /// Not begun yet, the earliest at the end.
    ahead: Vec<AbortedTransaction>,
    /// Producer ids whose aborted transaction has begun and has not met its marker.
    open: HashSet<i64>,
}

impl AbortedTransactions {
    /// Sorts the list: not every broker does.
    fn new(mut listed: Vec<AbortedTransaction>) -> Self {
        listed.sort_unstable_by_key(|transaction| std::cmp::Reverse(transaction.first_offset));
        Self {
            ahead: listed,
            open: HashSet::new(),
        }
    }

    fn begin_up_to(&mut self, offset: i64) {
        while let Some(begun) = self.ahead.pop_if(|next| next.first_offset <= offset) {
            self.open.insert(begun.producer_id.0);
        }
    }

    /// A marker without a listed transaction is legal: the transaction wrote nothing here, or compaction took it all.
    fn end(&mut self, producer_id: i64) {
        self.open.remove(&producer_id);
    }

    fn contains(&self, producer_id: i64) -> bool {
        self.open.contains(&producer_id)
    }
}

#[cfg(test)]
mod tests;
