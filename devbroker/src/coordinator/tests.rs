//! The state machine of a transactional id, event by event.

use std::time::Duration;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{ProducerEpoch, ProducerId, ProducerIdAndEpoch, TopicPartition};

use super::{Ended, Initialized, Level, Outcome, Phase, TransactionMetadata};
use Outcome::{Abort, Commit};

const ID: i64 = 7;
const NEXT_ID: i64 = 8;
const MINUTE: Duration = Duration::from_secs(60);
const NOW: Duration = Duration::from_secs(1);

fn producer(id: i64, epoch: i16) -> ProducerIdAndEpoch {
    ProducerIdAndEpoch {
        id: ProducerId(id),
        epoch: ProducerEpoch(epoch),
    }
}

/// An id whose producer has this epoch; `last` may be repeated.
fn at(epoch: i16, last: i16, phase: Phase) -> TransactionMetadata {
    let mut metadata = TransactionMetadata::new(ID, MINUTE);
    (metadata.epoch, metadata.last_epoch, metadata.phase) = (epoch, last, phase);
    metadata
}

fn ongoing() -> Phase {
    let mut metadata = at(0, -1, Phase::Empty);
    let added = metadata.add_partitions(NOW, producer(ID, 0), [TopicPartition::new("t", 0)]);
    assert!(added.is_ok());
    metadata.phase
}

fn ended(outcome: Outcome, level: Level) -> Phase {
    match ongoing() {
        Phase::Ongoing(open) => Phase::Prepare { outcome, level, open },
        other => other,
    }
}

const fn complete(outcome: Outcome) -> Phase {
    Phase::Complete {
        outcome,
        started: NOW,
    }
}

fn init(
    metadata: &mut TransactionMetadata,
    expected: Option<ProducerIdAndEpoch>,
) -> Result<Initialized, ErrorCode> {
    metadata.init_producer_id(expected, MINUTE, Level::V2, || NEXT_ID)
}

fn end(
    metadata: &mut TransactionMetadata,
    epoch: i16,
    outcome: Outcome,
    level: Level,
) -> Result<Ended, ErrorCode> {
    metadata.end_txn(NOW, producer(ID, epoch), outcome, level, || NEXT_ID)
}

#[test]
fn the_first_epoch_is_0_and_each_stranger_gets_the_next() {
    let mut metadata = TransactionMetadata::new(ID, MINUTE);
    assert_eq!(init(&mut metadata, None), Ok(Initialized::Ready(producer(ID, 0))));
    assert_eq!(init(&mut metadata, None), Ok(Initialized::Ready(producer(ID, 1))));
    let old = Some(producer(ID, 0));
    assert_eq!(init(&mut metadata, old), Err(ErrorCode::PRODUCER_FENCED));
}

#[test]
fn a_repeated_init_gets_the_same_epoch_once_more() {
    let mut metadata = at(4, -1, Phase::Empty);
    let held = Some(producer(ID, 4));
    assert_eq!(init(&mut metadata, held), Ok(Initialized::Ready(producer(ID, 5))));
    assert_eq!(init(&mut metadata, held), Ok(Initialized::Ready(producer(ID, 5))));
    assert_eq!(init(&mut metadata, None), Ok(Initialized::Ready(producer(ID, 6))));
    assert_eq!(init(&mut metadata, held), Err(ErrorCode::PRODUCER_FENCED));
    let foreign = Some(producer(99, 6));
    assert_eq!(init(&mut metadata, foreign), Err(ErrorCode::PRODUCER_FENCED));
}

#[test]
fn used_up_epochs_lead_to_a_new_id_and_that_may_be_repeated() {
    let last = i16::MAX - 1;
    let mut metadata = at(last, -1, Phase::Empty);
    let held = Some(producer(ID, last));
    let rotated = Ok(Initialized::Ready(producer(NEXT_ID, 0)));
    assert_eq!(init(&mut metadata, held), rotated);
    assert_eq!(init(&mut metadata, held), rotated, "a repeat");
    let held = Some(producer(NEXT_ID, 0));
    assert_eq!(
        init(&mut metadata, held),
        Ok(Initialized::Ready(producer(NEXT_ID, 1)))
    );
}

