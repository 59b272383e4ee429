//! The bookkeeping of one connection, without a connection: what was written decides what is told at the end.

use std::time::Duration;

use sealwax_protocol::produce::ProduceRequest;
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;
use sealwax_protocol::version::ApiVersions;
use tokio::sync::oneshot;

use super::peer::versions;
use crate::error::{Error, ErrorKind};
use crate::machine::RequestFailure;
use crate::machine::metadata::refresh;
use crate::runtime::clock;
use crate::runtime::wire::{Answer, Request, Wire};

fn wire() -> Wire {
    let versions = ApiVersions::from_response(&versions());
    Wire::new("the peer".to_owned(), "test".to_owned(), versions)
}

fn push(wire: &mut Wire) -> oneshot::Receiver<Answer> {
    push_body(wire, refresh::request(std::iter::once("t"), false).into())
}

/// A Produce request that is not answered.
fn push_one_way(wire: &mut Wire) -> oneshot::Receiver<Answer> {
    let request = ProduceRequest {
        transactional_id: None,
        acks: 0,
        timeout_ms: 1000,
        topics: Vec::new(),
    };
    push_body(wire, request.into())
}

fn push_body(wire: &mut Wire, body: RequestBody) -> oneshot::Receiver<Answer> {
    let (answer, receiver) = oneshot::channel();
    let now = clock::now();
    let request = Request {
        versions: body.versions(),
        body,
        deadline: now + Duration::from_secs(30),
        answer,
    };
    wire.push(now, request);
    receiver
}

fn pending(wire: &Wire) -> usize {
    wire.parts().map(|part| part.len()).sum()
}

#[tokio::test]
async fn only_a_request_of_which_no_byte_was_written_is_told_as_not_sent() {
    let mut wire = wire();
    let first = push(&mut wire);
    let one = pending(&wire);
    let (second, third) = (push(&mut wire), push(&mut wire));
    assert_eq!(pending(&wire), 3 * one);
    wire.advance(one + 1);
    assert_eq!(pending(&wire), 2 * one - 1);
    wire.fail(clock::now(), &Error::new(ErrorKind::Unreachable, "cut"));
    for answer in [first, second] {
        assert!(matches!(
            answer.await.unwrap(),
            Err(RequestFailure::Unanswered(_))
        ));
    }
    assert!(matches!(third.await.unwrap(), Err(RequestFailure::NotSent(_))));
}

#[tokio::test]
async fn the_end_of_the_first_request_is_not_the_beginning_of_the_second() {
    let mut wire = wire();
    let first = push(&mut wire);
    let one = pending(&wire);
    let second = push(&mut wire);
    wire.advance(one);
    wire.fail(clock::now(), &Error::new(ErrorKind::Unreachable, "cut"));
    assert!(matches!(first.await.unwrap(), Err(RequestFailure::Unanswered(_))));
    assert!(matches!(second.await.unwrap(), Err(RequestFailure::NotSent(_))));
}

#[tokio::test]
async fn a_request_without_answer_is_over_when_its_last_byte_was_written() {
    let mut wire = wire();
    let mut first = push_one_way(&mut wire);
    let one = pending(&wire);
    let (mut second, answered) = (push_one_way(&mut wire), push(&mut wire));
    assert!(wire.deadline().is_some());
    wire.advance(one - 1);
    assert!(first.try_recv().is_err() && !wire.is_trusting());
    wire.advance(1);
    let answer = first.try_recv().unwrap();
    let Ok(ResponseBody::Produce(response)) = answer else {
        panic!("{answer:?}");
    };
    assert!(response.topics.is_empty() && wire.is_trusting());
    assert!(second.try_recv().is_err(), "the next one is not written yet");
    wire.advance(1);
    wire.fail(clock::now(), &Error::new(ErrorKind::Unreachable, "cut"));
    assert!(matches!(
        second.await.unwrap(),
        Err(RequestFailure::Unanswered(_))
    ));
    assert!(matches!(answered.await.unwrap(), Err(RequestFailure::NotSent(_))));
}

#[tokio::test]
async fn a_connection_with_nothing_but_unwritten_requests_is_not_idle() {
    let mut wire = wire();
    let _answer = push_one_way(&mut wire);
    assert!(!wire.is_idle());
    wire.advance(pending(&wire));
    assert!(wire.is_idle() && wire.deadline().is_none());
}
