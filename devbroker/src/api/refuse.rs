//! An answer that says UNSUPPORTED_VERSION and nothing else. A real broker closes the connection instead; the model has none to close.

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::messages::add_partitions_to_txn_response::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnTopicResult,
};
use sealwax_protocol::messages::{
    AddOffsetsToTxnResponse, AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, EndTxnResponse,
    FindCoordinatorRequest, FindCoordinatorResponse, InitProducerIdResponse, ListTransactionsResponse,
    MetadataResponse, OffsetFetchRequest, OffsetFetchResponse, WriteTxnMarkersRequest,
    WriteTxnMarkersResponse, find_coordinator_response::Coordinator,
    offset_fetch_response::OffsetFetchResponseGroup,
};
use sealwax_protocol::produce::{
    ProducePartitionResponse, ProduceRequest, ProduceResponse, ProduceTopicResponse,
};
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;

use super::{Reply, fetch, txn_offset_commit, write_txn_markers};

const CODE: ErrorCode = ErrorCode::UNSUPPORTED_VERSION;

/// What is said to a version that the node does not speak. Silent where an answer has no room for an error.
pub(crate) fn refuse(body: &RequestBody) -> Reply {
    let code = CODE.0;
    Reply::Answer(match body {
        RequestBody::Produce(request) => ResponseBody::Produce(produce(request)),
        RequestBody::Fetch(_) => ResponseBody::Fetch(fetch::failed(CODE)),
        RequestBody::Metadata(_) => ResponseBody::Metadata(MetadataResponse::default().with_error_code(code)),
        RequestBody::FindCoordinator(request) => ResponseBody::FindCoordinator(find_coordinator(request)),
        RequestBody::InitProducerId(_) => {
            ResponseBody::InitProducerId(InitProducerIdResponse::default().with_error_code(code))
        }
        RequestBody::AddPartitionsToTxn(request) => ResponseBody::AddPartitionsToTxn(add_partitions(request)),
        RequestBody::AddOffsetsToTxn(_) => {
            ResponseBody::AddOffsetsToTxn(AddOffsetsToTxnResponse::default().with_error_code(code))
        }
        RequestBody::EndTxn(_) => ResponseBody::EndTxn(EndTxnResponse::default().with_error_code(code)),
        RequestBody::TxnOffsetCommit(request) => {
            ResponseBody::TxnOffsetCommit(txn_offset_commit::answer(request, |_| CODE))
        }
        RequestBody::WriteTxnMarkers(request) => ResponseBody::WriteTxnMarkers(write_markers(request)),
        RequestBody::OffsetFetch(request) => ResponseBody::OffsetFetch(offset_fetch(request)),
        RequestBody::ListTransactions(_) => {
            ResponseBody::ListTransactions(ListTransactionsResponse::default().with_error_code(code))
        }
        _ => return Reply::Silent,
    })
}

fn produce(request: &ProduceRequest) -> ProduceResponse {
    let topics = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|part| ProducePartitionResponse {
            index: part.index,
            error_code: CODE,
            base_offset: -1,
            log_append_time_ms: -1,
            log_start_offset: -1,
            record_errors: Vec::new(),
            error_message: None,
            current_leader: None,
        });
        ProduceTopicResponse {
            name: topic.name.clone(),
            id: topic.id,
            partitions: partitions.collect(),
        }
    });
    ProduceResponse {
        topics: topics.collect(),
        throttle_time_ms: 0,
        node_endpoints: Vec::new(),
    }
}

fn find_coordinator(request: &FindCoordinatorRequest) -> FindCoordinatorResponse {
    let keys = request.coordinator_keys.iter();
    let coordinators = keys.map(|key| {
        Coordinator::default()
            .with_key(key.clone())
            .with_error_code(CODE.0)
    });
    FindCoordinatorResponse::default().with_coordinators(coordinators.collect())
}

fn add_partitions(request: &AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse {
    let topics = request.v3_and_below_topics.iter().map(|topic| {
        let results = topic.partitions.iter().map(|index| {
            AddPartitionsToTxnPartitionResult::default()
                .with_partition_index(*index)
                .with_partition_error_code(CODE.0)
        });
        AddPartitionsToTxnTopicResult::default()
            .with_name(topic.name.clone())
            .with_results_by_partition(results.collect())
    });
    AddPartitionsToTxnResponse::default().with_results_by_topic_v3_and_below(topics.collect())
}

fn write_markers(request: &WriteTxnMarkersRequest) -> WriteTxnMarkersResponse {
    let markers = request.markers.iter();
    let markers = markers.map(|asked| write_txn_markers::results(asked, |_| CODE));
    WriteTxnMarkersResponse::default().with_markers(markers.collect())
}

fn offset_fetch(request: &OffsetFetchRequest) -> OffsetFetchResponse {
    let groups = request.groups.iter().map(|asked| {
        OffsetFetchResponseGroup::default()
            .with_group_id(asked.group_id.clone())
            .with_error_code(CODE.0)
    });
    OffsetFetchResponse::default().with_groups(groups.collect())
}
