//! `transaction.max.timeout.ms`: a broker refuses a longer `transaction.timeout.ms`, without a word about the number. It can be read
//! from the broker's settings (DescribeConfigs), if that is permitted. In: the answer. Out: both numbers in one error.

use sealwax_protocol::StrBytes;
use sealwax_protocol::ids::NodeId;
use sealwax_protocol::messages::DescribeConfigsRequest;
use sealwax_protocol::messages::describe_configs_request::DescribeConfigsResource;
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;

use crate::error::Error;

const SETTING: &str = "transaction.max.timeout.ms";

/// The wire's number for "a broker".
const BROKER: i8 = 4;

/// The request. It must go to the broker that it asks about.
pub(crate) fn request(node: NodeId) -> RequestBody {
    let resource = DescribeConfigsResource::default()
        .with_resource_type(BROKER)
        .with_resource_name(StrBytes::from_string(node.0.to_string()))
        .with_configuration_keys(Some(vec![StrBytes::from_static_str(SETTING)]));
    DescribeConfigsRequest::default()
        .with_resources(vec![resource])
        .into()
}

/// The maximum, in milliseconds; `None` if the answer does not tell it.
pub(crate) fn read(body: &ResponseBody) -> Option<String> {
    let ResponseBody::DescribeConfigs(response) = body else {
        return None;
    };
    let configs = response.results.iter().flat_map(|result| &result.configs);
    let setting = configs
        .into_iter()
        .find(|config| config.name.as_str() == SETTING)?;
    setting.value.as_ref().map(ToString::to_string)
}

/// The refusal with the maximum.
pub(crate) fn explain(refusal: &Error, maximum: &str) -> Error {
    refusal.in_context(|text| format!("{text}; here {SETTING} = {maximum}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use sealwax_protocol::messages::DescribeConfigsResponse;
    use sealwax_protocol::messages::describe_configs_response::{
        DescribeConfigsResourceResult, DescribeConfigsResult,
    };

    fn answer(name: &'static str) -> ResponseBody {
        let config = DescribeConfigsResourceResult::default()
            .with_name(StrBytes::from_static_str(name))
            .with_value(Some(StrBytes::from_static_str("1000")));
        let result = DescribeConfigsResult::default().with_configs(vec![config]);
        ResponseBody::DescribeConfigs(DescribeConfigsResponse::default().with_results(vec![result]))
    }

    #[test]
    fn the_maximum_is_read_and_named() {
        assert_eq!(read(&answer("another.setting")), None);
        let maximum = read(&answer(SETTING)).unwrap();
        let refusal = Error::new(ErrorKind::Config, "transaction.timeout.ms = 5000 is above it");
        let text = explain(&refusal, &maximum).to_string();
        assert!(
            text.contains("5000") && text.contains("transaction.max.timeout.ms = 1000"),
            "{text}"
        );
    }
}
