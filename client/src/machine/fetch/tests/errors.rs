//! What errors do: which are waited out, which reach the application, and that the other partitions go on.

use super::*;

fn one() -> Bench {
    let mut bench = Bench::assigned([topic("a", 1, 0, &[1])], [("a", 0, Start::At(0))]);
    bench.directives();
    bench
}

#[test]
fn a_leader_that_moved_is_found_by_newer_metadata_and_asked_after_a_pause() {
    for code in [3, 6, 9, 56, 74, 75, 78, 100, 103, -1].map(ErrorCode) {
        let mut bench = one();
        let outbound = bench.request();
        bench.answer(&outbound, |_, _| refusal(code));
        assert_eq!(bench.directives(), [Directive::RefreshMetadata], "{code}");
        assert!(bench.requests().is_empty(), "{code}");
        bench.cluster([topic("a", 1, 1, &[2])]);
        bench.pass(PAUSE);
        let outbound = bench.request();
        assert_eq!(outbound.to, Destination::Node(NodeId(2)), "{code}");
        let partition = &fetch(&outbound).topics[0].partitions[0];
        assert_eq!(partition.current_leader_epoch, LeaderEpoch(1));
        assert_eq!(partition.fetch_offset, 0, "{code} must not move the position");
    }
}

#[test]
fn an_error_of_the_whole_answer_counts_for_all_its_partitions() {
    let mut bench = Bench::assigned(
        [topic("a", 1, 0, &[1, 1])],
        [("a", 0, Start::At(0)), ("a", 1, Start::At(0))],
    );
    let outbound = bench.request();
    bench.respond(
        outbound.id,
        ResponseBody::Fetch(FetchResponse {
            throttle_time_ms: 0,
            error_code: ErrorCode::INCONSISTENT_TOPIC_ID,
            session_id: 0,
            topics: Vec::new(),
            node_endpoints: Vec::new(),
        }),
    );
    assert!(bench.requests().is_empty());
    bench.pass(PAUSE);
    let count: usize = bench
        .requests()
        .iter()
        .map(|outbound| asked(outbound).len())
        .sum();
    assert_eq!(count, 2);
}

#[test]
fn a_partition_that_the_answer_leaves_out_is_asked_for_again() {
    let mut bench = one();
    let outbound = bench.request();
    bench.respond(outbound.id, fetch_response(0, Vec::new()));
    assert!(bench.requests().is_empty());
    bench.pass(PAUSE);
    assert_eq!(asked(&bench.request()), [("a".to_owned(), 0, 0)]);
}

#[test]
fn a_partition_without_a_leader_is_waited_for() {
    let mut bench = Bench::assigned([topic("a", 1, 0, &[-1])], [("a", 0, Start::At(0))]);
    bench.directives();
    assert!(bench.requests().is_empty());
    bench.pass(Duration::from_secs(60));
    assert_eq!(bench.directives(), [Directive::RefreshMetadata]);
    assert!(bench.take().is_none());
    bench.cluster([topic("a", 1, 1, &[1])]);
    bench.pass(PAUSE);
    assert_eq!(bench.requests().len(), 1);
}

#[test]
fn a_broker_that_does_not_answer_is_asked_again_with_growing_pauses() {
    for kind in [ErrorKind::Unreachable, ErrorKind::Timeout] {
        let mut bench = one();
        let mut pauses = Vec::new();
        for _ in 0..5 {
            let outbound = bench.request();
            bench.fail(outbound.id, kind);
            assert_eq!(bench.directives(), [Directive::RefreshMetadata]);
            let before = bench.now;
            let until = bench.machine.poll_timeout().unwrap();
            pauses.push(until - before);
            bench.pass(until - before);
        }
        assert!(pauses[4] > pauses[0] * 4, "{pauses:?}");
        let outbound = bench.request();
        bench.answer(&outbound, |_, _| data(0, 1, 1));
        assert_eq!(bench.taken().1, [0]);
        assert_eq!(bench.machine.poll_timeout(), None);
    }
}

#[test]
fn a_failure_that_will_not_go_away_reaches_the_application() {
    let mut bench = one();
    let outbound = bench.request();
    bench.fail(outbound.id, ErrorKind::UnsupportedVersion);
    assert_eq!(bench.error().kind(), ErrorKind::UnsupportedVersion);
    // It was the only partition: nothing is left to wait for.
    assert_eq!(bench.error().kind(), ErrorKind::InvalidState);
}

