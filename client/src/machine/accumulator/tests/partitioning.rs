//! Where records go: keys, turns, one's own partitioner, and the sticky partition under load.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::*;
use crate::config::{Partitioner, Partitioning};

fn with(partitioning: Partitioning) -> Settings {
    let config = ProducerConfig {
        partitioning,
        ..ProducerConfig::default()
    };
    Settings {
        partitioner: PartitionerSettings::of(&config),
        ..settings()
    }
}

/// Bytes and batches of each partition.
fn sizes(accumulator: &RecordAccumulator<u32>, partitions: usize) -> Vec<(usize, usize)> {
    let topic = accumulator.topics.get(0).unwrap();
    let size = |partition: usize| {
        let queue = &topic.partitions[partition].queue;
        (queue.backlog(), queue.open_bytes())
    };
    (0..partitions).map(size).collect()
}

/// Appends, and tells which partition grew.
fn place(
    accumulator: &mut RecordAccumulator<u32>,
    now: Instant,
    record: &Record<'_>,
) -> Result<usize, Refusal> {
    let before = sizes(accumulator, 10);
    append(accumulator, now, record)?;
    let after = sizes(accumulator, 10);
    Ok((0..10).find(|index| before[*index] != after[*index]).unwrap())
}

#[test]
fn keys_are_placed_as_the_setting_says() {
    let hashed = |partitioning, key: Option<&str>| {
        let (mut accumulator, now) = accumulator(with(partitioning), 10);
        let record = Record {
            key: key.map(str::as_bytes),
            ..Record::new("t", "v")
        };
        place(&mut accumulator, now, &record).unwrap()
    };
    assert_eq!(hashed(Partitioning::Murmur2Random, Some("foobar")), 6);
    assert_eq!(hashed(Partitioning::Murmur2, Some("foobar")), 6);
    assert_eq!(hashed(Partitioning::ConsistentRandom, Some("foobar")), 9);
    assert_eq!(hashed(Partitioning::Consistent, Some("foobar")), 9);
    // 275646681 and 0 are the hashes of nothing.
    assert_eq!(hashed(Partitioning::Murmur2, None), 1);
    assert_eq!(hashed(Partitioning::Murmur2Random, Some("")), 1);
    assert_eq!(hashed(Partitioning::Consistent, None), 0);
}

#[test]
fn what_has_no_key_or_whose_key_is_ignored_goes_to_the_sticky_partition() {
    let ignoring = ProducerConfig {
        partitioner_ignore_keys: true,
        ..ProducerConfig::default()
    };
    let ignoring = Settings {
        partitioner: PartitionerSettings::of(&ignoring),
        ..settings()
    };
    for (settings, keys) in [
        (settings(), [None, None, None]),
        (ignoring, [Some("a"), Some("b"), Some("c")]),
        (with(Partitioning::Random), [Some("a"), None, Some("c")]),
        (with(Partitioning::ConsistentRandom), [Some(""), None, Some("")]),
    ] {
        let (mut accumulator, now) = accumulator(settings, 10);
        let places = keys.map(|key| {
            let record = Record {
                key: key.map(str::as_bytes),
                ..Record::new("t", "v")
            };
            place(&mut accumulator, now, &record).unwrap()
        });
        assert_eq!(places, [places[0]; 3]);
    }
}

#[test]
fn partitions_take_turns_but_those_without_leader_are_passed_over() {
    let (mut accumulator, now) = accumulator(with(Partitioning::RoundRobin), 10);
    let mut without = metadata(ErrorCode::NONE, 10);
    for topic in without.topics.values_mut() {
        topic.partitions[1].leader = None;
        topic.partitions[2].leader = None;
    }
    accumulator.update(&without);
    let record = Record::new("t", "v").key("always the same");
    let places: Vec<_> = (0..9)
        .map(|_| place(&mut accumulator, now, &record).unwrap())
        .collect();
    assert_eq!(places, [0, 3, 4, 5, 6, 7, 8, 9, 0]);
    // One that is refused loses its turn to nobody.
    let too_large = Record::new("t", &[0; 5000]);
    append(&mut accumulator, now, &too_large).unwrap_err();
    assert_eq!(place(&mut accumulator, now, &record).unwrap(), 3);
}

