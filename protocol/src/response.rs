//! Responses: one enum over all APIs that this client speaks, read from a frame by API and version (header v1, v0 for ApiVersions).
//!
//! A client reads them; a development broker and a proxy write them.

use bytes::Bytes;
use kafka_protocol::messages::{
    AddOffsetsToTxnResponse, AddPartitionsToTxnResponse, ApiKey, ApiVersionsResponse, CreateTopicsResponse,
    DescribeConfigsResponse, DescribeProducersResponse, DescribeTransactionsResponse, EndTxnResponse,
    FindCoordinatorResponse, InitProducerIdResponse, ListOffsetsResponse, ListTransactionsResponse,
    MetadataResponse, OffsetFetchResponse, TxnOffsetCommitResponse, WriteTxnMarkersResponse,
};

use crate::api_versions::read_api_versions;
use crate::body::{DecodeBody, EncodeBody};
use crate::error::{DecodeError, EncodeError};
use crate::fetch::FetchResponse;
use crate::fields::{FieldReader, FieldWriter};
use crate::frame::EncodedFrame;
use crate::ids::CorrelationId;
use crate::produce::ProduceResponse;
use crate::request::{check_spoken, is_fallback, unsupported, versions_of};

macro_rules! responses {
    ($($name:ident($body:ty);)*) => {
        /// A response body of any API.
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub enum ResponseBody {
            $(
                #[doc = concat!("The answer to ", stringify!($name), ".")]
                $name($body),
            )*
        }

        impl ResponseBody {
            /// The API that answered.
            #[must_use]
            pub const fn api_key(&self) -> ApiKey {
                match self {
                    $(Self::$name(_) => ApiKey::$name,)*
                }
            }

            fn name(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => stringify!($name),)*
                }
            }

            fn codec(&self) -> &dyn EncodeBody {
                match self {
                    $(Self::$name(body) => body,)*
                }
            }

            fn read_body(api: ApiKey, bytes: Bytes, version: i16) -> Result<Self, DecodeError> {
                match api {
                    $(ApiKey::$name => <$body>::read(bytes, stringify!($name), version).map(Self::$name),)*
                    _ => Err(unsupported(api, version)),
                }
            }
        }
    };
}

responses! {
    Produce(ProduceResponse);
    Fetch(FetchResponse);
    ListOffsets(ListOffsetsResponse);
    Metadata(MetadataResponse);
    OffsetFetch(OffsetFetchResponse);
    FindCoordinator(FindCoordinatorResponse);
    ApiVersions(ApiVersionsResponse);
    CreateTopics(CreateTopicsResponse);
    InitProducerId(InitProducerIdResponse);
    AddPartitionsToTxn(AddPartitionsToTxnResponse);
    AddOffsetsToTxn(AddOffsetsToTxnResponse);
    EndTxn(EndTxnResponse);
    WriteTxnMarkers(WriteTxnMarkersResponse);
    TxnOffsetCommit(TxnOffsetCommitResponse);
    DescribeConfigs(DescribeConfigsResponse);
    DescribeProducers(DescribeProducersResponse);
    DescribeTransactions(DescribeTransactionsResponse);
    ListTransactions(ListTransactionsResponse);
}

/// Reads the correlation id that every response frame begins with.
///
/// # Errors
/// If the frame is shorter than that.
pub fn correlation_id(frame: &Bytes) -> Result<CorrelationId, DecodeError> {
    FieldReader::new(frame.clone())
        .i32("correlation id")
        .map(CorrelationId)
}

impl ResponseBody {
    /// Reads a whole response frame (without its length). `version` is the one that the request was written in.
    ///
    /// An ApiVersions answer with error 35 is read as version 0, whatever was asked (KIP-511); its version ranges then tell
    /// which version to ask in.
    ///
    /// # Errors
    /// If the bytes are not a valid response of that API and version, or bytes are left over.
    pub fn decode(frame: Bytes, api: ApiKey, version: i16) -> Result<Self, DecodeError> {
        let mut reader = FieldReader::new(frame);
        reader.i32("correlation id")?;
        if matches!(api, ApiKey::ApiVersions) {
            return read_api_versions(reader, version).map(Self::ApiVersions);
        }
        check_spoken(api, version)?;
        reader.skip_tagged_fields("response header")?;
        Self::read_body(api, reader.into_rest(), version)
    }

    /// Writes the whole frame for a version, as a broker does. ApiVersions may also be written as version 0 (KIP-511).
    ///
    /// # Errors
    /// If the version cannot carry the value, or a field is too long.
    pub fn encode(&self, version: i16, correlation_id: CorrelationId) -> Result<EncodedFrame, EncodeError> {
        let (key, api) = (self.api_key(), self.name());
        let spoken = versions_of(key).is_some_and(|versions| versions.contains(version));
        if !spoken && !is_fallback(key, version) {
            return Err(EncodeError::Version {
                api,
                version,
                what: "a response of this client's APIs",
            });
        }
        let codec = self.codec();
        let mut writer = FieldWriter::with_capacity(8 + codec.size_hint(version));
        writer.i32(correlation_id.0);
        if !matches!(key, ApiKey::ApiVersions) {
            writer.tag_count(0);
        }
        codec.write(&mut writer, api, version)?;
        writer.finish("response")
    }
}
