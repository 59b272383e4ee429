//! When the coordinator is asked, and for how long writes wait.

use sealwax_protocol::StrBytes;
use sealwax_protocol::messages::DescribeTransactionsResponse;
use sealwax_protocol::messages::describe_transactions_response::TransactionState;

use super::*;
use crate::error::{Error, ErrorKind};

#[allow(
    clippy::disallowed_methods,
    reason = "an Instant cannot be made otherwise; only differences matter"
)]
fn now() -> Instant {
    Instant::now()
}

fn described(state: &'static str, code: ErrorCode) -> Result<ResponseBody, RequestFailure> {
    let entry = TransactionState::default()
        .with_error_code(code.0)
        .with_transaction_state(StrBytes::from_static_str(state));
    let response = DescribeTransactionsResponse::default().with_transaction_states(vec![entry]);
    Ok(ResponseBody::DescribeTransactions(response))
}

fn confirmed() -> EndTxnResponse {
    EndTxnResponse::default().with_producer_epoch(7)
}

fn close_behind(now: Instant) -> Markers {
    let mut markers = Markers::Past;
    markers.ended(now, &confirmed());
    markers.begun(now);
    markers
}

#[test]
fn a_transaction_that_follows_closely_asks_until_the_markers_are_written() {
    let now = now();
    let mut markers = close_behind(now);
    for state in ["PrepareCommit", "PrepareAbort", "PrepareCommit"] {
        assert!(markers.ask(now));
        assert!(!markers.ask(now), "one question at a time");
        assert_eq!(markers.hold_until(now), Some(now + LEADERS_PAUSE));
        markers.answered(&described(state, ErrorCode::NONE));
    }
    assert!(markers.ask(now));
    markers.answered(&described("CompleteCommit", ErrorCode::NONE));
    assert_eq!(markers, Markers::Past);
    assert_eq!(markers.hold_until(now), None);
}

#[test]
fn no_answer_or_a_refusal_lets_writes_go() {
    let now = now();
    let unanswered = || Err(RequestFailure::Unanswered(Error::new(ErrorKind::Timeout, "none")));
    let refused = || described("PrepareCommit", ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
    for result in [unanswered(), refused()] {
        let mut markers = close_behind(now);
        assert!(markers.ask(now));
        markers.answered(&result);
        assert_eq!(markers, Markers::Past);
    }
}

#[test]
fn writes_wait_no_longer_than_the_leader_would() {
    let now = now();
    let mut markers = close_behind(now);
    assert!(markers.ask(now));
    assert_eq!(markers.hold_until(now + LEADERS_PAUSE), None);
    markers.answered(&described("PrepareCommit", ErrorCode::NONE));
    assert!(!markers.ask(now + LEADERS_PAUSE));
}

#[test]
fn nobody_asks_after_a_while_or_after_an_end_that_says_no_epoch() {
    let now = now();
    let mut markers = Markers::Past;
    markers.ended(now, &confirmed());
    markers.begun(now + LEADERS_PAUSE);
    assert_eq!(markers, Markers::Past);

    markers.ended(now, &EndTxnResponse::default());
    assert_eq!(markers, Markers::Past, "TV1");
    let refused = confirmed().with_error_code(ErrorCode::CONCURRENT_TRANSACTIONS.0);
    markers.ended(now, &refused);
    assert_eq!(markers, Markers::Past);
}
