//! Where reading begins: ListOffsets, its retries, and what happens when an offset is not in the log.

use super::*;
use sealwax_protocol::fetch::IsolationLevel;

#[test]
fn policies_are_asked_of_each_leader_in_one_request_with_isolation_and_epoch() {
    let mut bench = Bench::assigned(
        [topic("a", 1, 5, &[1, 2]), topic("b", 2, 6, &[1])],
        [("a", 0, EARLIEST), ("a", 1, LATEST), ("b", 0, LATEST)],
    );
    let requests = bench.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].to, Destination::Node(NodeId(1)));
    assert_eq!(requests[0].lane, Lane::General);
    assert_eq!(requests[1].to, Destination::Node(NodeId(2)));
    let request = list_offsets(&requests[0]);
    assert_eq!(request.isolation_level, IsolationLevel::ReadCommitted.code());
    let asked: Vec<_> = request
        .topics
        .iter()
        .flat_map(|topic| {
            topic.partitions.iter().map(|partition| {
                (
                    topic.name.0.to_string(),
                    partition.partition_index,
                    partition.timestamp,
                    partition.current_leader_epoch,
                )
            })
        })
        .collect();
    assert_eq!(asked, [("a".to_owned(), 0, -2, 5), ("b".to_owned(), 0, -1, 6)]);

    bench.offsets(&requests[0], |topic, _| Ok(if topic == "a" { 10 } else { 20 }));
    assert_eq!(bench.machine.position(&tp("a", 0)), Some(10));
    assert_eq!(bench.machine.position(&tp("a", 1)), None);
    assert_eq!(
        asked_names(&bench.request()),
        [("a".to_owned(), 0, 10), ("b".to_owned(), 0, 20)]
    );
    bench.offsets(&requests[1], |_, _| Ok(30));
    assert_eq!(asked_names(&bench.request()), [("a".to_owned(), 1, 30)]);
}

fn asked_names(outbound: &Outbound) -> Vec<(String, i32, i64)> {
    asked(outbound)
}

#[test]
fn an_offset_that_is_given_is_fetched_without_a_question() {
    let mut bench = Bench::assigned([topic("a", 1, 5, &[3])], [("a", 0, Start::At(42))]);
    let outbound = bench.request();
    assert_eq!(outbound.to, Destination::Node(NodeId(3)));
    assert_eq!(outbound.lane, Lane::Fetch);
    assert!(outbound.deadline > bench.now);
    let request = fetch(&outbound);
    assert_eq!((request.session_id, request.session_epoch), (0, -1));
    assert_eq!((request.max_wait_ms, request.min_bytes), (500, 1));
    assert_eq!(request.isolation_level, IsolationLevel::ReadCommitted);
    assert_eq!(request.topics[0].id, topic_id(1));
    let partition = &request.topics[0].partitions[0];
    assert_eq!(partition.current_leader_epoch, LeaderEpoch(5));
    assert_eq!((partition.fetch_offset, partition.max_bytes), (42, 1024 * 1024));
}

#[test]
fn a_question_that_was_refused_for_the_moment_is_asked_again_after_a_pause() {
    let mut bench = Bench::assigned([topic("a", 1, 0, &[1])], [("a", 0, EARLIEST)]);
    bench.directives();
    let outbound = bench.request();
    bench.offsets(&outbound, |_, _| Err(ErrorCode::NOT_LEADER_OR_FOLLOWER));
    assert_eq!(bench.directives(), [Directive::RefreshMetadata]);
    assert!(bench.requests().is_empty());
    bench.cluster([topic("a", 1, 1, &[2])]);
    bench.pass(PAUSE);
    let outbound = bench.request();
    assert_eq!(outbound.to, Destination::Node(NodeId(2)));
    bench.offsets(&outbound, |_, _| Ok(7));
    assert_eq!(bench.machine.position(&tp("a", 0)), Some(7));
}

#[test]
fn a_question_that_the_answer_leaves_out_is_asked_again() {
    let mut bench = Bench::assigned([topic("a", 1, 0, &[1])], [("a", 0, EARLIEST)]);
    let outbound = bench.request();
    bench.respond(
        outbound.id,
        ResponseBody::ListOffsets(ListOffsetsResponse::default().with_topics(vec![
            ListOffsetsTopicResponse::default().with_name(TopicName(StrBytes::from_static_str("other"))),
        ])),
    );
    bench.pass(PAUSE);
    let outbound = bench.request();
    bench.offsets(&outbound, |_, _| Ok(7));
    assert_eq!(bench.machine.position(&tp("a", 0)), Some(7));
}

