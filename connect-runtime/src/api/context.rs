//! What the runtime gives to a source task: its configuration, the committed offsets, and its say on transactions.

use std::sync::{Arc, Mutex, PoisonError};

use super::{ConnectError, RecordBoundary, Settings, SourceOffset, SourcePartition, SourceRecord};

/// The committed offsets: those found at the start, and those that the task committed since.
pub trait OffsetReader: Send + Sync {
    /// The committed offset of a source partition, or none if it was never committed.
    fn offset(&self, partition: &SourcePartition) -> Option<SourceOffset>;
}

/// What a task knows about where it runs.
#[derive(Clone)]
pub struct SourceTaskContext {
    settings: Settings,
    offsets: Arc<dyn OffsetReader>,
    transactions: Option<TransactionContext>,
}

impl SourceTaskContext {
    /// A context. `transactions` is given with `transaction.boundary=connector` only.
    pub fn new(
        settings: Settings,
        offsets: Arc<dyn OffsetReader>,
        transactions: Option<TransactionContext>,
    ) -> Self {
        Self {
            settings,
            offsets,
            transactions,
        }
    }

    /// The task's configuration.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The committed offset of a source partition, or none if there is none.
    pub fn offset(&self, partition: &SourcePartition) -> Option<SourceOffset> {
        self.offsets.offset(partition)
    }

    /// The connector's say on transactions; none unless `transaction.boundary=connector`.
    pub fn transactions(&self) -> Option<&TransactionContext> {
        self.transactions.as_ref()
    }
}

/// What a connector asks for at the end of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchRequest {
    /// Commit after the batch.
    Commit,
    /// Abort: drop the data of the transaction, keep the progress in the source.
    Abort,
    /// Both were asked for, which is a fault of the connector.
    Both,
}

/// With `transaction.boundary=connector`: how a task asks for the end of a transaction (Java's `TransactionContext`).
/// Clones share the requests.
#[derive(Debug, Clone, Default)]
pub struct TransactionContext {
    request: Arc<Mutex<Option<BatchRequest>>>,
}

impl TransactionContext {
    /// Asks for a commit after the batch that the current (or next) poll returns.
    pub fn commit_transaction(&self) {
        self.ask(BatchRequest::Commit);
    }

    /// Asks for an abort after the batch that the current (or next) poll returns: the data of the transaction is
    /// dropped, the progress in the source is kept.
    pub fn abort_transaction(&self) {
        self.ask(BatchRequest::Abort);
    }

    /// Asks for a commit right after this record, which is the last of the transaction.
    ///
    /// # Errors
    /// An abort was asked for after the same record.
    pub fn commit_transaction_after(&self, record: &mut SourceRecord) -> Result<(), ConnectError> {
        record.mark(RecordBoundary::Commit)
    }

    /// Asks for an abort right after this record, which is dropped with the transaction.
    ///
    /// # Errors
    /// A commit was asked for after the same record.
    pub fn abort_transaction_after(&self, record: &mut SourceRecord) -> Result<(), ConnectError> {
        record.mark(RecordBoundary::Abort)
    }

    /// Takes the request for the end of a batch, so that each is served once.
    pub fn take_request(&self) -> Option<BatchRequest> {
        self.request.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn ask(&self, request: BatchRequest) {
        let mut known = self.request.lock().unwrap_or_else(PoisonError::into_inner);
        *known = match *known {
            None => Some(request),
            Some(earlier) if earlier == request => Some(request),
            Some(_) => Some(BatchRequest::Both),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{FlatMap, SchemaAndValue};

    #[test]
    fn a_batch_request_is_served_once_and_a_contradiction_is_seen() {
        let context = TransactionContext::default();
        assert_eq!(context.take_request(), None);
        context.clone().commit_transaction();
        context.commit_transaction();
        assert_eq!(context.take_request(), Some(BatchRequest::Commit));
        assert_eq!(context.take_request(), None);
        context.commit_transaction();
        context.abort_transaction();
        assert_eq!(context.take_request(), Some(BatchRequest::Both));
    }

    #[test]
    fn commit_and_abort_after_one_record_are_refused_but_equal_records_do_not_collide() {
        let context = TransactionContext::default();
        let record = SourceRecord::new(
            FlatMap::new().into(),
            FlatMap::new().into(),
            Arc::from("t"),
            SchemaAndValue::null(),
        );
        let (mut first, mut second) = (record.clone(), record);
        context.commit_transaction_after(&mut first).unwrap();
        context.abort_transaction_after(&mut second).unwrap();
        assert_eq!(first.boundary(), Some(RecordBoundary::Commit));
        assert_eq!(second.boundary(), Some(RecordBoundary::Abort));
        assert!(context.abort_transaction_after(&mut first).is_err());
    }
}
