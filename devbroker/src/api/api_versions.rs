//! ApiVersions (18): what this node speaks, and the finalized features (KIP-584).

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::messages::api_versions_response::{
    ApiVersion, FinalizedFeatureKey, SupportedFeatureKey,
};
use sealwax_protocol::messages::{ApiVersionsRequest, ApiVersionsResponse};
use sealwax_protocol::response::ResponseBody;

use super::{Call, Reply};
use crate::names::text;
use crate::settings::Release;
use crate::state::State;

const FEATURE: &str = "transaction.version";
/// The highest level that Kafka 4 knows.
const MAX_LEVEL: i16 = 2;
/// The first version that shows features whose lowest level is 0 (KAFKA-17011).
const SHOWS_LEVEL_0: i16 = 4;

pub(super) fn handle(state: &State, call: &Call, _request: &ApiVersionsRequest) -> Reply {
    let mut response = ApiVersionsResponse::default()
        .with_api_keys(versions(state, call))
        .with_finalized_features_epoch(state.features.epoch);
    let level = state.features.transaction_version;
    if level > 0 {
        let finalized = FinalizedFeatureKey::default()
            .with_name(text(FEATURE))
            .with_max_version_level(level)
            .with_min_version_level(level);
        response = response.with_finalized_features(vec![finalized]);
    }
    if state.is_at_least(Release::V4_4) && call.version >= SHOWS_LEVEL_0 {
        let supported = SupportedFeatureKey::default()
            .with_name(text(FEATURE))
            .with_max_version(MAX_LEVEL);
        response = response.with_supported_features(vec![supported]);
    }
    Reply::Answer(ResponseBody::ApiVersions(response))
}

/// What is answered to a version that this node does not speak, in version 0: its own versions (KIP-511).
pub(crate) fn unsupported(state: &State, call: &Call) -> ResponseBody {
    let response = ApiVersionsResponse::default()
        .with_error_code(ErrorCode::UNSUPPORTED_VERSION.0)
        .with_api_keys(versions(state, call));
    ResponseBody::ApiVersions(response)
}

fn versions(state: &State, call: &Call) -> Vec<ApiVersion> {
    let versions = state.nodes.versions(call.node);
    versions
        .map(|(api, range)| {
            ApiVersion::default()
                .with_api_key(api as i16)
                .with_min_version(range.min)
                .with_max_version(range.max)
        })
        .collect()
}
