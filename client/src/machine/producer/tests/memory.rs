//! buffer.memory: who waits for room is served in turn, without a linger, and the budget holds.

use std::time::Duration;

use crate::config::ProducerConfig;
use crate::machine::accumulator::{Refusal, Turn};
use crate::machine::testing::harness::{Harness, config};
use crate::machine::testing::model::TOPIC;
use crate::record::Record;

/// Tags from here on are those of records that waited.
const WAITED: u64 = 1 << 32;

fn tight() -> ProducerConfig {
    ProducerConfig {
        buffer_memory: 450,
        linger: Duration::from_secs(3600),
        delivery_timeout: Duration::from_secs(7200),
        ..config()
    }
}

fn wait(harness: &mut Harness, turn: Option<&Turn>, partition: i32, tag: u64) -> Result<(), Refusal> {
    let bytes = u64::MAX.to_be_bytes();
    let record = Record::new(TOPIC, &bytes).partition(partition);
    let appended = harness.machine.append_in_turn(
        (harness.now, harness.now),
        turn,
        (&record, 0),
        || WAITED + tag,
        |_, _| (),
    );
    appended.map(|_| ())
}

#[test]
fn as_long_as_someone_waits_no_batch_waits_for_its_linger() {
    let mut harness = Harness::plain(tight());
    harness.append(0, None).unwrap();
    harness.append(1, None).unwrap();
    harness.run();
    harness.take_sent();
    assert!(matches!(wait(&mut harness, None, 2, 0), Err(Refusal::Memory)));
    let (first, second) = (harness.machine.line_up(), harness.machine.line_up());
    harness.run();
    assert_eq!(harness.take_sent().len(), 2, "both batches, to make room");
    wait(&mut harness, Some(&first), 2, 0).unwrap();
    harness.machine.leave(first);
    // The second is refused by nobody but the budget; its turn comes without anybody's linger.
    wait(&mut harness, Some(&second), 3, 1).unwrap();
    harness.run();
    assert_eq!(harness.take_sent().len(), 2);
    harness.machine.leave(second);
    harness.append(0, None).unwrap();
    harness.run();
    assert_eq!(harness.take_sent(), [] as [&str; 0], "now they linger again");
}

#[test]
fn nobody_passes_those_in_line_but_a_record_that_needs_no_room_does() {
    let mut harness = Harness::plain(tight());
    harness.append(0, None).unwrap();
    harness.append(1, None).unwrap();
    assert!(matches!(wait(&mut harness, None, 2, 0), Err(Refusal::Memory)));
    let first = harness.machine.line_up();
    // There is room in the open batch of partition 0.
    harness.append(0, None).unwrap();
    harness.run();
    assert!(matches!(wait(&mut harness, None, 3, 1), Err(Refusal::Memory)));
    wait(&mut harness, Some(&first), 2, 0).unwrap();
    harness.machine.leave(first);
    wait(&mut harness, None, 3, 1).unwrap();
}
