//! What a leader takes from producers and coordinators, and what readers get.

use bytes::Bytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{ProducerEpoch, ProducerId, ProducerIdAndEpoch, Sequence};
use sealwax_protocol::limits::DecodeLimits;
use sealwax_protocol::record::{BatchBuilder, Batches, ControlType, ProducerStamp};

use super::{FirstSequence, Incoming, Marker, MarkerRule, PartitionLog, Range, Writer};

const OUT_OF_ORDER: Result<i64, ErrorCode> = Err(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);

fn producer(id: i64, epoch: i16) -> ProducerIdAndEpoch {
    ProducerIdAndEpoch {
        id: ProducerId(id),
        epoch: ProducerEpoch(epoch),
    }
}

fn bytes(producer: ProducerIdAndEpoch, sequence: i32, values: &[&str], transactional: bool) -> Bytes {
    let mut batch = BatchBuilder::with_capacity(100);
    for value in values {
        batch.append(1, None, Some(value.as_bytes()), []).unwrap();
    }
    batch.seal(ProducerStamp {
        transactional,
        producer,
        base_sequence: Sequence::new(sequence),
    })
}

fn incoming(id: i64, epoch: i16, sequence: i32, values: &[&str]) -> Incoming {
    Incoming::read(&bytes(producer(id, epoch), sequence, values, true)).unwrap()
}

/// Appends a batch of a transaction under TV1's rule.
fn write(log: &mut PartitionLog, epoch: i16, sequence: i32, value: &str) -> Result<i64, ErrorCode> {
    log.append(incoming(7, epoch, sequence, &[value]), 0, Writer::Producer)
}

fn mark(log: &mut PartitionLog, id: i64, epoch: i16, control: ControlType) -> Result<i64, ErrorCode> {
    let marker = Marker {
        control,
        producer: producer(id, epoch),
        coordinator_epoch: 0,
        timestamp: 5,
        rule: MarkerRule::SameEpoch,
    };
    log.mark(&marker, 0)
}

#[test]
fn the_last_five_batches_are_known_again_and_no_others() {
    let mut log = PartitionLog::default();
    for sequence in 0..6 {
        assert_eq!(write(&mut log, 0, sequence, "x"), Ok(i64::from(sequence)));
    }
    for sequence in 1..6 {
        assert_eq!(
            write(&mut log, 0, sequence, "x"),
            Ok(i64::from(sequence)),
            "a repeat"
        );
    }
    assert_eq!(write(&mut log, 0, 0, "x"), OUT_OF_ORDER, "too old to be known");
    assert_eq!(write(&mut log, 0, 7, "x"), OUT_OF_ORDER, "a gap");
    let longer = log.append(incoming(7, 0, 5, &["a", "b"]), 0, Writer::Producer);
    assert_eq!(longer, OUT_OF_ORDER, "another batch with a known first sequence");
    assert_eq!(log.high_watermark(), 6);
}

#[test]
fn sequences_go_round() {
    let mut log = PartitionLog::default();
    assert_eq!(write(&mut log, 0, i32::MAX - 1, "x"), Ok(0));
    let over = log.append(incoming(7, 0, i32::MAX, &["a", "b"]), 0, Writer::Producer);
    assert_eq!(over, Ok(1), "MAX and 0");
    assert_eq!(write(&mut log, 0, 0, "x"), OUT_OF_ORDER);
    assert_eq!(write(&mut log, 0, 1, "x"), Ok(3));
}

#[test]
fn an_epoch_begins_with_0_and_ends_the_ones_before() {
    let mut log = PartitionLog::default();
    assert_eq!(
        write(&mut log, 3, 4, "x"),
        Ok(0),
        "TV1 takes any first sequence of a stranger"
    );
    assert_eq!(write(&mut log, 4, 5, "x"), OUT_OF_ORDER, "but not of a new epoch");
    assert_eq!(write(&mut log, 4, 0, "x"), Ok(1));
    assert_eq!(write(&mut log, 3, 5, "x"), Err(ErrorCode::INVALID_PRODUCER_EPOCH));
    log.note_attempt(&incoming(8, 0, 1, &["x"]), FirstSequence::Zero);
    let strict = log.append(incoming(8, 0, 1, &["x"]), 0, Writer::Producer);
    assert_eq!(strict, OUT_OF_ORDER, "TV2 wants 0 of a stranger");
}

#[test]
fn a_later_write_does_not_overtake_one_that_was_refused() {
    let mut log = PartitionLog::default();
    log.note_attempt(&incoming(7, 0, 2, &["x"]), FirstSequence::Any);
    log.note_attempt(&incoming(7, 0, 3, &["x"]), FirstSequence::Any);
    assert_eq!(write(&mut log, 0, 3, "x"), OUT_OF_ORDER);
    assert_eq!(write(&mut log, 0, 2, "x"), Ok(0));
    assert_eq!(write(&mut log, 0, 3, "x"), Ok(1));
}

