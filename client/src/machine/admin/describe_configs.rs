//! DescribeConfigs (API key 32) for one topic.

use std::collections::BTreeMap;

use sealwax_protocol::StrBytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::messages::DescribeConfigsRequest;
use sealwax_protocol::messages::describe_configs_request::DescribeConfigsResource;
use sealwax_protocol::response::ResponseBody;

use crate::error::Result;
use crate::machine::admin::{Verdict, left_out, unexpected, verdict};

/// The wire's number for "a topic".
const TOPIC: i8 = 2;

/// Key → value; `None` for a secret.
pub(crate) type Configs = BTreeMap<String, Option<String>>;

/// The request for a topic's settings.
pub(crate) fn request(topic: &str) -> DescribeConfigsRequest {
    DescribeConfigsRequest::default().with_resources(vec![
        DescribeConfigsResource::default()
            .with_resource_type(TOPIC)
            .with_resource_name(StrBytes::from_string(topic.to_owned()))
            .with_configuration_keys(None),
    ])
}

/// What the answer says.
pub(crate) fn read(body: ResponseBody, topic: &str) -> Result<Verdict<Configs>> {
    let ResponseBody::DescribeConfigs(response) = body else {
        return Err(unexpected("DescribeConfigs", &body));
    };
    let what = format!("the settings of topic {topic:?} cannot be described");
    let Some(result) = response
        .results
        .into_iter()
        .find(|result| result.resource_type == TOPIC && result.resource_name.as_str() == topic)
    else {
        return Ok(Verdict::Again(left_out(&what)));
    };
    let detail = result.error_message.as_ref().map(|text| text.as_str());
    let configs = result.configs.iter().map(|config| {
        let value = config.value.as_ref().map(ToString::to_string);
        (config.name.to_string(), value.filter(|_| !config.is_sensitive))
    });
    Ok(verdict(
        ErrorCode(result.error_code),
        &what,
        detail,
        configs.collect(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use sealwax_protocol::messages::DescribeConfigsResponse;
    use sealwax_protocol::messages::describe_configs_response::{
        DescribeConfigsResourceResult, DescribeConfigsResult,
    };

    fn answer(code: ErrorCode) -> ResponseBody {
        let config = |name, sensitive| {
            DescribeConfigsResourceResult::default()
                .with_name(StrBytes::from_static_str(name))
                .with_value(Some(StrBytes::from_static_str("v")))
                .with_is_sensitive(sensitive)
        };
        ResponseBody::DescribeConfigs(DescribeConfigsResponse::default().with_results(vec![
            DescribeConfigsResult::default()
                .with_resource_type(TOPIC)
                .with_resource_name(StrBytes::from_static_str("t"))
                .with_error_code(code.0)
                .with_configs(vec![config("cleanup.policy", false), config("password", true)]),
        ]))
    }

    #[test]
    fn settings_are_read_and_secrets_are_not() {
        let Verdict::Done(configs) = read(answer(ErrorCode::NONE), "t").unwrap() else {
            panic!("not done");
        };
        assert_eq!(configs.get("cleanup.policy"), Some(&Some("v".to_owned())));
        assert_eq!(configs.get("password"), Some(&None));
    }

    #[test]
    fn an_unknown_topic_is_its_own_kind() {
        let Verdict::Failed(error) = read(answer(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION), "t").unwrap() else {
            panic!("not failed");
        };
        assert_eq!(error.kind(), ErrorKind::UnknownTopic);
        assert!(matches!(
            read(answer(ErrorCode::NONE), "other").unwrap(),
            Verdict::Again(_)
        ));
    }
}
