//! WriteTxnMarkers (27), as an operator's client sends it to end a hanging transaction (KIP-664). The model's own coordinator needs no request.

use std::sync::Arc;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{ProducerEpoch, ProducerId, ProducerIdAndEpoch, TopicPartition};
use sealwax_protocol::messages::write_txn_markers_request::WritableTxnMarker;
use sealwax_protocol::messages::write_txn_markers_response::{
    WritableTxnMarkerPartitionResult, WritableTxnMarkerResult, WritableTxnMarkerTopicResult,
};
use sealwax_protocol::messages::{WriteTxnMarkersRequest, WriteTxnMarkersResponse};
use sealwax_protocol::record::ControlType;
use sealwax_protocol::response::ResponseBody;

use super::{Call, Reply};
use crate::log::{Marker, MarkerRule};
use crate::names::{milliseconds, shared};
use crate::state::State;

pub(super) fn handle(state: &mut State, call: &Call, request: &WriteTxnMarkersRequest) -> Reply {
    let markers = request.markers.iter().map(|asked| {
        let marker = marker(call, asked);
        results(asked, |partition| write(state, call, partition, &marker))
    });
    let response = WriteTxnMarkersResponse::default().with_markers(markers.collect());
    Reply::Answer(ResponseBody::WriteTxnMarkers(response))
}

fn marker(call: &Call, asked: &WritableTxnMarker) -> Marker {
    Marker {
        control: if asked.transaction_result {
            ControlType::Commit
        } else {
            ControlType::Abort
        },
        producer: ProducerIdAndEpoch {
            id: ProducerId(asked.producer_id.0),
            epoch: ProducerEpoch(asked.producer_epoch),
        },
        coordinator_epoch: asked.coordinator_epoch,
        timestamp: milliseconds(call.now),
        rule: MarkerRule::SameEpoch,
    }
}

fn write(state: &mut State, call: &Call, partition: &TopicPartition, marker: &Marker) -> ErrorCode {
    let is_known = state.topics.partition(partition).is_some() || state.groups.home(partition).is_some();
    if !is_known {
        return ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    }
    if state.leader_of(partition) != Some(call.node) {
        return ErrorCode::NOT_LEADER_OR_FOLLOWER;
    }
    state.mark(partition, marker).err().unwrap_or(ErrorCode::NONE)
}

/// A result for each partition of a marker.
pub(super) fn results(
    asked: &WritableTxnMarker,
    mut code: impl FnMut(&TopicPartition) -> ErrorCode,
) -> WritableTxnMarkerResult {
    let topics = asked.topics.iter().map(|topic| {
        let name = shared(&topic.name.0);
        let partitions = topic.partition_indexes.iter().map(|index| {
            let partition = TopicPartition::new(Arc::clone(&name), *index);
            WritableTxnMarkerPartitionResult::default()
                .with_partition_index(*index)
                .with_error_code(code(&partition).0)
        });
        WritableTxnMarkerTopicResult::default()
            .with_name(topic.name.clone())
            .with_partitions(partitions.collect())
    });
    WritableTxnMarkerResult::default()
        .with_producer_id(asked.producer_id)
        .with_topics(topics.collect())
}
