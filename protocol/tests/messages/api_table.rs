//! Every API of the table in every version, against the oracle; and the special ways of ApiVersions.

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::api_versions_response::ApiVersion;
use kafka_protocol::messages::{ApiKey, ApiVersionsRequest, ApiVersionsResponse, MetadataResponse};
use kafka_protocol::protocol::{Decodable, Encodable};
use sealwax_protocol::error::{DecodeError, EncodeError};
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::CorrelationId;
use sealwax_protocol::request::{APIS, RequestBody, RequestHeader, versions_of};
use sealwax_protocol::response::{ResponseBody, correlation_id};
use sealwax_protocol::version::{ApiVersions, VersionRange};

use crate::{oracle, samples};

/// Calls `$check` with the body of a cold API, of whatever type it is.
macro_rules! with_cold_body {
    ($enum:ident, $value:expr, $check:expr, $($arg:expr),*) => {
        match $value {
            $enum::ListOffsets(body) => $check(body, $($arg),*),
            $enum::Metadata(body) => $check(body, $($arg),*),
            $enum::FindCoordinator(body) => $check(body, $($arg),*),
            $enum::ApiVersions(body) => $check(body, $($arg),*),
            $enum::CreateTopics(body) => $check(body, $($arg),*),
            $enum::InitProducerId(body) => $check(body, $($arg),*),
            $enum::AddPartitionsToTxn(body) => $check(body, $($arg),*),
            $enum::AddOffsetsToTxn(body) => $check(body, $($arg),*),
            $enum::EndTxn(body) => $check(body, $($arg),*),
            $enum::TxnOffsetCommit(body) => $check(body, $($arg),*),
            $enum::DescribeConfigs(body) => $check(body, $($arg),*),
            $enum::OffsetFetch(body) => $check(body, $($arg),*),
            $enum::WriteTxnMarkers(body) => $check(body, $($arg),*),
            $enum::DescribeProducers(body) => $check(body, $($arg),*),
            $enum::DescribeTransactions(body) => $check(body, $($arg),*),
            $enum::ListTransactions(body) => $check(body, $($arg),*),
            // Their bodies are our own types and compared in modules of their own.
            $enum::Produce(_) | $enum::Fetch(_) => {}
            other => panic!("{:?} is not compared with the oracle: add it", other.api_key()),
        }
    };
}

fn oracle_reads_the_request<T: Decodable + PartialEq + std::fmt::Debug>(
    body: &T,
    frame: &Bytes,
    api: ApiKey,
    version: i16,
) {
    let (header, read) = oracle::read_request::<T>(frame.clone(), api, version);
    assert_eq!(header.request_api_key, api as i16);
    assert_eq!(header.request_api_version, version);
    assert_eq!(header.correlation_id, 77);
    assert_eq!(header.client_id.as_deref(), Some("tester"));
    assert_eq!(&read, body);
}

#[test]
fn the_oracle_reads_every_request() {
    for (api, version) in samples::spoken() {
        let body = samples::request(api, version);
        assert_eq!(body.api_key(), api);
        let frame = body
            .encode(version, CorrelationId(77), "tester")
            .unwrap()
            .concat();
        with_cold_body!(RequestBody, &body, oracle_reads_the_request, &frame, api, version);
        let (header, again) = RequestBody::decode(frame.slice(4..)).unwrap();
        assert_eq!(header, RequestHeader::peek(&frame.slice(4..)).unwrap());
        assert_eq!((header.api_key, header.version), (api as i16, version));
        assert_eq!(
            (header.correlation_id, header.client_id.as_deref()),
            (CorrelationId(77), Some("tester"))
        );
        assert_eq!(again, body, "{api:?} {version}");
    }
}

fn response_has_the_oracles_bytes<T: Encodable>(body: &T, frame: &Bytes, api: ApiKey, version: i16) {
    assert_eq!(
        frame,
        &oracle::response_frame(api, version, 77, body),
        "{api:?} {version}"
    );
}