#[test]
fn a_refusal_halts_only_its_partition() {
    let mut bench = Bench::assigned(
        [topic("a", 1, 0, &[1, 1])],
        [("a", 0, Start::At(4)), ("a", 1, Start::At(0))],
    );
    let outbound = bench.request();
    bench.answer(&outbound, |_, partition| match partition {
        0 => refusal(ErrorCode::TOPIC_AUTHORIZATION_FAILED),
        _ => data(0, 1, 1),
    });
    let error = bench.error();
    assert_eq!(error.kind(), ErrorKind::Authorization);
    assert!(error.to_string().contains("a-0"), "{error}");
    assert_eq!(bench.taken().0, tp("a", 1));
    let outbound = bench.request();
    assert_eq!(asked(&outbound), [("a".to_owned(), 1, 1)]);
    assert_eq!(bench.machine.position(&tp("a", 0)), Some(4));
    bench.answer(&outbound, |_, _| empty(1));
    assert!(bench.machine.seek(bench.now, &tp("a", 0), Start::At(4)));
    assert_eq!(asked(&bench.request()).len(), 2);
}

fn damaged_at(base: i64) -> Bytes {
    let mut bytes = Batch::new(Kind::Plain, -1, base, 2).encode();
    *bytes.last_mut().unwrap() ^= 1;
    bytes.into()
}

#[test]
fn damage_is_fetched_again_once() {
    let mut bench = one();
    let outbound = bench.request();
    bench.answer(&outbound, |_, _| bytes(damaged_at(0), 2));
    assert!(bench.take().is_none());
    bench.pass(PAUSE);
    let outbound = bench.request();
    bench.answer(&outbound, |_, _| data(0, 2, 2));
    assert_eq!(bench.taken().1, [0, 1]);
}

#[test]
fn damage_that_stays_is_an_error_and_is_never_skipped() {
    let mut bench = one();
    for _ in 0..2 {
        assert!(bench.take().is_none());
        let outbound = bench.request();
        assert_eq!(asked(&outbound), [("a".to_owned(), 0, 0)]);
        bench.answer(&outbound, |_, _| bytes(damaged_at(0), 2));
        bench.pass(PAUSE);
    }
    let error = bench.error();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    let text = error.to_string();
    assert!(
        text.contains("a-0") && text.contains("offset 0") && text.contains("checksum"),
        "{text}"
    );
    assert_eq!(bench.machine.position(&tp("a", 0)), Some(0));
    assert!(bench.requests().is_empty());
}

#[test]
fn what_stands_before_the_damage_is_delivered_first() {
    let mut bench = one();
    let both = [
        encode(&[Batch::new(Kind::Plain, -1, 0, 2)]).to_vec(),
        damaged_at(2).to_vec(),
    ]
    .concat();
    let outbound = bench.request();
    bench.answer(&outbound, |_, _| bytes(both.clone().into(), 4));
    assert_eq!(bench.taken(), (tp("a", 0), vec![0, 1], 2));
    for _ in 0..2 {
        let outbound = bench.request();
        assert_eq!(asked(&outbound), [("a".to_owned(), 0, 2)]);
        bench.answer(&outbound, |_, _| bytes(damaged_at(2), 4));
        bench.pass(PAUSE);
    }
    assert_eq!(bench.error().kind(), ErrorKind::Corrupt);
}

#[test]
fn the_other_shapes_of_damage_are_treated_alike() {
    let cut: Bytes = Batch::new(Kind::Plain, -1, 0, 2).encode()[..30].to_vec().into();
    let older = encode(&[Batch::new(Kind::Plain, -1, 0, 2)]);
    for (start, answer) in [
        (0, refusal(ErrorCode::CORRUPT_MESSAGE)),
        (0, bytes(cut, 2)),
        (5, bytes(older, 9)),
    ] {
        let mut bench = Bench::assigned([topic("a", 1, 0, &[1])], [("a", 0, Start::At(start))]);
        for _ in 0..2 {
            assert!(bench.take().is_none());
            let outbound = bench.request();
            bench.answer(&outbound, |_, _| answer.clone());
            bench.pass(PAUSE);
        }
        assert_eq!(bench.error().kind(), ErrorKind::Corrupt, "{answer:?}");
    }
    let mut bench = one();
    for _ in 0..2 {
        assert!(bench.take().is_none());
        let outbound = bench.request();
        bench.fail(outbound.id, ErrorKind::Corrupt);
        bench.pass(PAUSE);
    }
    assert_eq!(bench.error().kind(), ErrorKind::Corrupt);
}

