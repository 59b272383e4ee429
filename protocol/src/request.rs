//! Requests: one enum over all APIs that this client speaks, their versions, and the frame of each (header v2, or v1 for ApiVersions v0).
//!
//! A client writes them; a development broker and a proxy read them.

use bytes::Bytes;
use kafka_protocol::messages::{
    AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, ApiKey, ApiVersionsRequest, CreateTopicsRequest,
    DescribeConfigsRequest, DescribeProducersRequest, DescribeTransactionsRequest, EndTxnRequest,
    FindCoordinatorRequest, InitProducerIdRequest, ListOffsetsRequest, ListTransactionsRequest,
    MetadataRequest, OffsetFetchRequest, TxnOffsetCommitRequest, WriteTxnMarkersRequest,
};

use crate::body::{DecodeBody, EncodeBody};
use crate::error::{DecodeError, EncodeError};
use crate::fetch::FetchRequest;
use crate::fields::{FieldReader, FieldWriter};
pub use crate::frame::EncodedFrame as EncodedRequest;
use crate::ids::CorrelationId;
use crate::produce::ProduceRequest;
use crate::version::VersionRange;

macro_rules! requests {
    ($($name:ident($body:ty) $min:literal..=$max:literal;)*) => {
        /// A request body of any API.
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub enum RequestBody {
            $(
                #[doc = concat!(stringify!($name), ", versions ", stringify!($min), " to ", stringify!($max), ".")]
                $name($body),
            )*
        }

        impl RequestBody {
            /// The API that is asked.
            #[must_use]
            pub const fn api_key(&self) -> ApiKey {
                match self {
                    $(Self::$name(_) => ApiKey::$name,)*
                }
            }

            /// The versions of the API that this client speaks.
            #[must_use]
            pub const fn versions(&self) -> VersionRange {
                match self {
                    $(Self::$name(_) => VersionRange { min: $min, max: $max },)*
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

        /// Every API that this client speaks, with its versions.
        pub const APIS: &[(ApiKey, VersionRange)] = &[$((ApiKey::$name, VersionRange { min: $min, max: $max }),)*];

        /// The versions of an API that this client speaks; `None` if it does not speak that API.
        #[must_use]
        pub const fn versions_of(api: ApiKey) -> Option<VersionRange> {
            match api {
                $(ApiKey::$name => Some(VersionRange { min: $min, max: $max }),)*
                _ => None,
            }
        }

        $(
            impl From<$body> for RequestBody {
                fn from(body: $body) -> Self {
                    Self::$name(body)
                }
            }
        )*
    };
}

requests! {
    Produce(ProduceRequest) 9..=13;
    Fetch(FetchRequest) 12..=18;
    ListOffsets(ListOffsetsRequest) 7..=10;
    Metadata(MetadataRequest) 12..=13;
    OffsetFetch(OffsetFetchRequest) 8..=9;
    FindCoordinator(FindCoordinatorRequest) 4..=6;
    ApiVersions(ApiVersionsRequest) 3..=4;
    CreateTopics(CreateTopicsRequest) 7..=7;
    InitProducerId(InitProducerIdRequest) 4..=5;
    AddPartitionsToTxn(AddPartitionsToTxnRequest) 3..=3;
    AddOffsetsToTxn(AddOffsetsToTxnRequest) 3..=4;
    EndTxn(EndTxnRequest) 3..=5;
    WriteTxnMarkers(WriteTxnMarkersRequest) 1..=1;
    TxnOffsetCommit(TxnOffsetCommitRequest) 3..=5;
    DescribeConfigs(DescribeConfigsRequest) 4..=4;
    DescribeProducers(DescribeProducersRequest) 0..=0;
    DescribeTransactions(DescribeTransactionsRequest) 0..=0;
    ListTransactions(ListTransactionsRequest) 0..=2;
}

/// The version of ApiVersions whose layout every broker and client knows (KIP-511). Only here is the request header v1.
pub(crate) const API_VERSIONS_FALLBACK: i16 = 0;

impl RequestBody {
    /// Writes the whole frame for a version. ApiVersions may also be written as version 0, for a broker that knows no other.
    ///
    /// # Errors
    /// If the version cannot carry the value, or a field is too long.
    pub fn encode(
        &self,
        version: i16,
        correlation_id: CorrelationId,
        client_id: &str,
    ) -> Result<EncodedRequest, EncodeError> {
        let api = self.name();
        let fallback = is_fallback(self.api_key(), version);
        if !fallback && !self.versions().contains(version) {
            return Err(EncodeError::Version {
                api,
                version,
                what: "a request of this client",
            });
        }
        let codec = self.codec();
        let mut writer = FieldWriter::with_capacity(16 + client_id.len() + codec.size_hint(version));
        writer.i16(self.api_key() as i16);
        writer.i16(version);
        writer.i32(correlation_id.0);
        writer.text_16("client id", client_id)?;
        if !fallback {
            writer.tag_count(0);
            codec.write(&mut writer, api, version)?;
        }
        writer.finish("request")
    }

    /// The highest version that this very value can be sent in: lower than [`RequestBody::versions`] if, say, a topic id is unknown.
    #[must_use]
    pub fn max_version(&self) -> i16 {
        let cap = match self {
            Self::Produce(request) => request.version_cap(),
            Self::Fetch(request) => request.version_cap(),
            _ => i16::MAX,
        };
        self.versions().max.min(cap)
    }

    /// Reads a whole request frame (without its length), as a broker does.
    ///
    /// Read [`RequestHeader::peek`] first if an unknown version is to be answered and not only refused.
    ///
    /// # Errors
    /// If the API or version is none of [`APIS`] (ApiVersions version 0 is read as well), or the bytes are not a valid request.
    pub fn decode(frame: Bytes) -> Result<(RequestHeader, Self), DecodeError> {
        let mut reader = FieldReader::new(frame);
        let header = RequestHeader::read(&mut reader)?;
        let version = header.version;
        let api = ApiKey::try_from(header.api_key).map_err(|()| DecodeError::Invalid {
            what: "API key",
            value: header.api_key.to_string(),
        })?;
        if is_fallback(api, version) {
            reader.end("ApiVersions request")?;
            return Ok((header, Self::ApiVersions(ApiVersionsRequest::default())));
        }
        check_spoken(api, version)?;
        reader.skip_tagged_fields("request header")?;
        let body = Self::read_body(api, reader.into_rest(), version)?;
        Ok((header, body))
    }
}

/// What every request begins with, in all versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHeader {
    /// The API's number, perhaps unknown.
    pub api_key: i16,
    /// The version that the request is written in, perhaps unknown.
    pub version: i16,
    /// The response carries it again.
    pub correlation_id: CorrelationId,
    /// The client's name for itself.
    pub client_id: Option<String>,
}

impl RequestHeader {
    /// Reads the header's fixed part from a frame of any API and version.
    ///
    /// # Errors
    /// If the frame ends early or the client id is not UTF-8.
    pub fn peek(frame: &Bytes) -> Result<Self, DecodeError> {
        Self::read(&mut FieldReader::new(frame.clone()))
    }

    fn read(reader: &mut FieldReader) -> Result<Self, DecodeError> {
        Ok(Self {
            api_key: reader.i16("API key")?,
            version: reader.i16("API version")?,
            correlation_id: CorrelationId(reader.i32("correlation id")?),
            client_id: reader.nullable_text_16("client id")?,
        })
    }
}

/// Refuses versions that are not spoken: older ones are not flexible, and their counts cannot be bounded (see [`crate::byte_buf`]).
pub(crate) fn check_spoken(api: ApiKey, version: i16) -> Result<(), DecodeError> {
    match versions_of(api) {
        Some(versions) if versions.contains(version) => Ok(()),
        _ => Err(unsupported(api, version)),
    }
}

pub(crate) fn is_fallback(api: ApiKey, version: i16) -> bool {
    matches!(api, ApiKey::ApiVersions) && version == API_VERSIONS_FALLBACK
}

pub(crate) fn unsupported(api: ApiKey, version: i16) -> DecodeError {
    let detail = match versions_of(api) {
        Some(VersionRange { min, max }) => {
            format!("{api:?} version {version}, only {min} to {max} are spoken")
        }
        None => format!("{api:?}, which is not spoken"),
    };
    DecodeError::Unsupported { what: "API", detail }
}
