//! The ApiVersions answer: the one message whose layout must be readable before any version was agreed on (KIP-511).

use kafka_protocol::messages::api_versions_response::ApiVersion;
use kafka_protocol::messages::{ApiKey, ApiVersionsResponse};

use crate::body::DecodeBody;
use crate::error::DecodeError;
use crate::error_code::ErrorCode;
use crate::fields::FieldReader;
use crate::request::{API_VERSIONS_FALLBACK, check_spoken};

/// Reads an ApiVersions answer from behind the correlation id. Error 35 always comes in version 0 (KIP-511).
pub(crate) fn read_api_versions(
    reader: FieldReader,
    version: i16,
) -> Result<ApiVersionsResponse, DecodeError> {
    let refused = reader.peek_i16("error code")? == ErrorCode::UNSUPPORTED_VERSION.0;
    if refused || version == API_VERSIONS_FALLBACK {
        return read_fallback(reader);
    }
    check_spoken(ApiKey::ApiVersions, version)?;
    ApiVersionsResponse::read(reader.into_rest(), "ApiVersions", version)
}

/// Version 0 is not flexible: an error code and a plain array of three numbers per API.
fn read_fallback(mut reader: FieldReader) -> Result<ApiVersionsResponse, DecodeError> {
    let error_code = reader.i16("error code")?;
    let api_keys = reader.plain_array("API versions", 6, |reader| {
        Ok(ApiVersion::default()
            .with_api_key(reader.i16("API key")?)
            .with_min_version(reader.i16("min version")?)
            .with_max_version(reader.i16("max version")?))
    })?;
    reader.end("ApiVersions response")?;
    Ok(ApiVersionsResponse::default()
        .with_error_code(error_code)
        .with_api_keys(api_keys))
}