#[test]
fn what_is_stable_ends_where_the_oldest_transaction_begins() {
    let mut log = PartitionLog::default();
    log.append(incoming(1, 0, 0, &["a"]), 0, Writer::Producer)
        .unwrap();
    log.append(incoming(2, 0, 0, &["b", "c"]), 0, Writer::Producer)
        .unwrap();
    assert_eq!(log.last_stable_offset(), 0);
    mark(&mut log, 1, 0, ControlType::Commit).unwrap();
    assert_eq!(log.last_stable_offset(), 1);
    assert_eq!(log.committed_values(), ["a"]);
    mark(&mut log, 2, 0, ControlType::Abort).unwrap();
    assert_eq!(log.last_stable_offset(), log.high_watermark());
    assert_eq!(log.committed_values(), ["a"]);
    let aborted: Vec<_> = log
        .aborted_between(0, 5)
        .map(|one| (one.producer_id, one.first_offset))
        .collect();
    assert_eq!(aborted, [(2, 1)]);
    assert_eq!(
        log.aborted_between(0, 1).count(),
        0,
        "it begins behind what was read"
    );
    assert_eq!(log.aborted_between(5, 9).count(), 0, "it is over");
}

#[test]
fn an_epoch_that_is_marked_is_over() {
    let mut log = PartitionLog::default();
    write(&mut log, 0, 0, "a").unwrap();
    assert!(log.has_open_transaction(7, 0));
    assert!(!log.has_open_transaction(7, 1));
    mark(&mut log, 7, 1, ControlType::Commit).unwrap();
    assert_eq!(
        write(&mut log, 0, 1, "late"),
        Err(ErrorCode::INVALID_PRODUCER_EPOCH)
    );
    assert_eq!(write(&mut log, 1, 0, "b"), Ok(2));
    assert_eq!(
        mark(&mut log, 7, 0, ControlType::Abort),
        Err(ErrorCode::INVALID_PRODUCER_EPOCH)
    );
    let strict = Marker {
        control: ControlType::Abort,
        producer: producer(7, 1),
        coordinator_epoch: 0,
        timestamp: 5,
        rule: MarkerRule::RaisedEpoch,
    };
    assert_eq!(
        log.mark(&strict, 0),
        Err(ErrorCode::INVALID_PRODUCER_EPOCH),
        "it belongs to the one before"
    );
    assert_eq!(log.last_stable_offset(), 2);
}

#[test]
fn a_marker_of_an_older_coordinator_is_refused() {
    let mut log = PartitionLog::default();
    write(&mut log, 0, 0, "a").unwrap();
    let by = |coordinator_epoch| Marker {
        control: ControlType::Commit,
        producer: producer(7, 0),
        coordinator_epoch,
        timestamp: 5,
        rule: MarkerRule::SameEpoch,
    };
    log.mark(&by(4), 0).unwrap();
    assert_eq!(
        log.mark(&by(3), 0),
        Err(ErrorCode::TRANSACTION_COORDINATOR_FENCED)
    );
}

#[test]
fn a_plain_write_inside_of_a_transaction_is_refused() {
    let mut log = PartitionLog::default();
    write(&mut log, 0, 0, "a").unwrap();
    let plain = Incoming::read(&bytes(producer(7, 0), 1, &["b"], false)).unwrap();
    assert_eq!(
        log.append(plain, 0, Writer::Producer),
        Err(ErrorCode::INVALID_TXN_STATE)
    );
}

#[test]
fn batches_are_read_whole_with_their_offsets() {
    let mut log = PartitionLog::default();
    for sequence in 0..3 {
        write(&mut log, 0, sequence, "x").unwrap();
    }
    let size = log.batches()[0].len();
    let offsets = |from, end, room, is_first| -> Vec<i64> {
        let read = log.read(from, end, Range { room, is_first });
        let batches = Batches::new(read.bytes, DecodeLimits::default());
        batches.map(|batch| batch.unwrap().header().base_offset).collect()
    };
    assert_eq!(offsets(0, 3, 9999, true), [0, 1, 2]);
    assert_eq!(offsets(1, 3, 9999, true), [1, 2]);
    assert_eq!(offsets(0, 2, 9999, true), [0, 1]);
    assert_eq!(offsets(0, 3, 2 * size, true), [0, 1]);
    assert_eq!(offsets(0, 3, 1, true), [0], "the first one comes whole");
    assert_eq!(offsets(0, 3, 1, false), [0_i64; 0]);
    assert_eq!(offsets(3, 3, 9999, true), [0_i64; 0]);
}

#[test]
fn only_one_whole_batch_with_records_is_taken() {
    let good = bytes(producer(7, 0), 0, &["a"], true);
    let read = |bytes: &[u8]| Incoming::read(&Bytes::copy_from_slice(bytes)).map(|_| ());
    assert_eq!(read(&good), Ok(()));
    assert_eq!(read(&[]), Err(ErrorCode::INVALID_RECORD));
    assert_eq!(
        read(&[&good[..], &good[..]].concat()),
        Err(ErrorCode::INVALID_RECORD)
    );
    let mut damaged = good.to_vec();
    damaged[65] ^= 1;
    assert_eq!(read(&damaged), Err(ErrorCode::CORRUPT_MESSAGE));
    assert_eq!(read(&good[..good.len() - 1]), Err(ErrorCode::CORRUPT_MESSAGE));
}
