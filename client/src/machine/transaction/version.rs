//! Which of Kafka's two transaction protocols a transaction speaks (KIP-890): chosen when it begins, fixed until it ends.
//! In: the finalized feature `transaction.version`. Out: the versions that may be spoken.

use sealwax_protocol::version::{FinalizedFeatures, VersionRange};

/// A transaction's protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransactionVersion {
    /// Partitions are added by AddPartitionsToTxn; the epoch lasts over many transactions.
    V1,
    /// The partition's leader adds it on the first write; each transaction has an epoch of its own.
    V2,
}

impl TransactionVersion {
    /// The protocol of a transaction that begins now.
    pub(crate) const fn chosen(features: FinalizedFeatures) -> Self {
        if features.transaction_version >= 2 {
            Self::V2
        } else {
            Self::V1
        }
    }

    /// Versions of Produce: from 12 on a write adds the partition to the transaction.
    pub(crate) const fn produce(self) -> VersionRange {
        match self {
            Self::V1 => VersionRange { min: 9, max: 11 },
            Self::V2 => VersionRange { min: 12, max: 13 },
        }
    }

    /// Versions of EndTxn: from 5 on it ends the epoch too and answers with the next one.
    pub(crate) const fn end_txn(self) -> VersionRange {
        match self {
            Self::V1 => VersionRange { min: 3, max: 4 },
            Self::V2 => VersionRange { min: 5, max: 5 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_two_of_the_feature_and_above_means_v2() {
        for (level, version) in [
            (0, TransactionVersion::V1),
            (1, TransactionVersion::V1),
            (2, TransactionVersion::V2),
            (3, TransactionVersion::V2),
        ] {
            let features = FinalizedFeatures {
                epoch: 1,
                transaction_version: level,
            };
            assert_eq!(TransactionVersion::chosen(features), version);
        }
    }
}
