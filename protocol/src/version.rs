//! Which version of each API both sides speak, and the features that the cluster has finalized (KIP-584).

use std::collections::BTreeMap;

use kafka_protocol::messages::ApiKey;

/// Lowest and highest version of an API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VersionRange {
    /// Lowest version.
    pub min: i16,
    /// Highest version.
    pub max: i16,
}

/// What a broker said in its ApiVersions answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ApiVersions {
    ranges: BTreeMap<i16, VersionRange>,
    features: FinalizedFeatures,
}

impl ApiVersions {
    /// Puts together what a broker offers.
    #[must_use]
    pub fn new(ranges: BTreeMap<i16, VersionRange>, features: FinalizedFeatures) -> Self {
        Self { ranges, features }
    }

    /// The broker's range for an API; `None` if it does not offer it.
    #[must_use]
    pub fn range(&self, api: ApiKey) -> Option<VersionRange> {
        self.ranges.get(&(api as i16)).copied()
    }

    /// The cluster's finalized features as this broker knew them.
    #[must_use]
    pub fn features(&self) -> FinalizedFeatures {
        self.features
    }

    /// The highest version that the broker and `ours` have in common.
    #[must_use]
    pub fn negotiate(&self, api: ApiKey, ours: VersionRange) -> Option<i16> {
        let theirs = self.range(api)?;
        let max = theirs.max.min(ours.max);
        (max >= theirs.min && max >= ours.min).then_some(max)
    }
}

/// The finalized features that matter to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FinalizedFeatures {
    /// Epoch of this knowledge: the larger one is the newer one. −1 if unknown.
    pub epoch: i64,
    /// Level of `transaction.version`: 2 and above means TV2 (KIP-890 part 2).
    pub transaction_version: i16,
}