#[test]
fn init_aborts_what_is_open_and_waits_for_what_is_ending() {
    for (level, last) in [(Level::V1, -1), (Level::V2, 3)] {
        let mut metadata = at(3, 2, ongoing());
        let fenced = metadata.init_producer_id(None, MINUTE, level, || NEXT_ID);
        assert_eq!(fenced, Ok(Initialized::Fencing));
        assert_eq!((metadata.epoch, metadata.last_epoch), (4, last));
        assert_eq!(metadata.phase().name(), "PrepareAbort");
        assert_eq!(init(&mut metadata, None), Err(ErrorCode::CONCURRENT_TRANSACTIONS));
    }
}

#[test]
fn partitions_are_added_by_the_current_epoch_unless_an_end_is_on_its_way() {
    let partition = || [TopicPartition::new("t", 1)];
    for phase in [Phase::Empty, ongoing(), complete(Commit), complete(Abort)] {
        let mut metadata = at(3, 2, phase);
        let add = |metadata: &mut TransactionMetadata, id, epoch| {
            metadata
                .add_partitions(NOW, producer(id, epoch), partition())
                .err()
        };
        assert_eq!(
            add(&mut metadata, 99, 3),
            Some(ErrorCode::INVALID_PRODUCER_ID_MAPPING)
        );
        assert_eq!(add(&mut metadata, ID, 2), Some(ErrorCode::PRODUCER_FENCED));
        assert_eq!(add(&mut metadata, ID, 4), Some(ErrorCode::PRODUCER_FENCED));
        let is_in =
            |metadata: &TransactionMetadata| metadata.verify_partition(producer(ID, 3), &partition()[0]);
        assert_eq!(is_in(&metadata), Err(ErrorCode::TRANSACTION_ABORTABLE));
        assert_eq!(add(&mut metadata, ID, 3), None);
        assert_eq!(is_in(&metadata), Ok(()));
        assert_eq!(metadata.phase().name(), "Ongoing");
    }
    let mut metadata = at(3, 2, ended(Commit, Level::V1));
    let added = metadata.add_partitions(NOW, producer(ID, 3), partition());
    assert_eq!(added, Err(ErrorCode::CONCURRENT_TRANSACTIONS));
}

#[test]
fn tv1_ends_by_state_alone() {
    let ends = |phase: &Phase, outcome| end(&mut at(3, -1, phase.clone()), 3, outcome, Level::V1);
    let (wrong, busy) = (
        Err(ErrorCode::INVALID_TXN_STATE),
        Err(ErrorCode::CONCURRENT_TRANSACTIONS),
    );
    for (phase, commit, abort) in [
        (Phase::Empty, wrong, wrong),
        (ongoing(), Ok(Ended::Prepared), Ok(Ended::Prepared)),
        (ended(Commit, Level::V1), busy, wrong),
        (ended(Abort, Level::V1), wrong, busy),
        (complete(Commit), Ok(Ended::Repeat), wrong),
        (complete(Abort), wrong, Ok(Ended::Repeat)),
    ] {
        assert_eq!(
            (ends(&phase, Commit), ends(&phase, Abort)),
            (commit, abort),
            "{phase:?}"
        );
        for epoch in [2, 4] {
            let fenced = end(&mut at(3, 2, phase.clone()), epoch, Commit, Level::V1);
            assert_eq!(fenced, Err(ErrorCode::PRODUCER_FENCED), "{phase:?}");
        }
    }
    let mut metadata = at(3, -1, ongoing());
    end(&mut metadata, 3, Commit, Level::V1).unwrap();
    metadata.complete();
    assert_eq!((metadata.epoch, metadata.phase().name()), (3, "CompleteCommit"));
}

