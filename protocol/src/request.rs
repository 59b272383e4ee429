//! Requests: one enum over all APIs that this client speaks, their versions, and the frame of each (header v2, or v1 for ApiVersions v0).

use bytes::Bytes;
use kafka_protocol::messages::{
    AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, ApiKey, ApiVersionsRequest, CreateTopicsRequest,
    DescribeConfigsRequest, EndTxnRequest, FindCoordinatorRequest, InitProducerIdRequest, ListOffsetsRequest,
    MetadataRequest, TxnOffsetCommitRequest,
};

use crate::error::EncodeError;
use crate::fetch::FetchRequest;
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
    FindCoordinator(FindCoordinatorRequest) 4..=6;
    ApiVersions(ApiVersionsRequest) 3..=4;
    CreateTopics(CreateTopicsRequest) 7..=7;
    InitProducerId(InitProducerIdRequest) 4..=5;
    AddPartitionsToTxn(AddPartitionsToTxnRequest) 3..=3;
    AddOffsetsToTxn(AddOffsetsToTxnRequest) 3..=4;
    EndTxn(EndTxnRequest) 3..=5;
    TxnOffsetCommit(TxnOffsetCommitRequest) 3..=5;
    DescribeConfigs(DescribeConfigsRequest) 4..=4;
}

/// A frame ready to be written: its parts in order. Record batches stay the buffers that they were built in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedRequest {
    /// The parts, the first one beginning with the frame's length.
    pub parts: Vec<Bytes>,
    /// Bytes of all parts together.
    pub len: usize,
}

impl RequestBody {
    /// Writes the whole frame for a version.
    ///
    /// # Errors
    /// If the version cannot carry the value, or a field is too long.
    pub fn encode(
        &self,
        _version: i16,
        _correlation_id: CorrelationId,
        _client_id: &str,
    ) -> Result<EncodedRequest, EncodeError> {
        todo!()
    }

    /// The highest version that this very value can be sent in: lower than [`RequestBody::versions`] if, say, a topic id is unknown.
    #[must_use]
    pub fn max_version(&self) -> i16 {
        todo!()
    }
}
