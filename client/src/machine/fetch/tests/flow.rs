//! What is fetched when: back-pressure, turns, several brokers, throttling, positions.

use super::*;
use sealwax_protocol::fetch::AbortedTransaction;
use sealwax_protocol::ids::ProducerId;

fn names(outbound: &Outbound) -> Vec<i32> {
    asked(outbound)
        .into_iter()
        .map(|(_, partition, _)| partition)
        .collect()
}

#[test]
fn a_partition_is_not_fetched_again_before_its_data_was_taken() {
    let mut bench = Bench::assigned([topic("a", 1, 0, &[1])], [("a", 0, Start::At(0))]);
    let outbound = bench.request();
    assert!(bench.requests().is_empty(), "one request is in flight");
    bench.answer(&outbound, |_, _| data(0, 3, 10));
    assert!(bench.requests().is_empty(), "the data was not taken yet");
    bench.pass(PAUSE);
    assert!(bench.requests().is_empty());
    assert_eq!(bench.machine.position(&tp("a", 0)), Some(0));
    assert_eq!(bench.taken(), (tp("a", 0), vec![0, 1, 2], 3));
    assert_eq!(bench.machine.position(&tp("a", 0)), Some(3));
    assert!(bench.take().is_none());
    assert_eq!(asked(&bench.request()), [("a".to_owned(), 0, 3)]);
}

#[test]
fn brokers_are_asked_side_by_side() {
    let mut bench = Bench::assigned(
        [topic("a", 1, 0, &[1, 2])],
        [("a", 0, Start::At(0)), ("a", 1, Start::At(0))],
    );
    let requests = bench.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].to, Destination::Node(NodeId(1)));
    assert_eq!(requests[1].to, Destination::Node(NodeId(2)));
    // The answers come in the other order, and one broker goes on while the other is slow.
    bench.answer(&requests[1], |_, _| data(0, 1, 5));
    assert_eq!(bench.taken().0, tp("a", 1));
    let next = bench.request();
    assert_eq!(next.to, Destination::Node(NodeId(2)));
    bench.answer(&requests[0], |_, _| data(0, 1, 5));
    assert_eq!(bench.taken().0, tp("a", 0));
}

#[test]
fn partitions_that_brought_data_go_to_the_end_of_the_next_request() {
    let parts = [0, 1, 2].map(|partition| ("a", partition, Start::At(0)));
    let mut bench = Bench::assigned([topic("a", 1, 0, &[1, 1, 1])], parts);
    let outbound = bench.request();
    assert_eq!(names(&outbound), [0, 1, 2]);
    bench.answer(
        &outbound,
        |_, partition| {
            if partition == 0 { data(0, 1, 1) } else { empty(0) }
        },
    );
    bench.taken();
    let outbound = bench.request();
    assert_eq!(names(&outbound), [1, 2, 0]);
    bench.answer(
        &outbound,
        |_, partition| {
            if partition == 1 { data(0, 1, 1) } else { empty(1) }
        },
    );
    bench.taken();
    assert_eq!(names(&bench.request()), [2, 0, 1]);
}

#[test]
fn data_is_taken_in_turns() {
    let parts = [0, 1].map(|partition| ("a", partition, Start::At(0)));
    let mut bench = Bench::assigned([topic("a", 1, 0, &[1, 2])], parts);
    let requests = bench.requests();
    bench.answer(&requests[1], |_, _| data(0, 1, 9));
    bench.answer(&requests[0], |_, _| data(0, 1, 9));
    assert_eq!(bench.taken().0, tp("a", 1));
    let next = bench.request();
    bench.answer(&next, |_, _| data(1, 1, 9));
    assert_eq!(bench.taken().0, tp("a", 0));
    assert_eq!(bench.taken().0, tp("a", 1));
}