#[test]
fn tv2_ends_by_state_and_epoch() {
    let (wrong, busy, fenced) = (
        Err(ErrorCode::INVALID_TXN_STATE),
        Err(ErrorCode::CONCURRENT_TRANSACTIONS),
        Err(ErrorCode::PRODUCER_FENCED),
    );
    let (done, repeat) = (Ok(Ended::Prepared), Ok(Ended::Repeat));
    // Of each phase: abort with the last and the current epoch, commit with the last and the current epoch.
    for (phase, expected) in [
        (Phase::Empty, [fenced, done, fenced, wrong]),
        (ongoing(), [fenced, done, fenced, done]),
        (ended(Commit, Level::V2), [wrong, fenced, busy, fenced]),
        (ended(Abort, Level::V2), [busy, fenced, wrong, fenced]),
        (complete(Abort), [repeat, done, wrong, wrong]),
        (complete(Commit), [wrong, done, repeat, wrong]),
    ] {
        let calls = [(2, Abort), (3, Abort), (2, Commit), (3, Commit)];
        let got = calls.map(|(epoch, outcome)| end(&mut at(3, 2, phase.clone()), epoch, outcome, Level::V2));
        assert_eq!(got, expected, "{phase:?}");
        let later = end(&mut at(3, 2, phase.clone()), 4, Abort, Level::V2);
        assert_eq!(later, fenced, "{phase:?}");
    }
}

#[test]
fn tv2_raises_the_epoch_at_every_end() {
    for outcome in [Commit, Abort] {
        let mut metadata = at(3, -1, ongoing());
        end(&mut metadata, 3, outcome, Level::V2).unwrap();
        assert_eq!(metadata.next_producer(), producer(ID, 4));
        metadata.complete();
        assert_eq!(metadata.producer(), producer(ID, 4));
        assert_eq!(end(&mut metadata, 3, outcome, Level::V2), Ok(Ended::Repeat));
    }
}

#[test]
fn tv2_goes_on_with_a_new_id_when_the_epochs_are_used_up() {
    let last = i16::MAX - 1;
    let mut metadata = at(last, -1, ongoing());
    end(&mut metadata, last, Commit, Level::V2).unwrap();
    assert_eq!(metadata.next_producer(), producer(NEXT_ID, 0));
    assert_eq!(metadata.producer(), producer(ID, i16::MAX), "the marker's");
    assert_eq!(
        end(&mut metadata, last, Commit, Level::V2),
        Err(ErrorCode::CONCURRENT_TRANSACTIONS)
    );
    metadata.complete();
    assert_eq!(metadata.producer(), producer(NEXT_ID, 0));
    assert_eq!(end(&mut metadata, last, Commit, Level::V2), Ok(Ended::Repeat));
    assert_eq!(
        end(&mut metadata, last, Abort, Level::V2),
        Err(ErrorCode::INVALID_TXN_STATE)
    );
}

#[test]
fn a_timeout_fences_and_only_tv2_lets_the_producer_find_out() {
    for (level, answer) in [
        (Level::V1, Err(ErrorCode::PRODUCER_FENCED)),
        (Level::V2, Ok(Ended::Repeat)),
    ] {
        let mut metadata = at(3, -1, ongoing());
        assert_eq!(metadata.expires_at(), Some(NOW + MINUTE));
        assert!(!metadata.expire(NOW, level, || NEXT_ID), "too early");
        assert!(metadata.expire(NOW + MINUTE, level, || NEXT_ID));
        assert_eq!(metadata.expires_at(), None);
        metadata.complete();
        assert_eq!((metadata.epoch, metadata.phase().name()), (4, "CompleteAbort"));
        assert_eq!(end(&mut metadata, 3, Abort, level), answer);
    }
}

#[test]
fn fencing_in_the_last_epoch_leads_to_a_new_id_under_tv2() {
    let last = i16::MAX - 1;
    for (level, expected) in [
        (Level::V1, producer(ID, i16::MAX)),
        (Level::V2, producer(NEXT_ID, 0)),
    ] {
        let mut metadata = at(last, -1, ongoing());
        let fenced = metadata.init_producer_id(None, MINUTE, level, || NEXT_ID);
        assert_eq!(fenced, Ok(Initialized::Fencing));
        metadata.complete();
        assert_eq!(metadata.producer(), expected);
    }
}
