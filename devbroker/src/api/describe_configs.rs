//! DescribeConfigs (32): of a node, what the model is configured with; of a topic, that it has no settings.

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::messages::describe_configs_request::DescribeConfigsResource;
use sealwax_protocol::messages::describe_configs_response::{
    DescribeConfigsResourceResult, DescribeConfigsResult,
};
use sealwax_protocol::messages::{DescribeConfigsRequest, DescribeConfigsResponse};
use sealwax_protocol::response::ResponseBody;

use super::Reply;
use crate::names::text;
use crate::state::State;

const TOPIC: i8 = 2;
const BROKER: i8 = 4;
/// The value comes from the node's own file.
const STATIC: i8 = 4;

pub(super) fn handle(state: &State, request: &DescribeConfigsRequest) -> Reply {
    let results = request.resources.iter().map(|resource| {
        let answer = DescribeConfigsResult::default()
            .with_resource_type(resource.resource_type)
            .with_resource_name(resource.resource_name.clone());
        match describe(state, resource) {
            Ok(configs) => answer.with_configs(configs),
            Err(code) => answer.with_error_code(code.0),
        }
    });
    let response = DescribeConfigsResponse::default().with_results(results.collect());
    Reply::Answer(ResponseBody::DescribeConfigs(response))
}

fn describe(
    state: &State,
    resource: &DescribeConfigsResource,
) -> Result<Vec<DescribeConfigsResourceResult>, ErrorCode> {
    match resource.resource_type {
        TOPIC => match state.topics.by_name(&resource.resource_name) {
            Some(_) => Ok(Vec::new()),
            None => Err(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
        },
        BROKER => {
            let max = state.settings.transaction_max_timeout.as_millis();
            let known = [("transaction.max.timeout.ms", max.to_string())];
            let is_wanted = |name: &str| {
                let keys = resource.configuration_keys.as_ref();
                keys.is_none_or(|keys| keys.iter().any(|key| key.as_str() == name))
            };
            let wanted = known.iter().filter(|(name, _)| is_wanted(name));
            Ok(wanted.map(|(name, value)| config(name, value)).collect())
        }
        _ => Err(ErrorCode::INVALID_REQUEST),
    }
}

fn config(name: &str, value: &str) -> DescribeConfigsResourceResult {
    DescribeConfigsResourceResult::default()
        .with_name(text(name))
        .with_value(Some(text(value)))
        .with_read_only(true)
        .with_config_source(STATIC)
}