#[test]
fn what_cannot_be_read_yet_is_said_at_once() {
    let mut old_format = Batch::new(Kind::Plain, -1, 0, 1).encode();
    old_format[16] = 1;
    let mut bench = one();
    let outbound = bench.request();
    bench.answer(&outbound, |_, _| bytes(old_format.clone().into(), 1));
    let error = bench.error();
    assert_eq!(error.kind(), ErrorKind::NotBuilt);
    assert!(error.to_string().contains("a-0"), "{error}");
}

#[test]
fn a_topic_that_stays_unknown_is_an_error_after_ten_seconds() {
    let unknown = || broken_topic("a", ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    let mut bench = Bench::assigned([unknown()], [("a", 0, EARLIEST)]);
    bench.pass(Duration::from_secs(9));
    assert!(bench.take().is_none());
    bench.cluster([unknown()]);
    bench.pass(Duration::from_secs(3));
    let error = bench.error();
    assert_eq!(error.kind(), ErrorKind::UnknownTopic);
    assert!(error.to_string().contains("a-0"), "{error}");
}

#[test]
fn a_topic_that_becomes_known_in_time_is_read() {
    let unknown = || broken_topic("a", ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    let mut bench = Bench::assigned([unknown()], [("a", 0, Start::At(0))]);
    bench.pass(Duration::from_secs(8));
    bench.cluster([topic("a", 1, 0, &[1])]);
    bench.pass(PAUSE);
    assert_eq!(bench.requests().len(), 1);
}

#[test]
fn the_time_that_a_topic_is_unknown_counts_anew_after_other_news() {
    for news in [
        vec![topic("a", 1, 0, &[1])],
        vec![topic("a", 1, 0, &[-1])],
        vec![],
    ] {
        let unknown = || broken_topic("a", ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
        let mut bench = Bench::assigned([unknown()], [("a", 0, Start::At(0))]);
        bench.pass(Duration::from_secs(8));
        bench.cluster(news);
        bench.cluster([unknown()]);
        bench.pass(Duration::from_secs(8));
        assert!(bench.take().is_none());
        bench.pass(Duration::from_secs(4));
        assert_eq!(bench.error().kind(), ErrorKind::UnknownTopic);
    }
}

#[test]
fn a_topic_of_which_nothing_was_heard_is_not_called_unknown() {
    let mut bench = Bench::assigned([], [("a", 0, EARLIEST)]);
    bench.pass(Duration::from_secs(60));
    assert!(bench.take().is_none());
}

#[test]
fn a_partition_that_the_topic_lacks_is_unknown() {
    let mut bench = Bench::assigned(
        [topic("a", 1, 0, &[1])],
        [("a", 1, EARLIEST), ("a", -1, EARLIEST)],
    );
    bench.pass(Duration::from_secs(12));
    for _ in 0..2 {
        assert_eq!(bench.error().kind(), ErrorKind::UnknownTopic);
    }
}

#[test]
fn a_topic_that_may_not_be_seen_is_an_error_at_once() {
    let forbidden = broken_topic("a", ErrorCode::TOPIC_AUTHORIZATION_FAILED);
    let mut bench = Bench::assigned([forbidden], [("a", 0, EARLIEST)]);
    assert_eq!(bench.error().kind(), ErrorKind::Authorization);
}

#[test]
fn a_topic_that_was_created_again_is_an_error_until_a_seek() {
    let mut bench = one();
    let outbound = bench.request();
    bench.answer(&outbound, |_, _| data(0, 2, 2));
    bench.cluster([topic("a", 2, 0, &[1])]);
    assert_eq!(
        bench.taken().1,
        [0, 1],
        "what was read of the old topic is given out"
    );
    let error = bench.error();
    assert_eq!(error.kind(), ErrorKind::UnknownTopic);
    assert!(error.to_string().contains("created again"), "{error}");
    assert!(bench.requests().is_empty());
    assert!(bench.machine.seek(bench.now, &tp("a", 0), Start::At(0)));
    assert_eq!(fetch(&bench.request()).topics[0].id, topic_id(2));
}

#[test]
fn an_answer_from_a_topic_that_was_created_again_meanwhile_is_stale() {
    let mut bench = one();
    let outbound = bench.request();
    bench.cluster([topic("a", 2, 0, &[1])]);
    bench.answer(&outbound, |_, _| data(0, 2, 2));
    assert_eq!(bench.error().kind(), ErrorKind::UnknownTopic);
}

#[test]
fn an_answer_to_another_question_is_damage() {
    let mut bench = one();
    for _ in 0..2 {
        let outbound = bench.request();
        bench.respond(
            outbound.id,
            ResponseBody::ListOffsets(ListOffsetsResponse::default()),
        );
        bench.pass(PAUSE);
    }
    assert_eq!(bench.error().kind(), ErrorKind::Corrupt);
}