#[test]
fn while_data_waits_only_partitions_with_a_backlog_are_fetched_and_the_broker_may_not_wait() {
    let parts = [0, 1, 2].map(|partition| ("a", partition, Start::At(0)));
    let mut bench = Bench::assigned([topic("a", 1, 0, &[1, 1, 1])], parts);
    let outbound = bench.request();
    assert_eq!(fetch(&outbound).max_wait_ms, 500);
    bench.answer(&outbound, |_, partition| match partition {
        0 => data(0, 2, 2),
        1 => data(0, 2, 10),
        _ => data(0, 2, 10),
    });
    assert_eq!(bench.taken().0, tp("a", 0));
    assert!(bench.requests().is_empty(), "partition 0 is at its end");
    assert_eq!(bench.taken().0, tp("a", 1));
    let outbound = bench.request();
    assert_eq!(names(&outbound), [1]);
    assert_eq!(fetch(&outbound).max_wait_ms, 0);
    // The backlog was not there after all: no second try before everything was taken.
    bench.answer(&outbound, |_, _| empty(10));
    assert!(bench.requests().is_empty());
    assert_eq!(bench.taken().0, tp("a", 2));
    let outbound = bench.request();
    assert_eq!(names(&outbound), [0, 1, 2]);
    assert_eq!(fetch(&outbound).max_wait_ms, 500);
}

#[test]
fn an_answer_that_came_after_a_seek_is_stale() {
    let mut bench = Bench::assigned([topic("a", 1, 0, &[1])], [("a", 0, Start::At(0))]);
    let outbound = bench.request();
    assert!(bench.machine.seek(bench.now, &tp("a", 0), Start::At(100)));
    assert!(
        bench.requests().is_empty(),
        "the broker still works on the last request"
    );
    bench.answer(&outbound, |_, _| data(0, 3, 200));
    assert!(bench.take().is_none());
    assert_eq!(asked(&bench.request()), [("a".to_owned(), 0, 100)]);
}

#[test]
fn an_answer_that_came_after_an_assignment_is_stale_also_for_the_same_offset() {
    let mut bench = Bench::assigned([topic("a", 1, 0, &[1])], [("a", 0, Start::At(0))]);
    let stale = bench.request();
    bench.assign([("a", 0, Start::At(0))]);
    bench.answer(&stale, |_, _| data(0, 3, 3));
    assert!(bench.take().is_none());
    let outbound = bench.request();
    bench.answer(&outbound, |_, _| data(0, 3, 3));
    assert_eq!(bench.taken().1, [0, 1, 2]);
}

#[test]
fn a_seek_drops_what_was_fetched() {
    let mut bench = Bench::assigned([topic("a", 1, 0, &[1])], [("a", 0, Start::At(0))]);
    let outbound = bench.request();
    bench.answer(&outbound, |_, _| data(0, 3, 9));
    assert!(bench.machine.seek(bench.now, &tp("a", 0), Start::At(1)));
    assert!(
        bench.machine.ready.is_empty(),
        "who seeks for ever must not fill the memory"
    );
    assert!(bench.take().is_none());
    let outbound = bench.request();
    bench.answer(&outbound, |_, _| data(0, 3, 9));
    assert_eq!(bench.taken().1, [1, 2]);
    assert!(!bench.machine.seek(bench.now, &tp("b", 0), Start::At(1)));
}

#[test]
fn a_position_that_moved_over_invisible_records_is_told_without_records() {
    let mut bench = Bench::assigned([topic("a", 1, 0, &[1])], [("a", 0, Start::At(0))]);
    let outbound = bench.request();
    let log = [
        Batch::new(Kind::Transactional, 7, 0, 2),
        Batch::marker(Kind::Abort, 7, 2),
    ];
    bench.answer(&outbound, |_, _| FetchPartitionResponse {
        aborted_transactions: Some(vec![AbortedTransaction {
            producer_id: ProducerId(7),
            first_offset: 0,
        }]),
        ..bytes(encode(&log), 3)
    });
    let fetched = bench.machine.take(bench.now).unwrap().unwrap();
    assert_eq!(fetched.records().count(), 0);
    assert_eq!(
        (fetched.visible.next_offset, fetched.visible.aborted_records),
        (3, 2)
    );
    assert_eq!(bench.machine.position(&tp("a", 0)), Some(3));
}

