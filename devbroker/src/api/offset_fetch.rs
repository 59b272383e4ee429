//! OffsetFetch (9), versions 8 and 9: committed offsets of groups; if only stable ones are wanted, not those that an open transaction may change.

use std::collections::BTreeMap;
use std::sync::Arc;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::TopicPartition;
use sealwax_protocol::messages::offset_fetch_request::OffsetFetchRequestGroup;
use sealwax_protocol::messages::offset_fetch_response::{
    OffsetFetchResponseGroup, OffsetFetchResponsePartitions, OffsetFetchResponseTopics,
};
use sealwax_protocol::messages::{OffsetFetchRequest, OffsetFetchResponse};
use sealwax_protocol::response::ResponseBody;

use super::{Call, Reply};
use crate::group::Group;
use crate::names::{shared, text, topic_name};
use crate::state::State;

/// The wire's "no offset" and "epoch unknown".
const NONE: i32 = -1;

pub(super) fn handle(state: &State, call: &Call, request: &OffsetFetchRequest) -> Reply {
    let groups = request.groups.iter();
    let groups = groups.map(|asked| match check(state, call, &asked.group_id.0) {
        Ok(()) => offsets(state, asked, request.require_stable),
        Err(code) => OffsetFetchResponseGroup::default()
            .with_group_id(asked.group_id.clone())
            .with_error_code(code.0),
    });
    let response = OffsetFetchResponse::default().with_groups(groups.collect());
    Reply::Answer(ResponseBody::OffsetFetch(response))
}

fn check(state: &State, call: &Call, group: &str) -> Result<(), ErrorCode> {
    let partition = state.groups.partition_of(group);
    let home = state.groups.home(&partition);
    home.ok_or(ErrorCode::COORDINATOR_NOT_AVAILABLE)?
        .coordinator
        .check(call.now, call.node)
}

fn offsets(state: &State, asked: &OffsetFetchRequestGroup, stable: bool) -> OffsetFetchResponseGroup {
    let group = state.groups.groups.get(asked.group_id.0.as_str());
    let mut wanted: BTreeMap<Arc<str>, Vec<i32>> = BTreeMap::new();
    match &asked.topics {
        Some(topics) => {
            for topic in topics {
                let indexes = wanted.entry(shared(&topic.name.0)).or_default();
                indexes.extend(&topic.partition_indexes);
            }
        }
        None => {
            for partition in group.into_iter().flat_map(Group::partitions) {
                let indexes = wanted.entry(Arc::clone(&partition.topic)).or_default();
                indexes.push(partition.partition);
            }
        }
    }
    let topics = wanted.into_iter().map(|(name, indexes)| {
        let partitions = indexes.into_iter().map(|index| {
            let partition = TopicPartition::new(Arc::clone(&name), index);
            offset(group, &partition, stable)
        });
        OffsetFetchResponseTopics::default()
            .with_name(topic_name(&name))
            .with_partitions(partitions.collect())
    });
    OffsetFetchResponseGroup::default()
        .with_group_id(asked.group_id.clone())
        .with_topics(topics.collect())
}

fn offset(group: Option<&Group>, partition: &TopicPartition, stable: bool) -> OffsetFetchResponsePartitions {
    let answer = OffsetFetchResponsePartitions::default()
        .with_partition_index(partition.partition)
        .with_committed_offset(i64::from(NONE))
        .with_committed_leader_epoch(NONE)
        .with_metadata(Some(text("")));
    if stable && group.is_some_and(|group| group.is_pending(partition)) {
        return answer.with_error_code(ErrorCode::UNSTABLE_OFFSET_COMMIT.0);
    }
    match group.and_then(|group| group.committed(partition)) {
        Some(found) => answer
            .with_committed_offset(found.offset)
            .with_committed_leader_epoch(found.leader_epoch)
            .with_metadata(Some(text(found.metadata.as_deref().unwrap_or_default()))),
        None => answer,
    }
}
