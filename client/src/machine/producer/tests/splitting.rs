//! Batches that are larger than the topic allows: halves with the same sequences, until a single record is too large.

use std::time::Duration;

use sealwax_protocol::error_code::ErrorCode;

use crate::config::ProducerConfig;
use crate::error::ErrorKind;
use crate::machine::testing::faults::Fault;
use crate::machine::testing::harness::{Harness, Taken, config};
use crate::machine::testing::log::Status;
use crate::machine::testing::model::Model;
use crate::machine::transaction::Verdict;

const V1: i16 = 0;
const V2: i16 = 2;

/// A producer whose batches may be much larger than what the logs take.
fn narrow(max_records: usize, settings: ProducerConfig) -> Harness {
    let mut harness = Harness::new(Model::new(V2, 4, 0), false, settings, 7);
    for log in harness.model.logs.values_mut() {
        log.max_records = Some(max_records);
    }
    harness.run();
    harness.sent.clear();
    harness
}

fn wide() -> ProducerConfig {
    ProducerConfig {
        batch_size: 2000,
        ..config()
    }
}

/// Each record is in the log once, in order, at the offset that its result tells.
fn judge(harness: &Harness, taken: &[Taken]) {
    for record in taken {
        let (result, place) = harness.results[&record.batch].of(record.index);
        let metadata = result.as_ref().unwrap();
        let offset = metadata.base_offset.unwrap() + i64::from(place);
        let log = &harness.model.logs[&metadata.topic_partition];
        assert_eq!(log.entries[usize::try_from(offset).unwrap()].value, record.value);
        assert_eq!(harness.in_log(record.value).len(), 1);
    }
    for log in harness.model.logs.values() {
        assert!(log.entries.is_sorted_by_key(|entry| entry.value));
    }
}

#[test]
fn a_batch_is_halved_until_it_fits_and_its_records_keep_order_and_sequences() {
    for (max_records, count) in [(5, 10), (2, 10), (1, 7)] {
        let mut harness = narrow(max_records, wide());
        let taken: Vec<_> = (0..count).map(|_| harness.append(0, None).unwrap()).collect();
        assert!(taken.iter().all(|record| record.batch == taken[0].batch));
        harness.run_for(Duration::from_secs(1));
        judge(&harness, &taken);
        let stamps = harness.stamps();
        assert!(
            stamps
                .iter()
                .all(|(producer, sequence)| *producer == (2, 0) && (0..count).contains(sequence)),
            "{stamps:?}"
        );
        // What comes next follows the parent's range.
        harness.sent.clear();
        harness.append(0, None).unwrap();
        harness.run_for(Duration::from_secs(1));
        assert_eq!(harness.stamps(), [((2, 0), count)]);
    }
}

#[test]
fn batches_on_the_wire_behind_the_large_one_wait_for_its_pieces() {
    let settings = ProducerConfig {
        linger: Duration::ZERO,
        ..wide()
    };
    let mut harness = narrow(4, settings);
    let mut taken = vec![harness.append(0, None).unwrap()];
    harness.run();
    for _ in 0..3 {
        for _ in 0..6 {
            taken.push(harness.append(0, None).unwrap());
        }
        harness.collect();
    }
    let ticket = harness.machine.flush();
    assert_eq!(harness.sent.len(), 4, "three are on the wire");
    harness.deliver_one();
    assert_eq!(harness.machine.is_flushed(ticket), None, "the pieces are awaited");
    harness.run_for(Duration::from_secs(5));
    assert!(harness.machine.is_flushed(ticket).is_some());
    judge(&harness, &taken);
}

#[test]
fn a_single_record_that_is_too_large_fails_and_the_rest_is_written() {
    let mut harness = narrow(100, wide());
    let large = harness.append(0, None).unwrap();
    harness.faults = vec![Fault::Says(ErrorCode::MESSAGE_TOO_LARGE); 1].into();
    harness.run_for(Duration::from_millis(10));
    let error = harness.result(large).as_ref().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RecordTooLarge);
    for words in ["out-0", "max.message.bytes", "max.request.size"] {
        assert!(error.to_string().contains(words), "{error}");
    }
    let taken: Vec<_> = (0..4).map(|_| harness.append(0, None).unwrap()).collect();
    // The whole, its first half, and its first record.
    harness.faults = vec![Fault::Says(ErrorCode::RECORD_LIST_TOO_LARGE); 3].into();
    harness.run_for(Duration::from_secs(5));
    assert!(harness.result(taken[0]).is_err());
    judge(&harness, &taken[1..]);
}

#[test]
fn a_batch_that_may_be_in_the_log_is_not_split() {
    let mut harness = narrow(100, wide());
    let taken: Vec<_> = (0..6).map(|_| harness.append(0, None).unwrap()).collect();
    harness.faults = vec![Fault::AnswerLost, Fault::Says(ErrorCode::MESSAGE_TOO_LARGE)].into();
    harness.run_for(Duration::from_secs(5));
    for record in taken {
        let error = harness.result(record).as_ref().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
        assert_eq!(harness.in_log(record.value).len(), 1);
    }
    assert_eq!(harness.take_sent(), ["Produce", "Produce"]);
}

#[test]
fn a_batch_that_is_out_of_time_is_not_split() {
    let settings = ProducerConfig {
        delivery_timeout: Duration::from_secs(1),
        ..wide()
    };
    let mut harness = narrow(2, settings);
    let taken: Vec<_> = (0..6).map(|_| harness.append(0, None).unwrap()).collect();
    harness.now += Duration::from_millis(5);
    harness.collect();
    harness.now += Duration::from_secs(2);
    harness.run();
    for record in taken {
        let error = harness.result(record).as_ref().unwrap_err();
        assert!(error.to_string().contains("delivery.timeout.ms"), "{error}");
        assert_eq!(error.kind(), ErrorKind::Timeout);
    }
}

#[test]
fn a_transaction_with_split_batches_commits_and_aborts_whole() {
    for version in [V1, V2] {
        let mut harness = Harness::new(Model::new(version, 4, 0), true, wide(), 7);
        for log in harness.model.logs.values_mut() {
            log.max_records = Some(3);
        }
        harness.run();
        let serial = harness.begin().unwrap();
        let taken: Vec<_> = (0..10)
            .map(|index| harness.append(index % 2, Some(serial)).unwrap())
            .collect();
        assert!(matches!(harness.commit(serial), Verdict::Committed));
        judge(&harness, &taken);
        let serial = harness.begin().unwrap();
        let aborted: Vec<_> = (0..10)
            .map(|_| harness.append(0, Some(serial)).unwrap())
            .collect();
        harness.run_for(Duration::from_millis(5));
        assert!(matches!(harness.abort(serial), Verdict::Aborted(_)));
        for record in aborted {
            let seen = harness.in_log(record.value);
            assert!(seen.iter().all(|status| *status == Status::Aborted) && seen.len() <= 1);
        }
        for record in taken {
            assert_eq!(harness.in_log(record.value), [Status::Committed]);
        }
    }
}