#[test]
fn watermarks_are_those_of_the_last_answer() {
    let mut bench = Bench::assigned([topic("a", 1, 0, &[1])], [("a", 0, Start::At(0))]);
    let name = tp("a", 0);
    assert_eq!(bench.machine.high_watermark(&name), None);
    let outbound = bench.request();
    bench.answer(&outbound, |_, _| FetchPartitionResponse {
        last_stable_offset: 5,
        ..empty(8)
    });
    assert_eq!(bench.machine.high_watermark(&name), Some(8));
    assert_eq!(bench.machine.last_stable_offset(&name), Some(5));
    let outbound = bench.request();
    bench.answer(&outbound, |_, _| refusal(ErrorCode::NOT_LEADER_OR_FOLLOWER));
    assert_eq!(
        bench.machine.high_watermark(&name),
        Some(8),
        "an error tells nothing"
    );
}

#[test]
fn a_broker_that_throttles_is_left_in_peace_for_that_time() {
    let mut bench = Bench::assigned([topic("a", 1, 0, &[1])], [("a", 0, Start::At(0))]);
    let outbound = bench.request();
    let part = FetchTopicResponse {
        name: "".into(),
        id: topic_id(1),
        partitions: vec![empty(0)],
    };
    bench.respond(outbound.id, fetch_response(5_000, vec![part]));
    bench.pass(Duration::from_millis(4_999));
    assert!(bench.requests().is_empty());
    bench.pass(Duration::from_millis(1));
    assert_eq!(bench.requests().len(), 1);
}

#[test]
fn answers_of_version_12_name_the_topic() {
    let mut bench = Bench::assigned([topic("a", 0, 0, &[1])], [("a", 0, Start::At(0))]);
    let outbound = bench.request();
    let part = FetchTopicResponse {
        name: "a".into(),
        id: topic_id(0),
        partitions: vec![data(0, 1, 1)],
    };
    bench.respond(outbound.id, fetch_response(0, vec![part]));
    assert_eq!(bench.taken().1, [0]);
}

#[test]
fn waiting_for_nothing_is_an_error() {
    let mut bench = Bench::assigned([topic("a", 1, 0, &[1])], []);
    assert_eq!(bench.error().kind(), ErrorKind::InvalidState);
    bench.assign([("a", 0, Start::At(0))]);
    assert!(bench.take().is_none());
}

#[test]
fn topics_are_wished_for_once_each() {
    let mut bench = Bench::new(ConsumerConfig::default());
    bench.assign([("a", 0, EARLIEST), ("b", 0, EARLIEST), ("a", 1, EARLIEST)]);
    assert_eq!(
        bench.directives(),
        ["a", "b"].map(|topic| Directive::NeedTopic(topic.into()))
    );
    assert!(bench.requests().is_empty());
    assert!(bench.machine.poll_event().is_none());
}

#[test]
fn a_closed_machine_asks_for_nothing_and_is_drained() {
    let mut bench = Bench::assigned([topic("a", 1, 0, &[1])], [("a", 0, Start::At(0))]);
    let outbound = bench.request();
    bench.machine.handle_close(bench.now);
    assert!(bench.machine.is_drained());
    bench.answer(&outbound, |_, _| data(0, 1, 1));
    assert!(bench.requests().is_empty());
}

#[test]
fn an_answer_is_stale_also_while_another_request_is_awaited() {
    let mut bench = Bench::assigned([topic("a", 1, 0, &[1])], [("a", 0, Start::At(0))]);
    let stale = bench.request();
    assert!(bench.machine.seek(bench.now, &tp("a", 0), Start::At(1)));
    bench.cluster([topic("a", 1, 1, &[2])]);
    let outbound = bench.request();
    assert_eq!(outbound.to, Destination::Node(NodeId(2)));
    bench.answer(&stale, |_, _| data(0, 3, 3));
    assert!(bench.take().is_none());
    bench.answer(&outbound, |_, _| data(0, 3, 3));
    assert_eq!(bench.taken().1, [1, 2]);
}

#[test]
fn the_machine_wants_to_be_woken_at_the_earliest_of_its_pauses() {
    let parts = [0, 1].map(|partition| ("a", partition, Start::At(0)));
    let mut bench = Bench::assigned([topic("a", 1, 0, &[1, 2])], parts);
    let requests = bench.requests();
    let part = FetchTopicResponse {
        name: "".into(),
        id: topic_id(1),
        partitions: vec![empty(0)],
    };
    bench.respond(requests[0].id, fetch_response(60_000, vec![part]));
    bench.fail(requests[1].id, ErrorKind::Unreachable);
    bench.pass(PAUSE);
    assert_eq!(names(&bench.request()), [1]);
}
