//! What users do in a run, as data. In: chance. Out: a script for each client.

use std::time::Duration;

use proptest::prelude::*;

/// Partitions of the one topic.
pub(super) const PARTITIONS: i32 = 4;

/// One call of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    /// Begins a transaction; does nothing if one is open.
    Begin,
    /// Sends so many records to a partition, in a transaction if the producer has them.
    Send(i32, u8),
    /// Makes an offset of its group part of the transaction.
    Offsets,
    /// Waits for the results of all records.
    Flush,
    /// Commits and waits for the outcome.
    Commit,
    /// Aborts and waits for the outcome.
    Abort,
    /// Drops the open transaction.
    Drop,
    /// Asks for a commit and does not wait for its outcome.
    Leave,
    /// Asks what became of the last commit, if that was not told.
    Resolve,
    /// Does nothing for a while.
    Wait(Duration),
    /// The process is killed, and another one takes its place.
    Restart,
}

/// A producer's process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Script {
    /// Which transactional id; `None`: it has none.
    pub(super) transactional_id: Option<usize>,
    /// When it starts.
    pub(super) start: Duration,
    pub(super) operations: Vec<Operation>,
}

fn wait() -> impl Strategy<Value = Operation> {
    prop_oneof![
        6 => 0..30_u64,
        2 => 30..600_u64,
        1 => 600..4_000_u64,
    ]
    .prop_map(|millis| Operation::Wait(Duration::from_millis(millis)))
}

fn send() -> impl Strategy<Value = Operation> {
    (0..PARTITIONS, prop_oneof![4 => Just(1_u8), 1 => 2..20_u8])
        .prop_map(|(partition, count)| Operation::Send(partition, count))
}

/// The calls of a transactional producer's user.
pub(super) fn transactional() -> impl Strategy<Value = Vec<Operation>> {
    let operation = prop_oneof![
        10 => send(),
        3 => wait(),
        2 => Just(Operation::Offsets),
        1 => Just(Operation::Begin),
        1 => Just(Operation::Flush),
        1 => Just(Operation::Resolve),
        5 => Just(Operation::Commit),
        2 => Just(Operation::Abort),
        1 => Just(Operation::Drop),
        1 => Just(Operation::Leave),
    ];
    prop::collection::vec(operation, 1..40)
}

/// The calls of a user without transactions.
pub(super) fn idempotent() -> impl Strategy<Value = Vec<Operation>> {
    let operation = prop_oneof![
        10 => send(),
        3 => wait(),
        1 => Just(Operation::Flush),
    ];
    prop::collection::vec(operation, 1..40)
}

/// A script of one producer that nobody disturbs.
pub(super) fn alone(transactional_id: Option<usize>) -> impl Strategy<Value = Vec<Script>> {
    let operations = match transactional_id {
        Some(_) => transactional().boxed(),
        None => idempotent().boxed(),
    };
    operations.prop_map(move |operations| {
        vec![Script {
            transactional_id,
            start: Duration::ZERO,
            operations,
        }]
    })
}

/// Scripts of several producers: some share a transactional id, some are killed and start again, one may have none.
pub(super) fn crowd() -> impl Strategy<Value = Vec<Script>> {
    let one = (0..5_usize).prop_flat_map(|kind| {
        let (id, operations) = match kind {
            0 => (None, idempotent().boxed()),
            _ => (Some(kind % 2), transactional().boxed()),
        };
        let kills = prop::collection::vec(any::<prop::sample::Index>(), 0..3);
        (Just(id), 0..2_000_u64, operations, kills).prop_map(
            |(transactional_id, start, operations, kills)| {
                let mut operations = operations;
                for kill in kills {
                    let at = kill.index(operations.len() + 1);
                    operations.insert(at, Operation::Restart);
                }
                Script {
                    transactional_id,
                    start: Duration::from_millis(start),
                    operations,
                }
            },
        )
    });
    prop::collection::vec(one, 1..4)
}
