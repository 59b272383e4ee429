//! What to say when a transaction did not go through.
//!
//! Input: the error of a send or a commit. Output: a [`Failure`]. After a failed send the transaction is aborted before the process
//! ends: an open one would hold up read_committed readers until its timeout, and the abort tells whether this producer was fenced.

use sealwax::{CommitError, Error, Transaction};

use crate::cli::{Exit, Failure, cluster};

/// Aborts a transaction into which a record could not be sent.
pub(super) async fn after_failed_send(transaction: Transaction<'_>, topic: &str, error: &Error) -> Failure {
    let doing = format!("sending to topic \"{topic}\" failed");
    match transaction.abort().await {
        Err(abort) if abort.is_fatal() => cluster::failure(&doing, &abort),
        Ok(()) | Err(_) => cluster::failure(&doing, error),
    }
}

/// A commit that was not confirmed.
pub(super) fn not_committed(error: &CommitError) -> Failure {
    Failure::new(Exit::RunTime, error.to_string())
}
