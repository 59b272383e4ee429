//! Coordinators: which broker serves a transactional id (FindCoordinator 4 and up, the form with key arrays).
//!
//! Keys and answers in; a cache, requests and verdicts out. The shell decides when to look up.

use std::collections::HashMap;
use std::sync::Arc;

use sealwax_protocol::StrBytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::NodeId;
use sealwax_protocol::messages::{FindCoordinatorRequest, FindCoordinatorResponse};

use crate::error::{Error, ErrorKind};
use crate::machine::CoordinatorKind;
use crate::machine::acl::{self, Operation, Resource};
use crate::machine::metadata::Broker;

/// What a coordinator is looked up for.
pub(crate) type CoordinatorKey = (CoordinatorKind, Arc<str>);

/// The coordinators that are known.
#[derive(Debug, Default)]
pub(crate) struct CoordinatorCache {
    known: HashMap<CoordinatorKey, Broker>,
}

impl CoordinatorCache {
    /// Remembers a coordinator.
    pub(crate) fn insert(&mut self, key: CoordinatorKey, broker: Broker) {
        self.known.insert(key, broker);
    }

    /// The coordinator is another one now, or may be.
    pub(crate) fn forget(&mut self, key: &CoordinatorKey) {
        self.known.remove(key);
    }

    /// This broker broke off: whatever it coordinated may have moved.
    pub(crate) fn forget_broker(&mut self, node: NodeId) {
        self.known.retain(|_, broker| broker.id != node);
    }

    /// The coordinator of a key.
    pub(crate) fn get(&self, key: &CoordinatorKey) -> Option<&Broker> {
        self.known.get(key)
    }

    /// A broker that some key is coordinated by: the metadata may not know it yet.
    pub(crate) fn broker(&self, node: NodeId) -> Option<&Broker> {
        self.known.values().find(|broker| broker.id == node)
    }
}

/// What FindCoordinator's answer means for one key.
#[derive(Debug, Clone)]
pub(crate) enum LookupAnswer {
    /// Here it is.
    Found(Broker),
    /// There is none at the moment: ask again after a pause.
    Later(Error),
    /// Asking again would not help.
    Refused(Error),
}

/// The request for one key.
pub(crate) fn request(key: &CoordinatorKey) -> FindCoordinatorRequest {
    FindCoordinatorRequest::default()
        .with_key_type(key.0.code())
        .with_coordinator_keys(vec![StrBytes::from_string(key.1.as_ref().to_owned())])
}

/// Reads the answer for one key.
pub(crate) fn classify(key: &CoordinatorKey, response: &FindCoordinatorResponse) -> LookupAnswer {
    let Some(entry) = response
        .coordinators
        .iter()
        .find(|entry| entry.key.as_str() == &*key.1)
    else {
        return LookupAnswer::Later(failure(
            ErrorKind::Corrupt,
            key,
            None,
            "the answer does not speak of it",
        ));
    };
    let code = ErrorCode(entry.error_code);
    if !code.is_error() {
        return match u16::try_from(entry.port) {
            Ok(port) if entry.node_id.0 >= 0 => LookupAnswer::Found(Broker {
                id: NodeId(entry.node_id.0),
                host: entry.host.as_str().into(),
                port,
                rack: None,
            }),
            _ => LookupAnswer::Later(failure(
                ErrorKind::Corrupt,
                key,
                None,
                "the answer names no usable address",
            )),
        };
    }
    let detail = entry.error_message.as_ref().map_or("", |text| text.as_str());
    let lacks = |resource, includes: &str| {
        let detail = format!(
            "{} ({includes} includes it)",
            acl::missing(Operation::Describe, resource)
        );
        LookupAnswer::Refused(failure(ErrorKind::Authorization, key, Some(code), &detail))
    };
    match code {
        ErrorCode::TRANSACTION_ABORTABLE => {
            LookupAnswer::Refused(failure(ErrorKind::TransactionAbortable, key, Some(code), detail))
        }
        ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED => lacks(Resource::TransactionalId(&key.1), "Write"),
        ErrorCode::GROUP_AUTHORIZATION_FAILED => lacks(Resource::Group(&key.1), "Read"),
        ErrorCode::CLUSTER_AUTHORIZATION_FAILED => {
            LookupAnswer::Refused(failure(ErrorKind::Authorization, key, Some(code), detail))
        }
        _ if code.is_retriable() => LookupAnswer::Later(failure(ErrorKind::Broker, key, Some(code), detail)),
        _ => LookupAnswer::Refused(failure(ErrorKind::Broker, key, Some(code), detail)),
    }
}

