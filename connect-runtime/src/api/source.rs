//! A source task: it reads a part of the source and gives records to the runtime.

use async_trait::async_trait;

use super::{ConnectError, RecordMetadata, Settings, SourceRecord, SourceTaskContext};

/// A source task. The runtime calls, in this order: `initialize`, `start`, then `poll` again and again with
/// `commit_record` and `commit` between polls, and `stop` at the end. Calls never overlap.
///
/// After an aborted transaction the runtime stops the task and starts a new one from the committed offsets, so a task
/// need not be able to go back.
#[async_trait]
pub trait SourceTask: Send {
    /// Takes the context. No work yet.
    fn initialize(&mut self, context: SourceTaskContext);

    /// Opens the source at the committed offsets, which the context's offset reader gives.
    ///
    /// # Errors
    /// The source cannot be opened. Retriable errors lead to another start after a while, others fail the task.
    ///
    /// # Cancel safety
    /// A task whose start was cancelled is dropped.
    async fn start(&mut self, settings: &Settings) -> Result<(), ConnectError>;

    /// The next records, or none when there is nothing now. Waits a short while for data rather than returning at
    /// once, and returns regularly (Java waits about a second).
    ///
    /// # Errors
    /// Retriable errors count as "nothing now", others fail the task.
    ///
    /// # Cancel safety
    /// The runtime drops a pending poll when it has to stop; the task is not polled again after that, only stopped.
    async fn poll(&mut self) -> Result<Option<Vec<SourceRecord>>, ConnectError>;

    /// Whether [`commit_record`](Self::commit_record) is wanted. Keeping the records of a transaction until it is
    /// committed costs memory, so it is done for tasks that say yes only (Java always does it).
    fn wants_commit_record(&self) -> bool {
        false
    }

    /// A record is committed. Never called for records of an aborted transaction. `metadata` is none for a record
    /// that was not sent to Kafka. Errors are logged and change nothing.
    ///
    /// # Errors
    /// Whatever the source said.
    ///
    /// # Cancel safety
    /// May be cancelled when the process has to exit.
    async fn commit_record(
        &mut self,
        record: &SourceRecord,
        metadata: Option<&RecordMetadata>,
    ) -> Result<(), ConnectError> {
        let _ = (record, metadata);
        Ok(())
    }

    /// A transaction is committed: everything polled so far that was part of it may be acknowledged to the source.
    /// Errors are logged and change nothing.
    ///
    /// # Errors
    /// Whatever the source said.
    ///
    /// # Cancel safety
    /// May be cancelled when the process has to exit.
    async fn commit(&mut self) -> Result<(), ConnectError> {
        Ok(())
    }

    /// Closes the source.
    ///
    /// # Cancel safety
    /// May be cancelled when the process has to exit.
    async fn stop(&mut self) {}
}
