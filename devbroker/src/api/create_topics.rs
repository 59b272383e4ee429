//! CreateTopics (19), version 7. Any node takes it: each is a controller, or passes it on to one.

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::messages::create_topics_request::CreatableTopic;
use sealwax_protocol::messages::create_topics_response::CreatableTopicResult;
use sealwax_protocol::messages::{CreateTopicsRequest, CreateTopicsResponse};
use sealwax_protocol::response::ResponseBody;

use super::Reply;
use crate::state::State;

/// "As the broker is configured": one partition, on all nodes.
const DEFAULT: i32 = -1;

pub(super) fn handle(state: &mut State, request: &CreateTopicsRequest) -> Reply {
    let topics = request.topics.iter();
    let results = topics.map(|topic| {
        create(state, topic, request.validate_only).unwrap_or_else(|code| {
            CreatableTopicResult::default()
                .with_name(topic.name.clone())
                .with_error_code(code.0)
                .with_num_partitions(-1)
                .with_replication_factor(-1)
        })
    });
    let response = CreateTopicsResponse::default().with_topics(results.collect());
    Reply::Answer(ResponseBody::CreateTopics(response))
}

fn create(
    state: &mut State,
    topic: &CreatableTopic,
    validate_only: bool,
) -> Result<CreatableTopicResult, ErrorCode> {
    let name = topic.name.0.as_str();
    let nodes = i32::try_from(state.nodes.all().count()).unwrap_or(i32::MAX);
    let partitions = match topic.num_partitions {
        DEFAULT => 1,
        given => given,
    };
    let copies = match i32::from(topic.replication_factor) {
        DEFAULT => nodes,
        given => given,
    };
    if name.is_empty() {
        return Err(ErrorCode::INVALID_TOPIC_EXCEPTION);
    }
    if state.topics.by_name(name).is_some() {
        return Err(ErrorCode::TOPIC_ALREADY_EXISTS);
    }
    if partitions < 1 {
        return Err(ErrorCode::INVALID_PARTITIONS);
    }
    if !(1..=nodes).contains(&copies) {
        return Err(ErrorCode::INVALID_REPLICATION_FACTOR);
    }
    if !validate_only {
        let leaders = state.nodes.spread(0, partitions);
        state.topics.create(name, leaders);
    }
    let id = state.topics.by_name(name).map(|topic| topic.id);
    Ok(CreatableTopicResult::default()
        .with_name(topic.name.clone())
        .with_topic_id(id.unwrap_or_default())
        .with_num_partitions(partitions)
        .with_replication_factor(i16::try_from(copies).unwrap_or(i16::MAX))
        .with_configs(Some(Vec::new())))
}