#[test]
fn the_sticky_partition_changes_after_a_batchs_worth_of_bytes_once_its_batch_is_full() {
    let (mut accumulator, now) = accumulator(settings(), 10);
    // Three of these fill a batch of 1000 bytes without reaching its size, so that the fourth to sixth go there too (Java's way).
    let record = Record::new("t", &[0; 290]);
    let places: Vec<_> = (0..18)
        .map(|_| place(&mut accumulator, now, &record).unwrap())
        .collect();
    let runs: Vec<_> = places
        .chunk_by(|one, other| one == other)
        .map(<[_]>::len)
        .collect();
    assert!(
        runs.iter().all(|run| run % 6 == 0) && runs.len() >= 2,
        "{places:?}"
    );
}

#[test]
fn the_next_sticky_partition_is_seldom_one_with_a_long_queue() {
    let (mut accumulator, now) = accumulator(settings(), 3);
    let full = Record::new("t", &[0; 900]);
    for _ in 0..2 {
        append(&mut accumulator, now, &full.partition(0)).unwrap();
        append(&mut accumulator, now, &full.partition(2)).unwrap();
    }
    let topic = accumulator.topics.get_mut(0).unwrap();
    let draws = |settings: &PartitionerSettings, topic: &mut super::super::topics::Topic<u32>| {
        let mut rng = fastrand::Rng::with_seed(3);
        let mut seen = [0; 3];
        for _ in 0..3000 {
            let mut chooser = super::super::topics::Chooser {
                now,
                settings,
                batch_size: 1,
                availability: &super::super::availability::Availability::new(Duration::ZERO),
                rng: &mut rng,
            };
            let chosen = topic.choose(&Record::new("t", "v"), 100, &mut chooser).unwrap();
            topic.appended(chosen, 100);
            seen[chosen.partition()] += 1;
        }
        seen
    };
    let adaptive = PartitionerSettings::of(&ProducerConfig::default());
    let seen = draws(&adaptive, topic);
    // Weights 1, 3 and 1.
    assert!((1650..1950).contains(&seen[1]), "{seen:?}");
    let uniform = PartitionerSettings {
        adaptive: false,
        ..adaptive
    };
    let seen = draws(&uniform, topic);
    assert!(seen.iter().all(|count| (850..1150).contains(count)), "{seen:?}");
}

#[test]
fn a_broker_that_takes_nothing_gets_no_sticky_partition_until_it_answers() {
    let config = ProducerConfig {
        partitioner_availability_timeout: Duration::from_millis(100),
        ..ProducerConfig::default()
    };
    let settings = Settings {
        partitioner: PartitionerSettings::of(&config),
        batch_size: 100,
        ..settings()
    };
    let (mut accumulator, now) = accumulator(settings, 10);
    append(&mut accumulator, now, &Record::new("t", "v").partition(0)).unwrap();
    let busy = Gate {
        producer: PRODUCER,
        has_room: &|node| node != NodeId(0),
        may_write: &|_| true,
    };
    assert!(accumulator.drain(now, RequestId(1), &busy).is_none());
    let at = |millis| now + Duration::from_millis(millis);
    let places = |accumulator: &mut RecordAccumulator<u32>, millis| {
        let record = Record::new("t", &[0; 50]);
        (0..60).any(|_| {
            let went = place(accumulator, at(millis), &record).unwrap();
            for partition in 1..10 {
                let leader = NodeId(partition);
                let others = Gate {
                    producer: PRODUCER,
                    has_room: &|node| node == leader,
                    may_write: &|_| true,
                };
                let request = RequestId(1000 + u64::try_from(partition).unwrap());
                if let Some(drained) = accumulator.drain(at(millis), request, &others) {
                    accumulator.handle(at(millis), request, drained.batches[0].id, written());
                    accumulator.poll_resolved().unwrap();
                }
            }
            went == 0
        })
    };
    assert!(!places(&mut accumulator, 101));
    accumulator.heard_of(at(102), NodeId(0), true);
    assert!(places(&mut accumulator, 103));
}

