//! ListTransactions (API key 66): each broker tells of the transactional ids that it coordinates. Version 1 takes a duration (KIP-994),
//! version 2 a pattern (KIP-1152). A broker leaves out, without a word, ids that the principal may not describe.

use std::time::Duration;

use sealwax_protocol::StrBytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{NodeId, ProducerId};
use sealwax_protocol::messages::ListTransactionsRequest;
use sealwax_protocol::response::ResponseBody;
use sealwax_protocol::version::VersionRange;

use crate::error::{Error, ErrorKind, Result};
use crate::machine::admin::transaction_state::TransactionState;
use crate::machine::admin::{Verdict, unexpected, verdict};

/// The wire's "no duration".
const ANY_DURATION: i64 = -1;

/// Which transactions are wanted. An empty list is no condition.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Filter<'a> {
    pub(crate) states: &'a [TransactionState],
    pub(crate) producer_ids: &'a [ProducerId],
    pub(crate) older_than: Option<Duration>,
    pub(crate) id_pattern: Option<&'a str>,
}

/// A transactional id as its coordinator lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionListing {
    /// The transactional id.
    pub transactional_id: String,
    /// The producer id that belongs to it at present.
    pub producer_id: ProducerId,
    /// The state.
    pub state: TransactionState,
}

/// The request.
///
/// # Errors
/// If a state is asked for that this client has no name for.
pub(crate) fn request(filter: Filter<'_>) -> Result<ListTransactionsRequest> {
    let name = |state: &TransactionState| match state {
        TransactionState::Unknown => Err(Error::new(
            ErrorKind::Config,
            "transactions cannot be filtered by the state Unknown: no broker has a state of that name",
        )),
        state => Ok(StrBytes::from_static_str(state.name())),
    };
    let states = filter.states.iter().map(name).collect::<Result<_>>()?;
    let milliseconds = |age: Duration| i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    Ok(ListTransactionsRequest::default()
        .with_state_filters(states)
        .with_producer_id_filters(filter.producer_ids.iter().map(|id| id.0.into()).collect())
        .with_duration_filter(filter.older_than.map_or(ANY_DURATION, milliseconds))
        .with_transactional_id_pattern(
            filter
                .id_pattern
                .map(|pattern| StrBytes::from_string(pattern.to_owned())),
        ))
}

/// The versions that can carry the filter, of those that are spoken.
pub(crate) fn versions(filter: Filter<'_>, spoken: VersionRange) -> VersionRange {
    let needed = match (filter.id_pattern, filter.older_than) {
        (Some(_), _) => 2,
        (None, Some(_)) => 1,
        (None, None) => 0,
    };
    VersionRange {
        min: spoken.min.max(needed),
        max: spoken.max,
    }
}

/// A broker that speaks no version which carries the filter.
pub(crate) fn too_old(node: NodeId, filter: Filter<'_>, error: &Error) -> Error {
    let wish = match (filter.id_pattern, filter.older_than) {
        (Some(_), _) => {
            "cannot filter by a pattern of transactional ids (ListTransactions 2, Kafka 4.1, KIP-1152); list without it and choose \
             among the ids"
        }
        (None, Some(_)) => {
            "cannot filter by duration (ListTransactions 1, Kafka 3.8, KIP-994); list without it, describe the transactions, and \
             compare their start"
        }
        (None, None) => return error.clone(),
    };
    error.in_context(|why| format!("broker {node} {wish} ({why})"))
}

/// What a broker's answer says, sorted by id.
///
/// # Errors
/// If it is not one to this API.
pub(crate) fn read(node: NodeId, body: ResponseBody) -> Result<Verdict<Vec<TransactionListing>>> {
    let ResponseBody::ListTransactions(response) = body else {
        return Err(unexpected("ListTransactions", &body));
    };
    // A state that a broker does not know is one that none of its transactions is in, so `unknown_state_filters` is no error.
    let code = ErrorCode(response.error_code);
    let listing = response
        .transaction_states
        .into_iter()
        .map(|listed| TransactionListing {
            transactional_id: listed.transactional_id.0.to_string(),
            producer_id: ProducerId(listed.producer_id.0),
            state: TransactionState::from_name(&listed.transaction_state),
        });
    let mut listed: Vec<TransactionListing> = listing.collect();
    listed.sort_by(|one, other| one.transactional_id.cmp(&other.transactional_id));
    Ok(classify(node, code, listed))
}