#[test]
fn every_response_of_the_oracle_is_read() {
    for (api, version) in samples::spoken() {
        let body = samples::response(api, version);
        let frame = body.encode(version, CorrelationId(77)).unwrap().concat();
        with_cold_body!(
            ResponseBody,
            &body,
            response_has_the_oracles_bytes,
            &frame,
            api,
            version
        );
        let frame = frame.slice(4..);
        assert_eq!(correlation_id(&frame), Ok(CorrelationId(77)));
        let read = ResponseBody::decode(frame, api, version).unwrap();
        assert_eq!(read, body, "{api:?} {version}");
        assert_eq!(read.api_key(), api);
    }
}

#[test]
fn every_version_of_the_table_is_flexible() {
    for (api, version) in samples::spoken() {
        assert_eq!(api.request_header_version(version), 2, "{api:?} {version}");
        let response = if api == ApiKey::ApiVersions { 0 } else { 1 };
        assert_eq!(
            api.response_header_version(version),
            response,
            "{api:?} {version}"
        );
    }
}

#[test]
fn versions_out_of_the_table_are_refused_in_both_directions() {
    for (api, versions) in APIS {
        assert_eq!(versions_of(*api), Some(*versions));
        for version in [versions.min - 1, versions.max + 1] {
            let request = samples::request(*api, versions.max).encode(version, CorrelationId(1), "tester");
            assert!(
                matches!(request, Err(EncodeError::Version { .. })),
                "{api:?} {version}"
            );
            let response = samples::response(*api, versions.max);
            assert!(matches!(
                response.encode(version, CorrelationId(1)),
                Err(EncodeError::Version { .. })
            ));
            let frame = response
                .encode(versions.max, CorrelationId(1))
                .unwrap()
                .concat()
                .slice(4..);
            let read = ResponseBody::decode(frame, *api, version);
            assert!(
                matches!(read, Err(DecodeError::Unsupported { .. })),
                "{api:?} {version}"
            );
            let request = samples::request(*api, versions.max);
            let frame = request
                .encode(versions.max, CorrelationId(1), "tester")
                .unwrap()
                .concat();
            let mut frame = BytesMut::from(&frame[4..]);
            frame[2..4].copy_from_slice(&version.to_be_bytes());
            let read = RequestBody::decode(frame.freeze());
            assert!(
                matches!(read, Err(DecodeError::Unsupported { .. })),
                "{api:?} {version}"
            );
        }
    }
    let unknown = ResponseBody::decode(Bytes::from_static(&[0; 40]), ApiKey::Vote, 0);
    assert!(matches!(unknown, Err(DecodeError::Unsupported { .. })));
    assert_eq!(versions_of(ApiKey::Vote), None);
}

#[test]
fn left_over_bytes_are_refused() {
    for (api, version) in samples::spoken() {
        let frame = samples::response(api, version)
            .encode(version, CorrelationId(1))
            .unwrap()
            .concat();
        let mut longer = BytesMut::from(&frame[4..]);
        longer.extend_from_slice(&[0]);
        let read = ResponseBody::decode(longer.freeze(), api, version);
        assert!(
            matches!(read, Err(DecodeError::TrailingBytes { extra: 1, .. })),
            "{api:?} {version}: {read:?}"
        );
    }
}

#[test]
fn the_oldest_layout_of_api_versions_is_written_and_read() {
    let body = RequestBody::from(ApiVersionsRequest::default());
    let frame = body.encode(0, CorrelationId(77), "tester").unwrap().concat();
    let (header, _) = oracle::read_request::<ApiVersionsRequest>(frame.clone(), ApiKey::ApiVersions, 0);
    assert_eq!((header.correlation_id, header.request_api_version), (77, 0));
    assert_eq!(RequestBody::decode(frame.slice(4..)).unwrap().1, body);

    let response = ApiVersionsResponse::default().with_api_keys(samples::api_versions_response().api_keys);
    let frame = oracle::response_frame(ApiKey::ApiVersions, 0, 77, &response);
    let body = ResponseBody::ApiVersions(response);
    assert_eq!(
        ResponseBody::decode(frame.slice(4..), ApiKey::ApiVersions, 0),
        Ok(body.clone())
    );
    assert_eq!(body.encode(0, CorrelationId(77)).unwrap().concat(), frame);
}

