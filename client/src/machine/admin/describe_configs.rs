//! DescribeConfigs (API key 32) for one topic or one broker.

use std::collections::BTreeMap;
use std::fmt;

use sealwax_protocol::StrBytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::NodeId;
use sealwax_protocol::messages::DescribeConfigsRequest;
use sealwax_protocol::messages::describe_configs_request::DescribeConfigsResource;
use sealwax_protocol::response::ResponseBody;

use crate::error::{ErrorKind, Result};
use crate::machine::admin::permission::{Permission, Resource};
use crate::machine::admin::{Verdict, left_out, unexpected, verdict};

/// The wire's number for "a topic".
const TOPIC: i8 = 2;
/// The wire's number for "a broker".
const BROKER: i8 = 4;

/// Whose settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner<'a> {
    /// A topic's.
    Topic(&'a str),
    /// A broker's, which only itself can tell.
    Broker(NodeId),
}

impl Owner<'_> {
    const fn kind(self) -> i8 {
        match self {
            Self::Topic(_) => TOPIC,
            Self::Broker(_) => BROKER,
        }
    }

    fn name(self) -> String {
        match self {
            Self::Topic(name) => name.to_owned(),
            Self::Broker(id) => id.to_string(),
        }
    }

    fn permission(&self) -> Permission<'_> {
        Permission {
            operation: "DescribeConfigs",
            resource: match self {
                Self::Topic(name) => Resource::Topic(name),
                Self::Broker(_) => Resource::Cluster,
            },
        }
    }
}

impl fmt::Display for Owner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Topic(name) => write!(f, "topic {name:?}"),
            Self::Broker(id) => write!(f, "broker {id}"),
        }
    }
}

/// Key → value; `None` for a secret.
pub(crate) type Configs = BTreeMap<String, Option<String>>;

/// The request for someone's settings.
pub(crate) fn request(owner: Owner<'_>) -> DescribeConfigsRequest {
    DescribeConfigsRequest::default().with_resources(vec![
        DescribeConfigsResource::default()
            .with_resource_type(owner.kind())
            .with_resource_name(StrBytes::from_string(owner.name()))
            .with_configuration_keys(None),
    ])
}

/// What the answer says.
pub(crate) fn read(body: ResponseBody, owner: Owner<'_>) -> Result<Verdict<Configs>> {
    let ResponseBody::DescribeConfigs(response) = body else {
        return Err(unexpected("DescribeConfigs", &body));
    };
    let what = format!("the settings of {owner} cannot be described");
    let name = owner.name();
    let Some(result) = response
        .results
        .into_iter()
        .find(|result| result.resource_type == owner.kind() && result.resource_name.as_str() == name)
    else {
        return Ok(Verdict::Again(left_out(&what)));
    };
    let detail = result.error_message.as_ref().map(|text| text.as_str());
    let configs = result.configs.iter().map(|config| {
        let value = config.value.as_ref().map(ToString::to_string);
        (config.name.to_string(), value.filter(|_| !config.is_sensitive))
    });
    let code = ErrorCode(result.error_code);
    Ok(match verdict(code, &what, detail, configs.collect()) {
        Verdict::Failed(error) if error.kind() == ErrorKind::Authorization => {
            Verdict::Failed(owner.permission().denied(code, &what))
        }
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let Verdict::Done(configs) = read(answer(ErrorCode::NONE), Owner::Topic("t")).unwrap() else {
            panic!("not done");
        };
        assert_eq!(configs.get("cleanup.policy"), Some(&Some("v".to_owned())));
        assert_eq!(configs.get("password"), Some(&None));
    }

    #[test]
    fn an_unknown_topic_is_its_own_kind() {
        let Verdict::Failed(error) =
            read(answer(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION), Owner::Topic("t")).unwrap()
        else {
            panic!("not failed");
        };
        assert_eq!(error.kind(), ErrorKind::UnknownTopic);
        for other in [Owner::Topic("other"), Owner::Broker(NodeId(1))] {
            assert!(matches!(
                read(answer(ErrorCode::NONE), other).unwrap(),
                Verdict::Again(_)
            ));
        }
    }

    #[test]
    fn a_lacking_permission_is_named_with_its_resource() {
        let code = ErrorCode::TOPIC_AUTHORIZATION_FAILED;
        let Verdict::Failed(error) = read(answer(code), Owner::Topic("t")).unwrap() else {
            panic!("not failed");
        };
        assert!(
            error
                .to_string()
                .contains("--operation DescribeConfigs --topic t"),
            "{error}"
        );
        let broker = Owner::Broker(NodeId(3));
        assert_eq!(
            broker.permission().to_string(),
            "operation DescribeConfigs on Cluster \"kafka-cluster\""
        );
        let asked = request(broker);
        assert_eq!(
            (
                asked.resources[0].resource_type,
                asked.resources[0].resource_name.as_str()
            ),
            (BROKER, "3")
        );
    }
}