fn classify(
    node: NodeId,
    code: ErrorCode,
    listed: Vec<TransactionListing>,
) -> Verdict<Vec<TransactionListing>> {
    let what = format!("broker {node} does not list its transactions (ListTransactions)");
    if code == ErrorCode::INVALID_REGULAR_EXPRESSION {
        let message = format!("{what}: the pattern is no regular expression in RE2 syntax");
        return Verdict::Failed(Error::broker(ErrorKind::Config, code, message));
    }
    verdict(code, &what, None, listed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sealwax_protocol::messages::list_transactions_response::TransactionState as Wire;
    use sealwax_protocol::messages::{ListTransactionsResponse, TransactionalId};

    const SPOKEN: VersionRange = VersionRange { min: 0, max: 2 };

    fn answer(code: ErrorCode) -> ResponseBody {
        let listed = |id, state| {
            Wire::default()
                .with_transactional_id(TransactionalId(StrBytes::from_static_str(id)))
                .with_producer_id(7.into())
                .with_transaction_state(StrBytes::from_static_str(state))
        };
        ResponseBody::ListTransactions(
            ListTransactionsResponse::default()
                .with_error_code(code.0)
                .with_transaction_states(vec![listed("b", "Dreaming"), listed("a", "Ongoing")]),
        )
    }

    #[test]
    fn each_filter_needs_its_version_and_is_sent() {
        let none = Filter::default();
        assert_eq!(versions(none, SPOKEN).min, 0);
        let plain = request(none).unwrap();
        assert_eq!(
            (plain.duration_filter, plain.transactional_id_pattern),
            (ANY_DURATION, None)
        );
        let age = Filter {
            older_than: Some(Duration::from_secs(3)),
            producer_ids: &[ProducerId(7)],
            states: &[TransactionState::Ongoing, TransactionState::PrepareAbort],
            ..none
        };
        assert_eq!(versions(age, SPOKEN), VersionRange { min: 1, max: 2 });
        let aged = request(age).unwrap();
        assert_eq!(aged.duration_filter, 3000);
        assert_eq!(
            aged.state_filters,
            ["Ongoing", "PrepareAbort"].map(StrBytes::from_static_str)
        );
        assert_eq!(aged.producer_id_filters[0].0, 7);
        let pattern = Filter {
            id_pattern: Some("a.*"),
            ..age
        };
        assert_eq!(versions(pattern, SPOKEN).min, 2);
        assert_eq!(
            request(pattern)
                .unwrap()
                .transactional_id_pattern
                .unwrap()
                .as_str(),
            "a.*"
        );
        let old = Error::new(ErrorKind::UnsupportedVersion, "offers 0 to 0");
        for (filter, said) in [(age, "by duration"), (pattern, "by a pattern")] {
            let error = too_old(NodeId(3), filter, &old);
            assert_eq!(error.kind(), ErrorKind::UnsupportedVersion);
            let text = error.to_string();
            assert!(
                text.contains("broker 3 cannot filter") && text.contains(said) && text.contains("offers 0"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_state_without_a_name_is_refused_here() {
        let filter = Filter {
            states: &[TransactionState::Unknown],
            ..Filter::default()
        };
        assert_eq!(request(filter).unwrap_err().kind(), ErrorKind::Config);
    }

    #[test]
    fn every_code_is_classified() {
        for &code in ErrorCode::ALL {
            match read(NodeId(1), answer(code)).unwrap() {
                Verdict::Done(listed) => {
                    assert_eq!(code, ErrorCode::NONE);
                    assert_eq!(listed.len(), 2);
                    assert_eq!(listed[0].state, TransactionState::Ongoing);
                    assert_eq!(listed[1].state, TransactionState::Unknown);
                }
                Verdict::Again(error) => {
                    assert!(code.is_retriable(), "{code}");
                    assert!(error.to_string().contains("broker 1"), "{error}");
                }
                Verdict::Failed(error) => {
                    assert_eq!(error.code(), Some(code));
                    assert!(error.to_string().contains("ListTransactions"), "{error}");
                    assert_eq!(
                        error.kind() == ErrorKind::Config,
                        code == ErrorCode::INVALID_REGULAR_EXPRESSION
                    );
                }
            }
        }
        for code in [14, 15, 16] {
            assert!(matches!(
                read(NodeId(1), answer(ErrorCode(code))).unwrap(),
                Verdict::Again(_)
            ));
        }
    }
}