struct Odd(AtomicU32);

impl Partitioner for Odd {
    fn partition(&self, record: &Record<'_>, partitions: i32) -> i32 {
        self.0.fetch_add(1, Ordering::Relaxed);
        match record.value {
            Some(b"panic") => panic!("as asked"),
            Some(b"beyond") => partitions,
            Some(b"below") => -1,
            _ => 3,
        }
    }
}

#[test]
fn ones_own_partitioner_decides_and_its_failures_are_those_of_one_record() {
    let own = Partitioning::custom(Odd(AtomicU32::new(0)));
    let (mut accumulator, now) = accumulator(with(own), 10);
    let record = Record::new("t", "fine").key("foobar");
    assert_eq!(place(&mut accumulator, now, &record).unwrap(), 3);
    for (value, words) in [
        ("panic", "panicked"),
        ("beyond", "chose partition 10, but there are 10"),
        ("below", "chose partition -1"),
    ] {
        let refusal = append(&mut accumulator, now, &Record::new("t", value)).unwrap_err();
        let Refusal::Error(error) = refusal else {
            panic!("{refusal:?}");
        };
        assert!(error.to_string().contains(words), "{error}");
    }
    assert_eq!(place(&mut accumulator, now, &record).unwrap(), 3);
    let explicit = Record::new("t", "panic").partition(7);
    assert_eq!(place(&mut accumulator, now, &explicit).unwrap(), 7);
}

#[test]
fn a_topic_created_anew_with_fewer_partitions_gets_records_only_where_there_are_any() {
    let anew = |partitions| {
        let mut news = metadata(ErrorCode::NONE, partitions);
        for topic in news.topics.values_mut() {
            topic.id = TopicId::from_u128(2);
        }
        news
    };
    for partitioning in [
        Partitioning::Murmur2Random,
        Partitioning::Murmur2,
        Partitioning::ConsistentRandom,
        Partitioning::Consistent,
        Partitioning::Random,
        Partitioning::RoundRobin,
    ] {
        let (mut accumulator, now) = accumulator(
            Settings {
                buffer_memory: 1 << 20,
                ..with(partitioning.clone())
            },
            10,
        );
        for _ in 0..20 {
            append(&mut accumulator, now, &Record::new("t", &[0; 100])).unwrap();
        }
        accumulator.update(&anew(2));
        for number in 0..20_u8 {
            let key = [number];
            let records = [Record::new("t", &[0; 100]).key(&key), Record::new("t", &[0; 100])];
            for record in &records {
                let before = sizes(&accumulator, 10);
                append(&mut accumulator, now, record).unwrap();
                let after = sizes(&accumulator, 10);
                assert_eq!(before[2..], after[2..], "{partitioning:?}");
            }
        }
        let explicit = append(&mut accumulator, now, &Record::new("t", "v").partition(2));
        let Err(Refusal::Error(error)) = explicit else {
            panic!("{explicit:?}");
        };
        assert!(error.to_string().contains("it has 2"), "{error}");
        // What was taken for partitions that are gone has nobody to be sent to.
        while let Some(drained) = drain(&mut accumulator, now, 1) {
            assert!(drained.batches.iter().all(|batch| batch.id.partition < 2));
        }
        accumulator.update(&anew(0));
        let none = append(&mut accumulator, now, &Record::new("t", "v"));
        assert!(
            matches!(none, Err(Refusal::Metadata(ErrorCode::NONE))),
            "{none:?}"
        );
    }
}
