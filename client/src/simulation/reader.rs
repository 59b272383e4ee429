//! A reader's user: takes what there is, goes on after an error, and writes down what it got. In: the fetch machine. Out: records by
//! partition.

use std::time::Instant;

use sealwax_protocol::ids::TopicPartition;

use super::check::Records;
use super::operations::PARTITIONS;
use super::producer::TOPIC;
use crate::machine::fetch::{FetchMachine, ResetPolicy, Start};

/// A read_committed reader of the whole topic.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) machine: FetchMachine,
    pub(super) read: Records,
    positions: Vec<i64>,
}

impl Reader {
    pub(super) fn new(now: Instant, mut machine: FetchMachine) -> Self {
        let all = (0..PARTITIONS).map(|partition| {
            (
                TopicPartition::new(TOPIC, partition),
                Start::Policy(ResetPolicy::Earliest),
            )
        });
        machine.assign(now, all);
        Self {
            machine,
            read: Records::new(),
            positions: (0..PARTITIONS).map(|_| 0).collect(),
        }
    }

    /// Takes everything that there is; whether there was something.
    pub(super) fn step(&mut self, now: Instant) -> bool {
        let mut moved = false;
        while let Some(taken) = self.machine.take(now) {
            moved = true;
            match taken {
                Ok(fetched) => {
                    let partition = fetched.partition.partition;
                    for record in fetched.records() {
                        let record = record.expect("a readable record");
                        let value = record.value.expect("a value").try_into().expect("eight bytes");
                        self.read
                            .entry(partition)
                            .or_default()
                            .push((record.offset, u64::from_be_bytes(value)));
                    }
                    let place = usize::try_from(partition).expect("a partition");
                    assert!(
                        fetched.visible.next_offset >= self.positions[place],
                        "a position went back"
                    );
                    self.positions[place] = fetched.visible.next_offset;
                }
                Err(_) => self.go_on(now),
            }
        }
        moved
    }

    /// The offset of the next record in a partition.
    pub(super) fn position(&self, partition: i32) -> i64 {
        self.machine
            .position(&TopicPartition::new(TOPIC, partition))
            .unwrap_or(-1)
    }

    /// After an error a partition is halted: seeks to where it stood.
    fn go_on(&mut self, now: Instant) {
        for (partition, position) in (0..).zip(self.positions.clone()) {
            self.machine
                .seek(now, &TopicPartition::new(TOPIC, partition), Start::At(position));
        }
    }
}
