//! CreateTopics (API key 19): the request, what the answer says of each topic, and when a new topic is ready for use.

use std::collections::BTreeMap;
use std::time::Duration;

use sealwax_protocol::StrBytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use sealwax_protocol::messages::metadata_response::MetadataResponseTopic;
use sealwax_protocol::messages::{CreateTopicsRequest, TopicName};
use sealwax_protocol::response::ResponseBody;

use crate::error::{Error, Result};
use crate::machine::admin::{Verdict, failure, left_out, unexpected, verdict};

/// The wire's "as the broker has it".
const BROKER_DEFAULT: i16 = -1;

/// A topic to create.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TopicSpec<'a> {
    pub(crate) name: &'a str,
    pub(crate) partitions: Option<i32>,
    pub(crate) replication_factor: Option<i16>,
    pub(crate) configs: &'a BTreeMap<String, String>,
}

/// The request for these topics.
pub(crate) fn request<'a>(
    topics: impl Iterator<Item = TopicSpec<'a>>,
    timeout: Duration,
) -> CreateTopicsRequest {
    CreateTopicsRequest::default()
        .with_topics(topics.map(creatable).collect())
        .with_timeout_ms(i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX))
}

fn creatable(topic: TopicSpec<'_>) -> CreatableTopic {
    let config = |(key, value): (&String, &String)| {
        CreatableTopicConfig::default()
            .with_name(StrBytes::from_string(key.clone()))
            .with_value(Some(StrBytes::from_string(value.clone())))
    };
    CreatableTopic::default()
        .with_name(TopicName(StrBytes::from_string(topic.name.to_owned())))
        .with_num_partitions(topic.partitions.unwrap_or_else(|| BROKER_DEFAULT.into()))
        .with_replication_factor(topic.replication_factor.unwrap_or(BROKER_DEFAULT))
        .with_configs(topic.configs.iter().map(config).collect())
}

/// What the answer says of each of these topics. `retried`: an earlier attempt has no answer, so "already exists" may be its work.
pub(crate) fn read(body: ResponseBody, names: &[&str], retried: bool) -> Result<Vec<Verdict<()>>> {
    let ResponseBody::CreateTopics(response) = body else {
        return Err(unexpected("CreateTopics", &body));
    };
    let read_one = |name: &&str| {
        let what = format!("topic {name:?} cannot be created");
        let Some(result) = response
            .topics
            .iter()
            .find(|result| result.name.0.as_str() == *name)
        else {
            return Verdict::Again(left_out(&what));
        };
        let code = ErrorCode(result.error_code);
        let detail = result.error_message.as_ref().map(|text| text.as_str());
        if retried && code == ErrorCode::TOPIC_ALREADY_EXISTS {
            return Verdict::Failed(already_exists(name));
        }
        verdict(code, &what, detail, ())
    };
    Ok(names.iter().map(read_one).collect())
}

fn already_exists(name: &str) -> Error {
    failure(
        ErrorCode::TOPIC_ALREADY_EXISTS,
        &format!("topic {name:?} cannot be created"),
        Some("it exists; whether an earlier, unanswered attempt of this call has made it is unknown"),
    )
}

/// Whether a created topic can be used: brokers need a moment to hear of it and to take the lead of its partitions.
pub(crate) fn is_ready(topic: &Verdict<MetadataResponseTopic>) -> bool {
    match topic {
        Verdict::Done(topic) => {
            !topic.partitions.is_empty()
                && topic
                    .partitions
                    .iter()
                    .all(|partition| partition.leader_id.0 >= 0)
        }
        Verdict::Again(_) | Verdict::Failed(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sealwax_protocol::messages::CreateTopicsResponse;
    use sealwax_protocol::messages::create_topics_response::CreatableTopicResult;

    fn answer(code: ErrorCode) -> ResponseBody {
        ResponseBody::CreateTopics(CreateTopicsResponse::default().with_topics(vec![
            CreatableTopicResult::default()
                .with_name(TopicName(StrBytes::from_static_str("t")))
                .with_error_code(code.0)
                .with_error_message(Some(StrBytes::from_static_str("because"))),
        ]))
    }

    fn verdict_on(code: ErrorCode, retried: bool) -> Verdict<()> {
        read(answer(code), &["t"], retried).unwrap().remove(0)
    }

    #[test]
    fn what_is_not_set_is_left_to_the_broker() {
        let configs = BTreeMap::from([("cleanup.policy".to_owned(), "compact".to_owned())]);
        let topic = TopicSpec {
            name: "t",
            partitions: None,
            replication_factor: None,
            configs: &configs,
        };
        let request = request(std::iter::once(topic), Duration::from_secs(30));
        assert_eq!(request.timeout_ms, 30_000);
        let topic = &request.topics[0];
        assert_eq!((topic.num_partitions, topic.replication_factor), (-1, -1));
        assert_eq!(topic.configs[0].value.as_ref().unwrap().as_str(), "compact");
    }

    #[test]
    fn the_answer_is_read_for_each_topic() {
        assert!(matches!(verdict_on(ErrorCode::NONE, false), Verdict::Done(())));
        assert!(matches!(
            verdict_on(ErrorCode::NOT_CONTROLLER, false),
            Verdict::Again(_)
        ));
        let Verdict::Failed(error) = verdict_on(ErrorCode::INVALID_REPLICATION_FACTOR, false) else {
            panic!("not failed");
        };
        assert!(error.to_string().contains("because"), "{error}");
        let missing = read(answer(ErrorCode::NONE), &["other"], false).unwrap();
        assert!(matches!(missing[0], Verdict::Again(_)));
    }

    #[test]
    fn that_a_topic_exists_says_less_after_an_unanswered_attempt() {
        let said = |retried| match verdict_on(ErrorCode::TOPIC_ALREADY_EXISTS, retried) {
            Verdict::Failed(error) => {
                assert_eq!(error.code(), Some(ErrorCode::TOPIC_ALREADY_EXISTS));
                error.to_string()
            }
            other => panic!("{other:?}"),
        };
        assert!(!said(false).contains("unanswered"));
        assert!(said(true).contains("unanswered"));
    }

    #[test]
    fn a_topic_is_ready_when_every_partition_has_a_leader() {
        use crate::machine::metadata::refresh::tests::topic;
        assert!(is_ready(&Verdict::Done(topic("t", 1, &[(0, 1, 0), (1, 2, 0)]))));
        assert!(!is_ready(&Verdict::Done(topic("t", 1, &[(0, 1, 0), (1, -1, 0)]))));
        assert!(!is_ready(&Verdict::Done(topic("t", 1, &[]))));
    }
}
