//! A whole transaction as one call: begin, run, commit, and again where that is safe. In: what is to be done in the transaction. Out: its
//! value once it is committed, or why it is not.
//!
//! It is done again only after the transaction was aborted for certain, for a reason that may be gone the next time.

use std::time::Duration;

use sealwax_protocol::error_code::{ErrorClass, ErrorCode};

use super::{CommitError, Resolution, Transaction};
use crate::error::{Error, ErrorKind};
use crate::machine::retry::Backoff;
use crate::producer::TransactionalProducer;
use crate::runtime::{clock, entropy};

/// How often it is done at most.
const ATTEMPTS: u32 = 5;

/// How one attempt came out.
enum Attempt<T, E> {
    Done(T),
    /// Aborted, for a reason that may be gone.
    Again(E),
    Failed(E),
}

/// Runs `body` in a transaction until it is committed or that is not to be had. After `limit` no new attempt is made.
pub(crate) async fn run<T, E: From<Error>>(
    producer: &mut TransactionalProducer,
    backoff: Backoff,
    limit: Duration,
    mut body: impl AsyncFnMut(&mut Transaction<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let until = clock::now() + limit;
    let mut attempts = 0;
    loop {
        attempts += 1;
        match attempt(producer, &mut body).await {
            Attempt::Done(value) => return Ok(value),
            Attempt::Again(_) if attempts < ATTEMPTS && clock::now() < until => {}
            Attempt::Again(error) | Attempt::Failed(error) => return Err(error),
        }
        let pause = backoff.delay(attempts, &mut entropy::rng());
        tokio::time::sleep(pause).await;
    }
}

async fn attempt<T, E: From<Error>>(
    producer: &mut TransactionalProducer,
    body: &mut impl AsyncFnMut(&mut Transaction<'_>) -> Result<T, E>,
) -> Attempt<T, E> {
    let mut transaction = match producer.begin().await {
        Ok(transaction) => transaction,
        Err(error) => return Attempt::Failed(error.into()),
    };
    let value = match body(&mut transaction).await {
        Ok(value) => value,
        Err(error) => return abort(transaction, error).await,
    };
    match transaction.commit().await {
        Ok(_committed) => Attempt::Done(value),
        Err(CommitError::Aborted(error)) => aborted(error),
        Err(CommitError::Fenced(error) | CommitError::Fatal(error)) => Attempt::Failed(error.into()),
        Err(CommitError::Unknown(unknown)) => match producer.resolve().await {
            Ok(Resolution::Committed(_)) => Attempt::Done(value),
            Ok(Resolution::Aborted(error)) => aborted(error),
            Ok(Resolution::Unknown(error)) => Attempt::Failed(error.into()),
            Err(_) => Attempt::Failed(unknown.into()),
        },
    }
}

/// The body gave up. It is run again only if the transaction itself was the reason.
async fn abort<T, E>(transaction: Transaction<'_>, error: E) -> Attempt<T, E> {
    let failure = transaction.failure();
    let is_aborted = transaction.abort().await.is_ok();
    match failure {
        Some(failure) if is_aborted && may_be_gone(&failure) => Attempt::Again(error),
        Some(_) | None => Attempt::Failed(error),
    }
}

fn aborted<T, E: From<Error>>(error: Error) -> Attempt<T, E> {
    if may_be_gone(&error) {
        Attempt::Again(error.into())
    } else {
        Attempt::Failed(error.into())
    }
}

/// Whether the reason of an abort may not meet another transaction.
fn may_be_gone(error: &Error) -> bool {
    let is_of_its_kind = match error.kind() {
        ErrorKind::Unreachable
        | ErrorKind::Timeout
        | ErrorKind::TransactionAbortable
        | ErrorKind::TransactionAborted
        | ErrorKind::Broker => true,
        ErrorKind::Config
        | ErrorKind::NotKafka
        | ErrorKind::UnsupportedVersion
        | ErrorKind::NotBuilt
        | ErrorKind::UnknownTopic
        | ErrorKind::Authorization
        | ErrorKind::RecordTooLarge
        | ErrorKind::Fenced
        | ErrorKind::CommitFailed
        | ErrorKind::OutcomeUnknown
        | ErrorKind::InvalidState
        | ErrorKind::OffsetOutOfRange
        | ErrorKind::Corrupt
        | ErrorKind::Closed => false,
    };
    let is_of_its_code = error.code().is_none_or(|code| match code {
        // The transaction was ended by its timeout.
        ErrorCode::INVALID_PRODUCER_EPOCH | ErrorCode::INVALID_TXN_STATE => true,
        _ => match code.class() {
            ErrorClass::None
            | ErrorClass::Retriable
            | ErrorClass::RefreshRetriable
            | ErrorClass::Abortable => true,
            ErrorClass::ApplicationRecoverable | ErrorClass::InvalidConfiguration | ErrorClass::Fatal => {
                false
            }
        },
    });
    is_of_its_kind && is_of_its_code && !error.is_fatal()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_be_gone_is_tried_again() {
        let abortable = |code| Error::broker(ErrorKind::TransactionAbortable, code, "x");
        for (error, again) in [
            (
                Error::new(ErrorKind::TransactionAborted, "not taken in time"),
                true,
            ),
            (Error::new(ErrorKind::Timeout, "late").of_transaction(), true),
            (abortable(ErrorCode::TRANSACTION_ABORTABLE), true),
            (abortable(ErrorCode::INVALID_PRODUCER_EPOCH), true),
            (abortable(ErrorCode::NOT_ENOUGH_REPLICAS), true),
            (abortable(ErrorCode::MESSAGE_TOO_LARGE), false),
            (abortable(ErrorCode::TOPIC_AUTHORIZATION_FAILED), false),
            (Error::new(ErrorKind::CommitFailed, "rebalanced"), false),
            (Error::new(ErrorKind::OutcomeUnknown, "x"), false),
            (Error::new(ErrorKind::Timeout, "x").of_producer(), false),
            (Error::new(ErrorKind::Fenced, "x"), false),
        ] {
            assert_eq!(may_be_gone(&error), again, "{error:?}");
        }
    }
}
