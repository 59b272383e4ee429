//! Which of Kafka's two transaction protocols a transaction speaks (KIP-890): chosen when it begins, fixed until it ends.
//! In: the finalized feature `transaction.version`. Out: the versions that may be spoken.

use sealwax_protocol::ApiKey;
use sealwax_protocol::version::{ApiVersions, FinalizedFeatures, VersionRange};

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

    /// Versions of TxnOffsetCommit: from 5 on it adds the group to the transaction.
    pub(crate) const fn txn_offset_commit(self) -> VersionRange {
        match self {
            Self::V1 => VersionRange { min: 3, max: 4 },
            Self::V2 => VersionRange { min: 5, max: 5 },
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

/// What a connection's handshake tells of the cluster's features. A broker that lacks a request of V2 (a proxy or a service that passes
/// on the features of the brokers behind it, say) cannot be spoken to in V2, whatever the features say.
pub(crate) fn usable_features(versions: &ApiVersions) -> FinalizedFeatures {
    let told = versions.features();
    let v2 = TransactionVersion::V2;
    let lacks = |(api, range): &(ApiKey, VersionRange)| versions.negotiate(*api, *range).is_none();
    let is_v1_only = [
        (ApiKey::Produce, v2.produce()),
        (ApiKey::TxnOffsetCommit, v2.txn_offset_commit()),
        (ApiKey::EndTxn, v2.end_txn()),
    ]
    .iter()
    .any(lacks);
    FinalizedFeatures {
        transaction_version: if is_v1_only {
            told.transaction_version.min(1)
        } else {
            told.transaction_version
        },
        ..told
    }
}

/// The features after another handshake: the newest epoch counts (KIP-584), and within one epoch what all brokers can do.
pub(crate) fn merge_features(known: FinalizedFeatures, told: FinalizedFeatures) -> FinalizedFeatures {
    match told.epoch.cmp(&known.epoch) {
        std::cmp::Ordering::Greater => told,
        std::cmp::Ordering::Equal if told.transaction_version < known.transaction_version => told,
        std::cmp::Ordering::Equal | std::cmp::Ordering::Less => known,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn features(epoch: i64, transaction_version: i16) -> FinalizedFeatures {
        FinalizedFeatures {
            epoch,
            transaction_version,
        }
    }

    #[test]
    fn a_broker_without_a_request_of_v2_makes_it_v1() {
        let all = [
            (ApiKey::Produce, 13),
            (ApiKey::TxnOffsetCommit, 5),
            (ApiKey::EndTxn, 5),
        ];
        let offer = |lower: Option<(ApiKey, i16)>| {
            let ranges: BTreeMap<i16, VersionRange> = all
                .into_iter()
                .chain(lower)
                .map(|(api, max)| (api as i16, VersionRange { min: 0, max }))
                .collect();
            usable_features(&ApiVersions::new(ranges, features(4, 2)))
        };
        assert_eq!(offer(None), features(4, 2));
        for lower in [
            (ApiKey::Produce, 11),
            (ApiKey::TxnOffsetCommit, 4),
            (ApiKey::EndTxn, 4),
        ] {
            assert_eq!(offer(Some(lower)), features(4, 1), "{lower:?}");
        }
    }

    #[test]
    fn the_newest_features_count_and_within_one_epoch_the_lowest() {
        for (known, told, merged) in [
            ((-1, 0), (3, 2), (3, 2)),
            ((3, 2), (4, 0), (4, 0)),
            ((4, 0), (3, 2), (4, 0)),
            ((4, 2), (4, 1), (4, 1)),
            ((4, 1), (4, 2), (4, 1)),
            ((4, 1), (5, 2), (5, 2)),
        ] {
            let merge = |(a, b), (c, d)| merge_features(features(a, b), features(c, d));
            assert_eq!(
                merge(known, told),
                features(merged.0, merged.1),
                "{known:?} {told:?}"
            );
        }
    }

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
