//! The table of Produce codes, and how answers find back to batches.

use sealwax_protocol::produce::{ProduceResponse, RecordError};

use super::*;

fn expected(code: ErrorCode) -> Meaning {
    match code.0 {
        0 => Meaning::Written,
        46 => Meaning::WrittenBefore,
        3 | 5 | 6 | 8 | 9 | 13 | 56 => Meaning::RetryElsewhere(Fate::MaybeWritten),
        74 | 75 | 100 | 103 => Meaning::RetryElsewhere(Fate::Unwritten),
        7 | 20 => Meaning::Retry(Fate::MaybeWritten),
        2 | 14 | 15 | 16 | 19 | 51 | 89 => Meaning::Retry(Fate::Unwritten),
        45 => Meaning::OutOfOrder,
        59 => Meaning::UnknownProducer,
        10 | 18 => Meaning::TooLarge,
        17 | 32 | 47 | 48 | 87 | 120 => Meaning::Failed(Fate::Unwritten),
        29 => Meaning::Unauthorized,
        90 => Meaning::Fenced,
        21 | 31 | 35 | 43 | 49 | 53 => Meaning::Fatal,
        _ => Meaning::Failed(Fate::MaybeWritten),
    }
}

#[test]
fn every_code_has_its_meaning() {
    for &code in ErrorCode::ALL.iter().chain(&[ErrorCode(999)]) {
        assert_eq!(classify(code), expected(code), "{code}");
    }
}

fn asked(topic: usize, name: &str, index: i32) -> Asked {
    Asked {
        id: PartitionId {
            topic,
            partition: usize::try_from(index).unwrap(),
        },
        topic: name.into(),
        topic_id: TopicId::from_u128(topic as u128 + 1),
        index,
    }
}

fn part(index: i32, code: ErrorCode, base_offset: i64) -> ProducePartitionResponse {
    ProducePartitionResponse {
        index,
        error_code: code,
        base_offset,
        log_append_time_ms: -1,
        log_start_offset: 0,
        record_errors: Vec::new(),
        error_message: None,
        current_leader: None,
    }
}

fn response(topics: Vec<(&str, TopicId, Vec<ProducePartitionResponse>)>) -> ProduceResponse {
    let topics = topics
        .into_iter()
        .map(|(name, id, partitions)| ProduceTopicResponse {
            name: name.into(),
            id,
            partitions,
        });
    ProduceResponse {
        topics: topics.collect(),
        throttle_time_ms: 0,
        node_endpoints: Vec::new(),
    }
}

fn offsets(answer: &Answer) -> Vec<Option<i64>> {
    answer
        .outcomes
        .iter()
        .map(|(_, outcome)| match outcome {
            BatchOutcome::Written { base_offset, .. } => *base_offset,
            BatchOutcome::Retry(Fate::MaybeWritten, _) => None,
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn topics_are_found_by_name_or_by_id_in_any_order_and_a_missing_batch_may_be_written() {
    let asked = [
        asked(0, "a", 0),
        asked(0, "a", 1),
        asked(1, "b", 0),
        asked(1, "b", 1),
    ];
    let ok = |index, offset| part(index, ErrorCode::NONE, offset);
    let by_name = response(vec![
        ("b", TopicId::nil(), vec![ok(0, 30)]),
        ("a", TopicId::nil(), vec![ok(1, 20), ok(0, 10)]),
        ("c", TopicId::nil(), vec![ok(0, 99)]),
    ]);
    let by_id = response(vec![
        ("", TopicId::from_u128(2), vec![ok(0, 30)]),
        ("", TopicId::from_u128(1), vec![ok(1, 20), ok(0, 10)]),
        ("", TopicId::from_u128(77), vec![ok(0, 99)]),
    ]);
    for response in [by_name, by_id] {
        let answer = read(&asked, &response, None);
        assert_eq!(offsets(&answer), [Some(10), Some(20), Some(30), None]);
    }
}

#[test]
fn an_unknown_producer_comes_with_where_the_log_begins() {
    for log_start in [-1, 5] {
        let part = ProducePartitionResponse {
            log_start_offset: log_start,
            ..part(0, ErrorCode::UNKNOWN_PRODUCER_ID, -1)
        };
        let answer = read(
            &[asked(0, "a", 0)],
            &response(vec![("a", TopicId::nil(), vec![part])]),
            None,
        );
        let BatchOutcome::UnknownProducer {
            log_start_offset,
            error,
        } = &answer.outcomes[0].1
        else {
            panic!("{answer:?}");
        };
        assert_eq!(*log_start_offset, log_start);
        assert_eq!(error.code(), Some(ErrorCode::UNKNOWN_PRODUCER_ID));
    }
}

#[test]
fn a_batch_that_is_too_large_is_named_with_its_topic_and_the_settings() {
    for code in [ErrorCode::MESSAGE_TOO_LARGE, ErrorCode::RECORD_LIST_TOO_LARGE] {
        let answer = read(
            &[asked(0, "a", 0)],
            &response(vec![("a", TopicId::nil(), vec![part(0, code, -1)])]),
            None,
        );
        let BatchOutcome::TooLarge(error) = &answer.outcomes[0].1 else {
            panic!("{answer:?}");
        };
        assert_eq!(error.kind(), ErrorKind::RecordTooLarge);
        for words in ["a-0", "max.message.bytes", "max.request.size"] {
            assert!(error.to_string().contains(words), "{error} lacks {words}");
        }
    }
}

#[test]
fn a_refused_record_is_named_with_the_brokers_words() {
    let part = ProducePartitionResponse {
        error_message: Some("one or more records were rejected".to_owned()),
        record_errors: vec![RecordError {
            batch_index: 3,
            message: Some("no key".to_owned()),
        }],
        ..part(0, ErrorCode::INVALID_RECORD, -1)
    };
    let answer = read(
        &[asked(0, "a", 0)],
        &response(vec![("a", TopicId::nil(), vec![part])]),
        None,
    );
    let BatchOutcome::Failed(error, Fate::Unwritten) = &answer.outcomes[0].1 else {
        panic!("{answer:?}");
    };
    for words in ["a-0", "were rejected", "record 3", "no key", "INVALID_RECORD"] {
        assert!(error.to_string().contains(words), "{error} lacks {words}");
    }
}

#[test]
fn only_a_request_that_never_left_is_unwritten() {
    let error = |kind| Error::new(kind, "x");
    let meaning = |failure| match unanswered(&failure) {
        BatchOutcome::Retry(fate, _) => ("sent again", fate),
        BatchOutcome::NotSent(_) => ("sent again", Fate::Unwritten),
        BatchOutcome::Failed(_, fate) => ("given up", fate),
        other => panic!("{other:?}"),
    };
    let unanswered = |kind| meaning(RequestFailure::Unanswered(error(kind)));
    let not_sent = |kind| meaning(RequestFailure::NotSent(error(kind)));
    assert_eq!(unanswered(ErrorKind::Timeout), ("sent again", Fate::MaybeWritten));
    assert_eq!(not_sent(ErrorKind::Unreachable), ("sent again", Fate::Unwritten));
    assert_eq!(
        not_sent(ErrorKind::UnsupportedVersion),
        ("given up", Fate::Unwritten)
    );
    assert_eq!(
        unanswered(ErrorKind::UnsupportedVersion),
        ("sent again", Fate::MaybeWritten)
    );
}