#[test]
fn an_answer_for_a_partition_that_was_sought_meanwhile_is_stale() {
    let mut bench = Bench::assigned([topic("a", 1, 0, &[1])], [("a", 0, EARLIEST)]);
    let outbound = bench.request();
    assert!(bench.machine.seek(bench.now, &tp("a", 0), Start::At(99)));
    bench.offsets(&outbound, |_, _| Ok(7));
    assert_eq!(bench.machine.position(&tp("a", 0)), Some(99));
}

#[test]
fn a_given_offset_that_is_not_in_the_log_is_an_error_that_names_the_logs_ends() {
    let mut bench = Bench::assigned(
        [topic("a", 1, 0, &[1, 1])],
        [("a", 0, Start::At(500)), ("a", 1, Start::At(0))],
    );
    let outbound = bench.request();
    bench.answer(&outbound, |_, partition| match partition {
        0 => refusal(ErrorCode::OFFSET_OUT_OF_RANGE),
        _ => data(0, 1, 1),
    });
    assert_eq!(bench.taken().0, tp("a", 1));
    bench.pass(PAUSE);
    let requests = bench.requests();
    bench.offsets(&requests[0], |_, _| Ok(10));
    let question = bench.request();
    assert_eq!(bench.machine.position(&tp("a", 0)), Some(500));
    bench.offsets(&question, |_, _| Ok(20));
    let error = bench.error();
    assert_eq!(error.kind(), ErrorKind::OffsetOutOfRange);
    assert_eq!(error.code(), Some(ErrorCode::OFFSET_OUT_OF_RANGE));
    let text = error.to_string();
    for part in ["a-0", "500", "from 10 to 20"] {
        assert!(text.contains(part), "{text}");
    }

    // The other partition goes on; the failed one waits for a seek.
    bench.answer(&requests[1], |_, _| empty(1));
    assert_eq!(asked(&bench.request()), [("a".to_owned(), 1, 1)]);
    bench.pass(PAUSE);
    assert!(bench.requests().is_empty());
    assert_eq!(bench.machine.position(&tp("a", 0)), Some(500));
    assert!(bench.machine.seek(bench.now, &tp("a", 0), Start::At(15)));
    assert_eq!(bench.machine.position(&tp("a", 0)), Some(15));
}

#[test]
fn out_of_range_although_the_log_has_the_offset_is_fetched_once_more() {
    let mut bench = Bench::assigned([topic("a", 1, 0, &[1])], [("a", 0, Start::At(15))]);
    for _ in 0..2 {
        let outbound = bench.request();
        bench.answer(&outbound, |_, _| refusal(ErrorCode::OFFSET_OUT_OF_RANGE));
        bench.pass(PAUSE);
        assert!(bench.take().is_none());
        for offset in [10, 20] {
            let question = bench.request();
            bench.offsets(&question, |_, _| Ok(offset));
        }
        bench.pass(PAUSE);
    }
    assert_eq!(bench.error().kind(), ErrorKind::OffsetOutOfRange);
}

#[test]
fn an_offset_from_a_policy_that_is_gone_before_anything_was_read_is_asked_for_again() {
    let mut bench = Bench::assigned([topic("a", 1, 0, &[1])], [("a", 0, EARLIEST)]);
    let question = bench.request();
    bench.offsets(&question, |_, _| Ok(10));
    let outbound = bench.request();
    bench.answer(&outbound, |_, _| refusal(ErrorCode::OFFSET_OUT_OF_RANGE));
    assert!(bench.take().is_none());
    bench.pass(PAUSE);
    let question = bench.request();
    bench.offsets(&question, |_, _| Ok(12));
    let outbound = bench.request();
    assert_eq!(asked(&outbound), [("a".to_owned(), 0, 12)]);

    // Once something was read from there, the position is the reader's own.
    bench.answer(&outbound, |_, _| data(12, 1, 13));
    bench.taken();
    let outbound = bench.request();
    bench.answer(&outbound, |_, _| refusal(ErrorCode::OFFSET_OUT_OF_RANGE));
    bench.pass(PAUSE);
    for offset in [50, 60] {
        let question = bench.request();
        bench.offsets(&question, |_, _| Ok(offset));
    }
    assert_eq!(bench.error().kind(), ErrorKind::OffsetOutOfRange);
}
