//! Taking records, what they cost, what is refused; sequences and epochs of a partition.

mod partitioning;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{
    LeaderEpoch, NodeId, ProducerEpoch, ProducerId, ProducerIdAndEpoch, Sequence, TopicId,
};
use sealwax_protocol::limits::DecodeLimits;
use sealwax_protocol::record::Batches;

use super::batch::Fate;
use super::topics::PartitionId;
use super::{BatchOutcome, Drained, Gate, Kind, PartitionerSettings, RecordAccumulator, Refusal, Settings};
use crate::config::ProducerConfig;
use crate::error::{Error, ErrorKind};
use crate::machine::RequestId;
use crate::machine::metadata::{ClusterMetadata, PartitionMetadata, TopicMetadata};
use crate::machine::retry::Backoff;
use crate::record::Record;

const PRODUCER: ProducerIdAndEpoch = ProducerIdAndEpoch {
    id: ProducerId(9),
    epoch: ProducerEpoch(1),
};

fn settings() -> Settings {
    Settings {
        kind: Kind::Idempotent,
        retries: 100,
        max_in_flight: 5,
        partitioner: PartitionerSettings::of(&ProducerConfig::default()),
        batch_size: 1000,
        linger: Duration::ZERO,
        buffer_memory: 10_000,
        max_request_size: 2000,
        delivery_timeout: Duration::from_secs(120),
        backoff: Backoff {
            initial: Duration::from_millis(100),
            max: Duration::from_secs(1),
        },
    }
}

fn metadata(error_code: ErrorCode, partitions: i32) -> ClusterMetadata {
    let name: Arc<str> = "t".into();
    let topic = TopicMetadata {
        name: Arc::clone(&name),
        id: TopicId::from_u128(1),
        error_code,
        partitions: (0..partitions)
            .map(|index| PartitionMetadata {
                leader: Some(NodeId(index)),
                leader_epoch: LeaderEpoch(0),
            })
            .collect(),
    };
    ClusterMetadata {
        topics: HashMap::from([(name, topic)]),
        ..ClusterMetadata::default()
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "an Instant cannot be made otherwise; only differences matter"
)]
fn start() -> Instant {
    Instant::now()
}

fn accumulator(settings: Settings, partitions: i32) -> (RecordAccumulator<u32>, Instant) {
    let now = start();
    let mut accumulator = RecordAccumulator::new(settings, fastrand::Rng::with_seed(1));
    assert!(accumulator.want_topic("t").is_some());
    assert!(accumulator.want_topic("t").is_none());
    accumulator.update(&metadata(ErrorCode::NONE, partitions));
    (accumulator, now)
}

fn append(
    accumulator: &mut RecordAccumulator<u32>,
    now: Instant,
    record: &Record<'_>,
) -> Result<(u32, bool, Option<i32>), Refusal> {
    accumulator
        .append(now, None, (record, 0), || 0, |_, index| index)
        .map(|appended| {
            let opened = appended.opened.map(|partition| partition.partition);
            (appended.ticket, appended.made_work, opened)
        })
}

fn drain(accumulator: &mut RecordAccumulator<u32>, now: Instant, request: u64) -> Option<Drained> {
    let gate = Gate {
        producer: PRODUCER,
        has_room: &|_| true,
        may_write: &|_| true,
    };
    accumulator.drain(now, RequestId(request), &gate)
}

#[test]
fn only_a_record_that_makes_work_says_so() {
    let (mut accumulator, now) = accumulator(settings(), 1);
    let record = Record::new("t", &[0; 400]);
    assert_eq!(
        append(&mut accumulator, now, &record).unwrap(),
        (0, true, Some(0))
    );
    assert_eq!(append(&mut accumulator, now, &record).unwrap(), (1, false, None));
    assert_eq!(
        append(&mut accumulator, now, &record).unwrap(),
        (0, true, Some(0)),
        "no room for a third"
    );
}

