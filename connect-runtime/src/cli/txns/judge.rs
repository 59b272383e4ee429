//! Whether a transaction that a partition has open will ever end: only if a coordinator still knows of it. Pure.
//!
//! A coordinator ends what it knows: it writes the markers of a decided transaction, and aborts an open one after its timeout. A
//! transaction that it does not know (a late write that came after the marker, KIP-890) stays open for ever, and readers with
//! read_committed wait in front of it.

use std::fmt;

use sealwax::admin::TransactionDescription;

use super::open::OpenTransaction;

/// What coordinators know of an open transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Judgement {
    /// A coordinator will end it.
    Known(TransactionDescription),
    /// It hangs: no transactional id that you may describe has this producer id.
    ProducerUnknown,
    /// It hangs: the transactional id that has this producer id knows of no open transaction on this partition.
    NotItsTransaction(TransactionDescription),
}

impl Judgement {
    /// Whether it hangs.
    pub(super) const fn hangs(&self) -> bool {
        match self {
            Self::Known(_) => false,
            Self::ProducerUnknown | Self::NotItsTransaction(_) => true,
        }
    }

    /// The transactional id that has this producer id.
    pub(super) fn transactional_id(&self) -> Option<&str> {
        match self {
            Self::Known(description) | Self::NotItsTransaction(description) => {
                Some(&description.transactional_id)
            }
            Self::ProducerUnknown => None,
        }
    }
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(of) => write!(
                f,
                "transactional id \"{}\" has it in state {}; coordinator {} will end it",
                of.transactional_id, of.state, of.coordinator
            ),
            Self::ProducerUnknown => {
                f.write_str("no transactional id that you may describe has this producer id")
            }
            Self::NotItsTransaction(of) => write!(
                f,
                "transactional id \"{}\" is {} and has nothing open here",
                of.transactional_id, of.state
            ),
        }
    }
}

/// Judges an open transaction by the descriptions of all transactional ids whose producer id it has.
pub(super) fn judge(open: &OpenTransaction, descriptions: &[TransactionDescription]) -> Judgement {
    let mut of_producer = descriptions
        .iter()
        .filter(|description| description.producer_id == open.producer.producer_id);
    let Some(description) = of_producer.next() else {
        return Judgement::ProducerUnknown;
    };
    if description.state.is_open() && description.partitions.contains(&open.partition) {
        Judgement::Known(description.clone())
    } else {
        Judgement::NotItsTransaction(description.clone())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use sealwax::admin::{ProducerState, TransactionState};
    use sealwax::{NodeId, ProducerEpoch, ProducerId, TopicPartition};

    use super::*;

    pub(in crate::cli::txns) fn open() -> OpenTransaction {
        OpenTransaction {
            partition: TopicPartition::new("t", 0),
            producer: ProducerState {
                producer_id: ProducerId(7),
                producer_epoch: ProducerEpoch(3),
                last_sequence: Some(0),
                last_timestamp_ms: Some(1000),
                coordinator_epoch: None,
                current_txn_start_offset: Some(40),
            },
            start_offset: 40,
        }
    }

    pub(in crate::cli::txns) fn described(
        producer_id: i64,
        state: TransactionState,
        partitions: &[i32],
    ) -> TransactionDescription {
        TransactionDescription {
            transactional_id: "orders-1".to_owned(),
            coordinator: NodeId(2),
            state,
            producer_id: ProducerId(producer_id),
            producer_epoch: ProducerEpoch(3),
            timeout: Duration::from_secs(60),
            start_time_ms: Some(5),
            partitions: partitions
                .iter()
                .map(|index| TopicPartition::new("t", *index))
                .collect(),
        }
    }

    #[test]
    fn only_a_coordinator_that_has_the_partition_in_an_unfinished_transaction_knows_it() {
        assert_eq!(judge(&open(), &[]), Judgement::ProducerUnknown);
        let foreign = described(8, TransactionState::Ongoing, &[0]);
        assert_eq!(judge(&open(), &[foreign]), Judgement::ProducerUnknown);
        let states = TransactionState::NAMED.iter().copied();
        for state in states.chain([TransactionState::Unknown]) {
            let here = judge(&open(), &[described(7, state, &[1, 0])]);
            assert_eq!(here.hangs(), !state.is_open(), "{state}");
            let elsewhere = judge(&open(), &[described(7, state, &[1])]);
            assert!(elsewhere.hangs(), "{state}");
            assert_eq!(elsewhere.transactional_id(), Some("orders-1"));
        }
    }
}
