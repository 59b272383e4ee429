//! What a leader asks the transaction coordinator before it takes a transactional write (KIP-890, Java's `AddPartitionsToTxnManager`).

use std::time::Duration;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{ProducerIdAndEpoch, TopicPartition};

use super::State;
use crate::log::PartitionLog;
use crate::settings::Release;

/// What is asked, by the version of the client's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verification {
    /// Is it in the transaction? A client this old cannot be told `TRANSACTION_ABORTABLE`.
    CheckOld,
    /// Is it in the transaction?
    Check,
    /// Put it into the transaction (TV2).
    Add,
}

impl Verification {
    pub(crate) const fn of_txn_offset_commit(version: i16) -> Self {
        match version {
            ..=3 => Self::CheckOld,
            4 => Self::Check,
            5.. => Self::Add,
        }
    }

    pub(crate) const fn of_produce(version: i16) -> Self {
        match version {
            ..=10 => Self::CheckOld,
            11 => Self::Check,
            12.. => Self::Add,
        }
    }
}

/// The coordinator's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permit {
    /// The write may be done.
    Granted,
    /// The transaction before is not ended yet: worth asking again.
    Busy,
}

impl State {
    /// Whether a write needs no question because its transaction is open in the log already. Kafka 3.9 does not look at the epoch here: a write with a
    /// later one than the coordinator's is taken, and then refuses the marker.
    pub(crate) fn is_open(&self, log: &PartitionLog, producer: ProducerIdAndEpoch) -> bool {
        match self.settings.release {
            Release::V3_9 => log.has_any_open_transaction(producer.id.0),
            Release::V4_4 => log.has_open_transaction(producer.id.0, producer.epoch.0),
        }
    }

    /// Asks the coordinator, unless the transaction is open in the log already.
    pub(crate) fn verify(
        &mut self,
        now: Duration,
        verification: Verification,
        is_open: bool,
        transactional_id: &str,
        producer: ProducerIdAndEpoch,
        partition: &TopicPartition,
    ) -> Result<Permit, ErrorCode> {
        if is_open {
            return Ok(Permit::Granted);
        }
        let asked = match verification {
            Verification::Add => self.add_partitions(now, transactional_id, producer, [partition.clone()]),
            Verification::Check | Verification::CheckOld => self
                .transactions
                .ask(now, transactional_id)
                .and_then(|metadata| metadata.verify_partition(producer, partition)),
        };
        match (asked, verification) {
            (Ok(()), _) => Ok(Permit::Granted),
            (Err(ErrorCode::CONCURRENT_TRANSACTIONS), Verification::Add) => Ok(Permit::Busy),
            (Err(code), _) => Err(told(code, verification)),
        }
    }
}

/// The coordinator's error as the client is told it.
fn told(code: ErrorCode, verification: Verification) -> ErrorCode {
    match code {
        ErrorCode::PRODUCER_FENCED => ErrorCode::INVALID_PRODUCER_EPOCH,
        ErrorCode::TRANSACTION_ABORTABLE if verification == Verification::CheckOld => {
            ErrorCode::INVALID_TXN_STATE
        }
        other => other,
    }
}
