//! DescribeTopics: Metadata (API key 3) asked without creating what is not there.

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::messages::metadata_response::MetadataResponseTopic;
use sealwax_protocol::messages::{MetadataRequest, MetadataResponse};
use sealwax_protocol::response::ResponseBody;

use crate::error::Result;
use crate::machine::admin::{Verdict, left_out, unexpected, verdict};
use crate::machine::metadata::refresh;

/// The request for these topics; for none it asks for the brokers only.
pub(crate) fn request(names: &[&str]) -> MetadataRequest {
    refresh::request(names.iter().copied(), false)
}

/// The request for all topics that the principal may describe.
pub(crate) fn request_all() -> MetadataRequest {
    request(&[]).with_topics(None)
}

/// The answer as a whole. An error at its top concerns every topic.
pub(crate) fn response(body: ResponseBody) -> Result<Verdict<MetadataResponse>> {
    let ResponseBody::Metadata(response) = body else {
        return Err(unexpected("Metadata", &body));
    };
    Ok(verdict(
        ErrorCode(response.error_code),
        "the cluster cannot be described",
        None,
        response,
    ))
}

/// What the answer says of a topic.
pub(crate) fn topic(response: &MetadataResponse, name: &str) -> Verdict<MetadataResponseTopic> {
    let found = response
        .topics
        .iter()
        .find(|topic| topic.name.as_ref().is_some_and(|found| found.0.as_str() == name));
    match found {
        Some(topic) => {
            let what = format!("topic {name:?} cannot be described");
            verdict(ErrorCode(topic.error_code), &what, None, topic.clone())
        }
        None => Verdict::Again(left_out(&format!("topic {name:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::machine::metadata::refresh::tests::{response as answer, topic as known};

    #[test]
    fn nothing_is_created_by_asking() {
        assert!(!request(&["t"]).allow_auto_topic_creation);
        assert_eq!(
            request(&[]).topics.map(|topics| topics.len()),
            Some(0),
            "no topics, not all of them"
        );
    }

    #[test]
    fn each_topic_is_found_refused_or_asked_for_again() {
        let response = answer([
            known("good", 1, &[(0, 1, 0)]),
            known("none", 0, &[]).with_error_code(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION.0),
            known("soon", 0, &[]).with_error_code(ErrorCode::LEADER_NOT_AVAILABLE.0),
        ]);
        assert!(matches!(topic(&response, "good"), Verdict::Done(_)));
        assert!(matches!(topic(&response, "soon"), Verdict::Again(_)));
        assert!(matches!(topic(&response, "left out"), Verdict::Again(_)));
        let Verdict::Failed(error) = topic(&response, "none") else {
            panic!("not failed");
        };
        assert_eq!(error.kind(), ErrorKind::UnknownTopic);
    }
}