#[test]
fn a_record_that_is_too_large_is_refused_with_the_limits_name() {
    for (max_request_size, buffer_memory, name) in
        [(500, 10_000, "max.request.size"), (2000, 500, "buffer.memory")]
    {
        let limited = Settings {
            max_request_size,
            buffer_memory,
            ..settings()
        };
        let (mut accumulator, now) = accumulator(limited, 1);
        let refusal = append(&mut accumulator, now, &Record::new("t", &[0; 600])).unwrap_err();
        let Refusal::Error(error) = refusal else {
            panic!("{refusal:?}");
        };
        assert_eq!(error.kind(), ErrorKind::RecordTooLarge);
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn memory_is_bounded_and_comes_back_with_the_result() {
    let limited = Settings {
        buffer_memory: 2500,
        linger: Duration::from_secs(1),
        ..settings()
    };
    let (mut accumulator, now) = accumulator(limited, 3);
    for partition in 0..2 {
        let record = Record::new("t", &[0; 10]).partition(partition);
        append(&mut accumulator, now, &record).unwrap();
    }
    let third = Record::new("t", &[0; 10]).partition(2);
    assert!(matches!(
        append(&mut accumulator, now, &third),
        Err(Refusal::Memory)
    ));
    assert!(drain(&mut accumulator, now, 1).is_none());
    // Someone waits for room: the batches go without their linger.
    let turn = accumulator.line_up();
    let drained = drain(&mut accumulator, now, 1).unwrap();
    let written = BatchOutcome::Written {
        base_offset: Some(0),
        log_append_time: None,
    };
    accumulator.handle(now, RequestId(1), drained.batches[0].id, written);
    accumulator.poll_resolved().unwrap();
    accumulator.leave(turn);
    append(&mut accumulator, now, &third).unwrap();
}

#[test]
fn an_unknown_topic_is_waited_for_but_one_that_waiting_cannot_mend_is_not() {
    let now = start();
    for (code, kind) in [
        (ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, None),
        (
            ErrorCode::TOPIC_AUTHORIZATION_FAILED,
            Some(ErrorKind::Authorization),
        ),
        (ErrorCode::INVALID_TOPIC_EXCEPTION, Some(ErrorKind::UnknownTopic)),
    ] {
        let mut accumulator = RecordAccumulator::new(settings(), fastrand::Rng::with_seed(1));
        let record = Record::new("t", "v");
        accumulator.want_topic("t");
        assert!(matches!(
            append(&mut accumulator, now, &record),
            Err(Refusal::Metadata(ErrorCode::NONE))
        ));
        accumulator.update(&metadata(code, 0));
        match (append(&mut accumulator, now, &record).unwrap_err(), kind) {
            (Refusal::Metadata(told), None) => assert_eq!(told, code),
            (Refusal::Error(error), Some(kind)) => assert_eq!(error.kind(), kind),
            other => panic!("{code}: {other:?}"),
        }
    }
}

#[test]
fn a_partition_that_does_not_exist_is_refused() {
    let (mut accumulator, now) = accumulator(settings(), 2);
    for partition in [-1, 2] {
        let record = Record::new("t", "v").partition(partition);
        let refusal = append(&mut accumulator, now, &record).unwrap_err();
        let Refusal::Error(error) = refusal else {
            panic!("{refusal:?}");
        };
        assert!(error.to_string().contains("it has 2"), "{error}");
    }
}

#[test]
fn a_record_with_a_key_goes_where_java_puts_it() {
    let (mut accumulator, now) = accumulator(settings(), 10);
    let keyed = Record::new("t", "v").key("foobar");
    assert_eq!(append(&mut accumulator, now, &keyed).unwrap().2, Some(6));
}

#[test]
fn sequences_wrap_with_five_batches_in_flight_that_are_all_sent_again() {
    let (mut accumulator, now) = accumulator(settings(), 1);
    introduce(&mut accumulator, now);
    let sequence = accumulator
        .topics
        .partition_mut(ONLY)
        .unwrap()
        .queue
        .sequence_mut();
    sequence.adopt(PRODUCER);
    sequence.start_at(Sequence::new(i32::MAX - 3).unwrap());
    let mut seen = Vec::new();
    for request in 0..5 {
        for _ in 0..2 {
            append(&mut accumulator, now, &Record::new("t", "v")).unwrap();
        }
        seen.push(stamp(&drain(&mut accumulator, now, request).unwrap()).1);
    }
    let expected = [i32::MAX - 3, i32::MAX - 1, 0, 2, 4];
    assert_eq!(seen, expected);
    for request in [3, 0, 4, 1, 2] {
        accumulator.handle(now, RequestId(request), ONLY, refused(Fate::MaybeWritten));
    }
    // The one before the wrap is the lowest, so it goes first, and each of the others after the one before it.
    let later = now + Duration::from_secs(5);
    for (request, sequence) in (10..).zip(expected) {
        let drained = drain(&mut accumulator, later, request).unwrap();
        assert_eq!(stamp(&drained).1, sequence);
        assert!(drain(&mut accumulator, later, 99).is_none());
        accumulator.handle(later, RequestId(request), ONLY, written());
    }
    append(&mut accumulator, later, &Record::new("t", "v")).unwrap();
    assert_eq!(stamp(&drain(&mut accumulator, later, 100).unwrap()).1, 6);
}

#[test]
fn a_full_request_leaves_the_rest_to_the_next_one_which_begins_there() {
    let narrow = Settings {
        max_request_size: 700,
        ..settings()
    };
    let (mut accumulator, now) = accumulator(narrow, 1);
    let two = ClusterMetadata {
        ..metadata(ErrorCode::NONE, 3)
    };
    accumulator.update(&two);
    let all_on_one = |mut metadata: ClusterMetadata| {
        for topic in metadata.topics.values_mut() {
            for partition in &mut topic.partitions {
                partition.leader = Some(NodeId(0));
            }
        }
        metadata
    };
    accumulator.update(&all_on_one(metadata(ErrorCode::NONE, 3)));
    for partition in 0..3 {
        let record = Record::new("t", &[0; 400]).partition(partition);
        append(&mut accumulator, now, &record).unwrap();
        append(&mut accumulator, now, &record).unwrap();
    }
    let order: Vec<_> = (0..6)
        .filter_map(|request| drain(&mut accumulator, now, request))
        .map(|drained| {
            let ids: Vec<_> = drained.batches.iter().map(|batch| batch.id.partition).collect();
            ids
        })
        .collect();
    assert_eq!(
        order,
        [[0], [1], [2]],
        "two records make a batch of one partition each"
    );
}

/// Drains one batch per record of partition 0 with this epoch.
fn send(accumulator: &mut RecordAccumulator<u32>, now: Instant, request: u64, epoch: i16) -> Option<Drained> {
    let gate = Gate {
        producer: ProducerIdAndEpoch {
            epoch: ProducerEpoch(epoch),
            ..PRODUCER
        },
        has_room: &|_| true,
        may_write: &|_| true,
    };
    accumulator.drain(now, RequestId(request), &gate)
}

fn stamp(drained: &Drained) -> (i16, i32) {
    let bytes = drained.batches[0].bytes.clone();
    let batch = Batches::new(bytes, DecodeLimits::default())
        .next()
        .unwrap()
        .unwrap();
    (batch.header().producer_epoch, batch.header().base_sequence)
}

const ONLY: PartitionId = PartitionId {
    topic: 0,
    partition: 0,
};

fn refused(fate: Fate) -> BatchOutcome {
    BatchOutcome::Retry(fate, Error::new(ErrorKind::Broker, "refused for now"))
}

fn written() -> BatchOutcome {
    BatchOutcome::Written {
        base_offset: Some(0),
        log_append_time: None,
    }
}

/// The first batch reaches the log, so that more than one may be on the wire.
fn introduce(accumulator: &mut RecordAccumulator<u32>, now: Instant) {
    append(accumulator, now, &Record::new("t", "v")).unwrap();
    send(accumulator, now, 100, 0).unwrap();
    accumulator.handle(now, RequestId(100), ONLY, written());
    assert!(accumulator.poll_resolved().is_some());
}

#[test]
fn at_most_five_batches_of_a_partition_have_sequences_and_no_result() {
    let (mut accumulator, now) = accumulator(settings(), 1);
    introduce(&mut accumulator, now);
    for request in 0..5 {
        append(&mut accumulator, now, &Record::new("t", "v")).unwrap();
        assert!(send(&mut accumulator, now, request, 0).is_some());
    }
    append(&mut accumulator, now, &Record::new("t", "v")).unwrap();
    assert!(send(&mut accumulator, now, 5, 0).is_none());
    accumulator.handle(now, RequestId(0), ONLY, written());
    assert_eq!(stamp(&send(&mut accumulator, now, 5, 0).unwrap()), (0, 6));
}

#[test]
fn a_partition_takes_a_new_epoch_only_when_none_of_its_batches_has_the_old_one() {
    let (mut accumulator, now) = accumulator(settings(), 1);
    append(&mut accumulator, now, &Record::new("t", "v")).unwrap();
    send(&mut accumulator, now, 0, 0).unwrap();
    append(&mut accumulator, now, &Record::new("t", "v")).unwrap();
    assert!(send(&mut accumulator, now, 1, 1).is_none());
    accumulator.handle(now, RequestId(0), ONLY, written());
    assert_eq!(stamp(&send(&mut accumulator, now, 1, 1).unwrap()), (1, 0));
}

#[test]
fn only_a_batch_that_is_proven_unwritten_is_numbered_anew() {
    let (mut accumulator, now) = accumulator(settings(), 1);
    introduce(&mut accumulator, now);
    for request in 0..3 {
        append(&mut accumulator, now, &Record::new("t", "v")).unwrap();
        send(&mut accumulator, now, request, 0).unwrap();
    }
    let error = Error::new(ErrorKind::Broker, "refused");
    let failed = BatchOutcome::Failed(error, Fate::Unwritten);
    assert!(accumulator.handle(now, RequestId(0), ONLY, failed).is_some());
    let next = ProducerIdAndEpoch {
        epoch: ProducerEpoch(1),
        ..PRODUCER
    };
    accumulator.handle(now, RequestId(1), ONLY, refused(Fate::MaybeWritten));
    accumulator.renumber(next);
    assert!(accumulator.poll_resolved().is_some());
    assert!(accumulator.poll_resolved().is_none(), "one is on the wire still");
    let out_of_order = BatchOutcome::OutOfOrder(Error::new(ErrorKind::Broker, "out of order"));
    accumulator.handle(now, RequestId(2), ONLY, out_of_order);
    accumulator.renumber(next);
    let lost = accumulator.poll_resolved().unwrap();
    assert_eq!(
        lost.results.first_error().unwrap().kind(),
        ErrorKind::OutcomeUnknown
    );
    assert!(accumulator.poll_resolved().is_none());
    assert_eq!(stamp(&send(&mut accumulator, now, 3, 1).unwrap()), (1, 0));
}
