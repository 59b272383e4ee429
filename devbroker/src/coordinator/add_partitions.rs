//! AddPartitionsToTxn, and what a leader asks in its place: is this partition in the transaction (KIP-890)?

use std::collections::BTreeSet;
use std::time::Duration;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{ProducerIdAndEpoch, TopicPartition};

use super::metadata::{OpenTransaction, Phase, TransactionMetadata};

/// What an accepted call did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Added {
    /// The transaction begins with it: its time runs.
    Begun,
    /// The transaction was open before.
    Already,
}

impl TransactionMetadata {
    /// Puts partitions into the transaction, which begins if none is open.
    pub(crate) fn add_partitions(
        &mut self,
        now: Duration,
        producer: ProducerIdAndEpoch,
        partitions: impl IntoIterator<Item = TopicPartition>,
    ) -> Result<Added, ErrorCode> {
        self.check_producer(producer)?;
        match &mut self.phase {
            Phase::Prepare { .. } => Err(ErrorCode::CONCURRENT_TRANSACTIONS),
            Phase::Ongoing(open) => {
                open.partitions.extend(partitions);
                Ok(Added::Already)
            }
            Phase::Empty | Phase::Complete { .. } => {
                self.phase = Phase::Ongoing(OpenTransaction {
                    partitions: partitions.into_iter().collect::<BTreeSet<_>>(),
                    started: now,
                });
                Ok(Added::Begun)
            }
        }
    }

    /// Whether a producer may write to a partition because it was put into the transaction.
    pub(crate) fn verify_partition(
        &self,
        producer: ProducerIdAndEpoch,
        partition: &TopicPartition,
    ) -> Result<(), ErrorCode> {
        self.check_producer(producer)?;
        match &self.phase {
            Phase::Prepare { .. } => Err(ErrorCode::CONCURRENT_TRANSACTIONS),
            Phase::Ongoing(open) if open.partitions.contains(partition) => Ok(()),
            Phase::Ongoing(_) | Phase::Empty | Phase::Complete { .. } => {
                Err(ErrorCode::TRANSACTION_ABORTABLE)
            }
        }
    }

    fn check_producer(&self, producer: ProducerIdAndEpoch) -> Result<(), ErrorCode> {
        if producer.id.0 != self.producer_id {
            Err(ErrorCode::INVALID_PRODUCER_ID_MAPPING)
        } else if producer.epoch.0 != self.epoch {
            Err(ErrorCode::PRODUCER_FENCED)
        } else {
            Ok(())
        }
    }
}
