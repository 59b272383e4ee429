//! Responses: one enum over all APIs that this client speaks, read from a frame by API and version (header v1, v0 for ApiVersions).

use bytes::Bytes;
use kafka_protocol::messages::{
    AddOffsetsToTxnResponse, AddPartitionsToTxnResponse, ApiKey, ApiVersionsResponse, CreateTopicsResponse,
    DescribeConfigsResponse, EndTxnResponse, FindCoordinatorResponse, InitProducerIdResponse,
    ListOffsetsResponse, MetadataResponse, TxnOffsetCommitResponse,
};

use crate::error::DecodeError;
use crate::fetch::FetchResponse;
use crate::ids::CorrelationId;
use crate::produce::ProduceResponse;

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
        }
    };
}

responses! {
    Produce(ProduceResponse);
    Fetch(FetchResponse);
    ListOffsets(ListOffsetsResponse);
    Metadata(MetadataResponse);
    FindCoordinator(FindCoordinatorResponse);
    ApiVersions(ApiVersionsResponse);
    CreateTopics(CreateTopicsResponse);
    InitProducerId(InitProducerIdResponse);
    AddPartitionsToTxn(AddPartitionsToTxnResponse);
    AddOffsetsToTxn(AddOffsetsToTxnResponse);
    EndTxn(EndTxnResponse);
    TxnOffsetCommit(TxnOffsetCommitResponse);
    DescribeConfigs(DescribeConfigsResponse);
}

/// Reads the correlation id that every response frame begins with.
///
/// # Errors
/// If the frame is shorter than that.
pub fn correlation_id(_frame: &Bytes) -> Result<CorrelationId, DecodeError> {
    todo!()
}

impl ResponseBody {
    /// Reads a whole response frame (without its length).
    ///
    /// # Errors
    /// If the bytes are not a valid response of that API and version, or bytes are left over.
    pub fn decode(_frame: Bytes, _api: ApiKey, _version: i16) -> Result<Self, DecodeError> {
        todo!()
    }
}
