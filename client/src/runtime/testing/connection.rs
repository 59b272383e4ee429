//! One connection: order, pipelining, poison, what is told to whom when it ends, and starting over.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use sealwax_protocol::StrBytes;
use sealwax_protocol::ids::NodeId;
use sealwax_protocol::messages::{InitProducerIdRequest, TransactionalId};
use sealwax_protocol::produce::{ProduceRequest, ProduceResponse};
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;
use sealwax_protocol::version::{ApiVersions, VersionRange};
use tokio::sync::oneshot;

use super::peer::{Conversation, Peer, empty_topic, encode, names};
use crate::config::Address;
use crate::error::{Error, ErrorKind};
use crate::machine::metadata::refresh;
use crate::machine::peer::{LinkState, Peer as Target};
use crate::machine::retry::Backoff;
use crate::machine::{Lane, RequestFailure};
use crate::runtime::clock;
use crate::runtime::link::{LinkSettings, Observer};
use crate::runtime::pool::Pool;
use crate::runtime::wire::{Answer, Request};

/// Notes what it is told.
#[derive(Default)]
struct Notes(Mutex<Vec<&'static str>>);

impl Observer for Notes {
    fn connected(&self, _peer: Target, _versions: &ApiVersions) {
        self.0.lock().unwrap().push("connected");
    }

    fn failed(&self, _peer: Target, _error: &Error) {
        self.0.lock().unwrap().push("failed");
    }
}

struct Setup {
    peer: Peer,
    pool: Pool,
    notes: Arc<Notes>,
    patience: Duration,
}

impl Setup {
    async fn new() -> Self {
        Self::with(Duration::from_secs(600)).await
    }

    async fn with(idle_limit: Duration) -> Self {
        let notes = Arc::new(Notes::default());
        let settings = LinkSettings {
            client_id: "test".to_owned(),
            setup_timeout: Duration::from_secs(10),
            idle_limit,
            backoff: Backoff {
                initial: Duration::from_millis(1),
                max: Duration::from_millis(5),
            },
            max_frame_bytes: 1024 * 1024,
        };
        Self {
            peer: Peer::listen().await,
            pool: Pool::new(settings, Arc::clone(&notes) as Arc<dyn Observer>),
            notes,
            patience: Duration::from_secs(30),
        }
    }

    /// Submits a Metadata request for one topic, by which the test tells requests apart.
    fn ask(&self, topic: &str) -> oneshot::Receiver<Answer> {
        self.submit(refresh::request(std::iter::once(topic), false).into())
    }

    fn submit(&self, body: RequestBody) -> oneshot::Receiver<Answer> {
        let (answer, receiver) = oneshot::channel();
        let address = Address::parse(&self.peer.address()).unwrap();
        let request = Request {
            versions: body.versions(),
            body,
            deadline: clock::now() + self.patience,
            answer,
        };
        self.pool
            .enqueue(Target::Broker(NodeId(1)), &address, Lane::General, request);
        receiver
    }

    async fn answer_next(&self, conversation: &mut Conversation, topic: &'static str) {
        let (header, body) = conversation.receive().await;
        assert_eq!(names(&body), [topic]);
        let answer = self.peer.metadata(1).with_topics(vec![empty_topic(topic)]);
        conversation.answer(&header, answer).await;
    }
}

fn topic_of(answer: Answer) -> String {
    let Ok(ResponseBody::Metadata(response)) = answer else {
        panic!("no metadata: {answer:?}");
    };
    response.topics[0].name.as_ref().unwrap().0.to_string()
}

fn unanswered(answer: Answer) -> Error {
    match answer {
        Err(RequestFailure::Unanswered(error)) => error,
        other => panic!("not unanswered: {other:?}"),
    }
}

fn not_sent(answer: Answer) -> Error {
    match answer {
        Err(RequestFailure::NotSent(error)) => error,
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test]
async fn requests_are_pipelined_in_order_and_each_gets_its_own_answer() {
    let setup = Setup::new().await;
    let answers: Vec<_> = ["a", "b", "c"].map(|topic| setup.ask(topic)).into();
    let mut conversation = setup.peer.accept_and_greet().await;
    let mut headers = Vec::new();
    for topic in ["a", "b", "c"] {
        let (header, body) = conversation.receive().await;
        assert_eq!(
            names(&body),
            [topic],
            "all three are on the way before one is answered"
        );
        headers.push(header);
    }
    for (header, topic) in headers.iter().zip(["a", "b", "c"]) {
        let answer = setup.peer.metadata(1).with_topics(vec![empty_topic(topic)]);
        conversation.answer(header, answer).await;
    }
    for (answer, topic) in answers.into_iter().zip(["a", "b", "c"]) {
        assert_eq!(topic_of(answer.await.unwrap()), topic);
    }
}

#[tokio::test]
async fn an_answer_out_of_order_ends_the_connection() {
    let setup = Setup::new().await;
    let (a, b) = (setup.ask("a"), setup.ask("b"));
    let mut conversation = setup.peer.accept_and_greet().await;
    conversation.receive().await;
    let (second, _) = conversation.receive().await;
    conversation.answer(&second, setup.peer.metadata(1)).await;
    let error = unanswered(a.await.unwrap());
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("out of order"), "{error}");
    unanswered(b.await.unwrap());
    conversation.closed().await;
}

#[tokio::test]
async fn a_damaged_answer_ends_the_connection_for_all_behind_it() {
    let setup = Setup::new().await;
    let (a, b) = (setup.ask("a"), setup.ask("b"));
    let mut conversation = setup.peer.accept_and_greet().await;
    let (first, _) = conversation.receive().await;
    conversation.receive().await;
    let mut bytes = encode(
        first.correlation_id,
        first.version,
        &ResponseBody::Metadata(setup.peer.metadata(1)),
    );
    bytes.pop();
    let length = u32::try_from(bytes.len() - 4).unwrap();
    bytes[..4].copy_from_slice(&length.to_be_bytes());
    conversation.send_bytes(&bytes).await;
    assert_eq!(unanswered(a.await.unwrap()).kind(), ErrorKind::Corrupt);
    unanswered(b.await.unwrap());
    conversation.closed().await;
}

#[tokio::test]
async fn a_connection_cut_in_the_middle_of_an_answer_leaves_the_request_unanswered() {
    let setup = Setup::new().await;
    let answer = setup.ask("a");
    let mut conversation = setup.peer.accept_and_greet().await;
    let (header, _) = conversation.receive().await;
    let bytes = encode(
        header.correlation_id,
        header.version,
        &ResponseBody::Metadata(setup.peer.metadata(1)),
    );
    conversation.send_bytes(&bytes[..bytes.len() / 2]).await;
    drop(conversation);
    let error = unanswered(answer.await.unwrap());
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert_eq!(
        *setup.notes.0.lock().unwrap(),
        ["connected", "failed"],
        "told before the answer is"
    );
}

#[tokio::test]
async fn without_a_connection_requests_fail_as_not_sent() {
    let mut setup = Setup::new().await;
    let dead = std::mem::replace(&mut setup.peer, Peer::listen().await);
    let live = std::mem::replace(&mut setup.peer, dead);
    let address = Address::parse(&setup.peer.address()).unwrap();
    drop(std::mem::replace(&mut setup.peer, live));
    let ask = || {
        let (answer, receiver) = oneshot::channel();
        let body = RequestBody::from(refresh::request(std::iter::empty(), false));
        let request = Request {
            versions: body.versions(),
            body,
            deadline: clock::now() + Duration::from_secs(30),
            answer,
        };
        setup
            .pool
            .enqueue(Target::Broker(NodeId(9)), &address, Lane::General, request);
        receiver
    };
    let (first, second) = (ask(), ask());
    for answer in [first, second] {
        let error = not_sent(answer.await.unwrap());
        assert_eq!(error.kind(), ErrorKind::Unreachable);
        let message = error.to_string();
        assert!(
            message.contains("broker 9") && message.contains("advertised.listeners"),
            "{message}"
        );
    }
}

#[tokio::test]
async fn the_next_request_opens_a_new_connection() {
    let setup = Setup::new().await;
    let first = setup.ask("a");
    let mut conversation = setup.peer.accept_and_greet().await;
    conversation.receive().await;
    drop(conversation);
    unanswered(first.await.unwrap());
    let second = setup.ask("b");
    let mut conversation = setup.peer.accept_and_greet().await;
    setup.answer_next(&mut conversation, "b").await;
    assert_eq!(topic_of(second.await.unwrap()), "b");
}

#[tokio::test]
async fn a_connection_that_the_broker_closes_while_idle_is_no_failure() {
    let setup = Setup::new().await;
    let first = setup.ask("a");
    let mut conversation = setup.peer.accept_and_greet().await;
    setup.answer_next(&mut conversation, "a").await;
    first.await.unwrap().unwrap();
    drop(conversation);
    while setup.pool.state(Target::Broker(NodeId(1)), Lane::General) != LinkState::Idle {
        tokio::task::yield_now().await;
    }
    let second = setup.ask("b");
    let mut conversation = setup.peer.accept_and_greet().await;
    setup.answer_next(&mut conversation, "b").await;
    assert_eq!(topic_of(second.await.unwrap()), "b");
    assert_eq!(*setup.notes.0.lock().unwrap(), ["connected", "connected"]);
}

#[tokio::test]
async fn an_unused_connection_is_closed_after_a_while() {
    let setup = Setup::with(Duration::from_millis(50)).await;
    let answer = setup.ask("a");
    let mut conversation = setup.peer.accept_and_greet().await;
    setup.answer_next(&mut conversation, "a").await;
    answer.await.unwrap().unwrap();
    conversation.closed().await;
}

#[tokio::test]
async fn a_request_that_stays_unanswered_ends_the_connection() {
    let mut setup = Setup::new().await;
    setup.patience = Duration::from_millis(200);
    let hasty = setup.ask("a");
    setup.patience = Duration::from_secs(30);
    let patient = setup.ask("b");
    let mut conversation = setup.peer.accept_and_greet().await;
    conversation.receive().await;
    conversation.receive().await;
    assert_eq!(unanswered(hasty.await.unwrap()).kind(), ErrorKind::Timeout);
    let error = unanswered(patient.await.unwrap());
    assert!(
        error
            .to_string()
            .contains("an earlier request on it went unanswered"),
        "{error}"
    );
    conversation.closed().await;
}

#[tokio::test]
async fn a_request_whose_time_is_over_before_a_connection_stands_is_not_sent() {
    let mut setup = Setup::new().await;
    setup.patience = Duration::from_millis(100);
    let answer = setup.ask("a");
    let _silent = setup.peer.accept().await;
    assert_eq!(not_sent(answer.await.unwrap()).kind(), ErrorKind::Timeout);
}

#[tokio::test]
async fn a_waiter_that_gives_up_does_not_shift_the_answers_of_others() {
    let setup = Setup::new().await;
    let (a, b) = (setup.ask("a"), setup.ask("b"));
    let mut conversation = setup.peer.accept_and_greet().await;
    let (header, _) = conversation.receive().await;
    drop(a);
    let answer = setup.peer.metadata(1).with_topics(vec![empty_topic("a")]);
    conversation.answer(&header, answer).await;
    setup.answer_next(&mut conversation, "b").await;
    assert_eq!(topic_of(b.await.unwrap()), "b");
}

#[tokio::test]
async fn a_request_that_nobody_waits_for_any_more_is_not_sent() {
    let setup = Setup::new().await;
    let (a, b) = (setup.ask("a"), setup.ask("b"));
    drop(a);
    let mut conversation = setup.peer.accept_and_greet().await;
    setup.answer_next(&mut conversation, "b").await;
    assert_eq!(topic_of(b.await.unwrap()), "b");
}

#[tokio::test]
async fn a_version_that_the_broker_lacks_is_named_and_harms_nobody_else() {
    let setup = Setup::new().await;
    let (answer, receiver) = oneshot::channel();
    let body = RequestBody::from(
        InitProducerIdRequest::default()
            .with_transactional_id(Some(TransactionalId(StrBytes::from_static_str("t")))),
    );
    let request = Request {
        body,
        versions: VersionRange { min: 6, max: 6 },
        deadline: clock::now() + Duration::from_secs(30),
        answer,
    };
    let address = Address::parse(&setup.peer.address()).unwrap();
    setup
        .pool
        .enqueue(Target::Broker(NodeId(1)), &address, Lane::General, request);
    let other = setup.ask("a");
    let mut conversation = setup.peer.accept_and_greet().await;
    setup.answer_next(&mut conversation, "a").await;
    other.await.unwrap().unwrap();
    let error = not_sent(receiver.await.unwrap());
    assert_eq!(error.kind(), ErrorKind::UnsupportedVersion);
    let message = error.to_string();
    assert!(
        message.contains("InitProducerId") && message.contains("offers 0 to 5"),
        "{message}"
    );
}

#[tokio::test]
async fn connections_end_with_the_pool() {
    let setup = Setup::new().await;
    let answer = setup.ask("a");
    let mut conversation = setup.peer.accept_and_greet().await;
    setup.answer_next(&mut conversation, "a").await;
    answer.await.unwrap().unwrap();
    let forgotten = setup.ask("b");
    conversation.receive().await;
    drop(forgotten);
    drop(setup.pool);
    conversation.closed().await;
}

#[tokio::test]
async fn a_broker_that_hangs_up_after_what_it_does_not_answer_has_failed() {
    for (acks, told) in [(0, "failed"), (1, "connected")] {
        let setup = Setup::new().await;
        let request = ProduceRequest {
            transactional_id: None,
            acks,
            timeout_ms: 1000,
            topics: Vec::new(),
        };
        let answer = setup.submit(request.into());
        let mut conversation = setup.peer.accept_and_greet().await;
        let (header, _) = conversation.receive().await;
        if acks != 0 {
            let response = ProduceResponse {
                topics: Vec::new(),
                throttle_time_ms: 0,
                node_endpoints: Vec::new(),
            };
            conversation
                .answer(&header, ResponseBody::Produce(response))
                .await;
        }
        answer.await.unwrap().unwrap();
        drop(conversation);
        while setup.pool.state(Target::Broker(NodeId(1)), Lane::General) == LinkState::Up {
            tokio::task::yield_now().await;
        }
        // The next one needs another connection.
        let next = setup.ask("a");
        let mut conversation = setup.peer.accept_and_greet().await;
        setup.answer_next(&mut conversation, "a").await;
        assert_eq!(topic_of(next.await.unwrap()), "a");
        assert_eq!(setup.notes.0.lock().unwrap()[1], told);
    }
}
