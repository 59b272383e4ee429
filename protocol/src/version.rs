//! Which version of each API both sides speak, and the features that the cluster has finalized (KIP-584).

use std::collections::BTreeMap;

use kafka_protocol::messages::{ApiKey, ApiVersionsResponse};

/// Lowest and highest version of an API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VersionRange {
    /// Lowest version.
    pub min: i16,
    /// Highest version.
    pub max: i16,
}

impl VersionRange {
    /// Whether a version lies in the range.
    #[must_use]
    pub const fn contains(self, version: i16) -> bool {
        self.min <= version && version <= self.max
    }
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

    /// Takes over what a broker's answer says, also that of one with error 35 (KIP-511). Of an API that is named twice, the
    /// first range counts. Features count only if the answer knows their epoch (KIP-584).
    #[must_use]
    pub fn from_response(response: &ApiVersionsResponse) -> Self {
        let mut ranges = BTreeMap::new();
        for api in &response.api_keys {
            ranges.entry(api.api_key).or_insert(VersionRange {
                min: api.min_version,
                max: api.max_version,
            });
        }
        Self {
            ranges,
            features: FinalizedFeatures::from_response(response),
        }
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FinalizedFeatures {
    /// Epoch of this knowledge: the larger one is the newer one. −1 if unknown.
    pub epoch: i64,
    /// Level of `transaction.version`: 2 and above means TV2 (KIP-890 part 2).
    pub transaction_version: i16,
}

impl Default for FinalizedFeatures {
    /// Nothing is known.
    fn default() -> Self {
        Self {
            epoch: -1,
            transaction_version: 0,
        }
    }
}

impl FinalizedFeatures {
    fn from_response(response: &ApiVersionsResponse) -> Self {
        if response.finalized_features_epoch < 0 {
            return Self::default();
        }
        let level = response
            .finalized_features
            .iter()
            .find(|feature| feature.name.as_str() == "transaction.version")
            .map_or(0, |feature| feature.max_version_level);
        Self {
            epoch: response.finalized_features_epoch,
            transaction_version: level,
        }
    }
}