fn failure(kind: ErrorKind, key: &CoordinatorKey, code: Option<ErrorCode>, detail: &str) -> Error {
    let mut message = format!("cannot find the coordinator of {} {:?}", key.0.noun(), &*key.1);
    if !detail.is_empty() {
        message = format!("{message}: {detail}");
    }
    match code {
        Some(code) => Error::broker(kind, code, message),
        None => Error::new(kind, message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sealwax_protocol::messages::BrokerId;
    use sealwax_protocol::messages::find_coordinator_response::Coordinator;

    fn key() -> CoordinatorKey {
        (CoordinatorKind::Transaction, "orders-1".into())
    }

    fn answer(code: ErrorCode) -> FindCoordinatorResponse {
        FindCoordinatorResponse::default().with_coordinators(vec![
            Coordinator::default()
                .with_key(StrBytes::from_static_str("orders-1"))
                .with_error_code(code.0)
                .with_node_id(BrokerId(3))
                .with_host(StrBytes::from_static_str("b3"))
                .with_port(9092),
        ])
    }

    #[test]
    fn the_request_asks_for_the_one_key() {
        let request = request(&key());
        assert_eq!(request.key_type, 1);
        assert_eq!(request.coordinator_keys.len(), 1);
        assert_eq!(request.coordinator_keys[0].as_str(), "orders-1");
    }

    #[test]
    fn a_found_coordinator_carries_its_address() {
        let LookupAnswer::Found(broker) = classify(&key(), &answer(ErrorCode::NONE)) else {
            panic!("not found");
        };
        assert_eq!((broker.id, &*broker.host, broker.port), (NodeId(3), "b3", 9092));
    }

    #[test]
    fn every_code_is_either_asked_again_or_refused_and_never_taken_for_an_address() {
        for &code in ErrorCode::ALL.iter().filter(|code| code.is_error()) {
            match classify(&key(), &answer(code)) {
                LookupAnswer::Found(_) => panic!("{code} was taken for success"),
                LookupAnswer::Later(error) => {
                    assert!(code.is_retriable(), "{code}");
                    assert!(
                        error.to_string().contains("transactional id \"orders-1\""),
                        "{error}"
                    );
                }
                LookupAnswer::Refused(error) => {
                    assert!(!code.is_retriable(), "{code}");
                    assert_eq!(error.code(), Some(code));
                }
            }
        }
    }

    #[test]
    fn a_missing_permission_is_named_with_the_command_that_grants_it() {
        let code = ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED;
        let LookupAnswer::Refused(error) = classify(&key(), &answer(code)) else {
            panic!("not refused");
        };
        assert_eq!(error.kind(), ErrorKind::Authorization);
        let text = error.to_string();
        assert!(
            text.contains("--operation Describe --transactional-id orders-1"),
            "{text}"
        );
    }

    #[test]
    fn an_answer_about_another_key_is_not_taken() {
        let other = (CoordinatorKind::Transaction, "other".into());
        assert!(matches!(
            classify(&other, &answer(ErrorCode::NONE)),
            LookupAnswer::Later(_)
        ));
    }

    #[test]
    fn what_a_lost_broker_coordinated_is_forgotten() {
        let broker = |id| Broker {
            id: NodeId(id),
            host: "h".into(),
            port: 1,
            rack: None,
        };
        let mut cache = CoordinatorCache::default();
        let another = (CoordinatorKind::Transaction, Arc::from("another"));
        cache.insert(key(), broker(1));
        cache.insert(another.clone(), broker(2));
        cache.forget_broker(NodeId(1));
        assert_eq!(cache.get(&key()), None);
        assert_eq!(cache.get(&another).map(|found| found.id), Some(NodeId(2)));
        assert_eq!(cache.broker(NodeId(2)).map(|found| found.id), Some(NodeId(2)));
        cache.forget(&another);
        assert_eq!(cache.get(&another), None);
    }
}