#[test]
fn a_refusal_of_the_version_is_read_in_version_0() {
    let range = ApiVersion::default()
        .with_api_key(18)
        .with_min_version(0)
        .with_max_version(3);
    let refusal = ApiVersionsResponse::default()
        .with_error_code(ErrorCode::UNSUPPORTED_VERSION.0)
        .with_api_keys(vec![range]);
    let frame = oracle::response_frame(ApiKey::ApiVersions, 0, 77, &refusal).slice(4..);
    let read = ResponseBody::decode(frame, ApiKey::ApiVersions, 4).unwrap();
    assert_eq!(read, ResponseBody::ApiVersions(refusal.clone()));
    let offered = ApiVersions::from_response(&refusal);
    let ours = versions_of(ApiKey::ApiVersions).unwrap();
    assert_eq!(offered.negotiate(ApiKey::ApiVersions, ours), Some(3));
    assert_eq!(offered.features().epoch, -1);
}

#[test]
fn a_count_of_the_oldest_layout_is_bounded_too() {
    for count in [-1, 2, i32::MAX] {
        let mut frame = BytesMut::from(&[0, 0, 0, 1, 0, 35][..]);
        frame.extend_from_slice(&i32::to_be_bytes(count));
        frame.extend_from_slice(&[0, 18, 0, 0, 0, 3]);
        assert!(
            ResponseBody::decode(frame.freeze(), ApiKey::ApiVersions, 4).is_err(),
            "count {count}"
        );
    }
}

#[test]
fn ranges_and_features_are_taken_over() {
    let mut response = samples::api_versions_response();
    response.api_keys.push(
        ApiVersion::default()
            .with_api_key(0)
            .with_min_version(99)
            .with_max_version(99),
    );
    let offered = ApiVersions::from_response(&response);
    assert_eq!(
        offered.range(ApiKey::Produce),
        Some(VersionRange { min: 0, max: 13 }),
        "the first one counts"
    );
    assert_eq!(offered.range(ApiKey::Fetch), None);
    assert_eq!(
        (offered.features().epoch, offered.features().transaction_version),
        (42, 2)
    );
    assert_eq!(
        offered.negotiate(ApiKey::Produce, VersionRange { min: 9, max: 12 }),
        Some(12)
    );
    assert_eq!(
        offered.negotiate(ApiKey::Produce, VersionRange { min: 14, max: 15 }),
        None
    );

    response.finalized_features_epoch = -1;
    assert_eq!(
        ApiVersions::from_response(&response).features(),
        ApiVersions::default().features()
    );
}

#[test]
fn a_header_is_read_even_if_api_and_version_are_unknown() {
    let frame = Bytes::from_static(&[0x7F, 0, 0, 99, 0, 0, 0, 5, 0xFF, 0xFF, 1, 2, 3]);
    let header = RequestHeader::peek(&frame).unwrap();
    assert_eq!(
        (header.api_key, header.version, header.client_id),
        (0x7F00, 99, None)
    );
    assert!(matches!(
        RequestBody::decode(frame),
        Err(DecodeError::Invalid { what: "API key", .. })
    ));
}

#[test]
fn high_and_many_tags_of_small_fields_pass() {
    let mut response = MetadataResponse::default();
    for tag in [3, 4, 5, 100, 127] {
        response = response.with_unknown_tagged_field(tag, Bytes::new());
    }
    let frame = oracle::response_frame(ApiKey::Metadata, 12, 1, &response).slice(4..);
    assert_eq!(
        ResponseBody::decode(frame, ApiKey::Metadata, 12),
        Ok(ResponseBody::Metadata(response))
    );
}

#[test]
fn a_client_id_above_the_limit_is_refused() {
    let body = RequestBody::from(ApiVersionsRequest::default());
    assert_eq!(
        body.encode(3, CorrelationId(1), &"x".repeat(40_000)),
        Err(EncodeError::TooLarge {
            what: "client id",
            size: 40_000,
            max: 32_767
        })
    );
}
