//! Sequences of calls against plans of faults. What must hold at every instant is watched by the harness; here the end is judged.

use std::collections::HashMap;
use std::time::Duration;

use proptest::prelude::*;

use crate::config::ProducerConfig;
use crate::error::ErrorKind;
use crate::machine::Machine;
use crate::machine::testing::faults::{self, Fault};
use crate::machine::testing::harness::{self, Harness};
use crate::machine::testing::log::Status;
use crate::machine::testing::model::Model;
use crate::machine::transaction::Verdict;

#[derive(Debug, Clone, Copy)]
enum Op {
    /// Appends to a partition.
    Append(i32),
    /// Some steps of the world.
    Steps(u8),
    /// Time passes.
    Wait(u16),
    Commit,
    Abort,
    /// The transaction's handle is dropped.
    Drop,
    /// A commit is asked for, but nobody waits for its verdict.
    Leave,
    /// The coordinator loses patience.
    TimeOut,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        10 => (0..4).prop_map(Op::Append),
        4 => (1_u8..6).prop_map(Op::Steps),
        2 => (0_u16..300).prop_map(Op::Wait),
        3 => Just(Op::Commit),
        1 => Just(Op::Abort),
        1 => Just(Op::Drop),
        1 => Just(Op::Leave),
    ];
    prop::collection::vec(op, 1..60)
}

/// Short deadlines, so that a lasting fault outlives them.
fn config() -> ProducerConfig {
    ProducerConfig {
        max_block: Duration::from_secs(2),
        delivery_timeout: Duration::from_secs(4),
        ..harness::config()
    }
}

/// Plays `ops`; the verdicts by transaction.
fn play(harness: &mut Harness, ops: &[Op]) -> HashMap<u64, Verdict> {
    let mut verdicts = HashMap::new();
    let mut open = None;
    for op in ops {
        match op {
            Op::Append(partition) => {
                if open.is_none() {
                    open = harness.begin().ok();
                }
                if let Some(serial) = open {
                    // A doomed transaction takes no records.
                    let _ = harness.append(*partition, Some(serial));
                }
            }
            Op::Steps(count) => (0..*count).for_each(|_| harness.advance()),
            Op::Wait(ms) => harness.run_for(Duration::from_millis(u64::from(*ms))),
            Op::Commit => {
                if let Some(serial) = open.take() {
                    verdicts.insert(serial, harness.commit(serial));
                }
            }
            Op::Abort => {
                if let Some(serial) = open.take() {
                    verdicts.insert(serial, harness.abort(serial));
                }
            }
            Op::Drop => {
                if let Some(serial) = open.take() {
                    harness.machine.abandon(harness.now, serial);
                }
            }
            Op::Leave => {
                if open.take().is_some() {
                    let _ = harness.machine.commit(harness.now);
                }
            }
            Op::TimeOut => harness.model.time_out(),
        }
    }
    if let Some(serial) = open {
        verdicts.insert(serial, harness.commit(serial));
    }
    for _ in 0..2 {
        for _ in 0..1000 {
            harness.advance();
        }
        // Nobody wants to know how an unknown commit came out.
        harness.machine.wind_up(harness.now);
    }
    verdicts
}

fn judge_transactions(harness: &Harness, verdicts: &HashMap<u64, Verdict>) {
    let mut by_serial: HashMap<u64, Vec<usize>> = HashMap::new();
    for taken in &harness.taken {
        assert!(
            harness.results.contains_key(&taken.batch),
            "record {} has no result",
            taken.value
        );
        let committed = harness
            .in_log(taken.value)
            .iter()
            .filter(|status| **status == Status::Committed)
            .count();
        assert!(
            committed <= 1,
            "record {} is committed {committed} times",
            taken.value
        );
        let serial = taken.serial.expect("a transaction");
        by_serial.entry(serial).or_default().push(committed);
    }
    for (serial, committed) in by_serial {
        let all = committed.iter().all(|count| *count == 1);
        let none = committed.iter().all(|count| *count == 0);
        match verdicts.get(&serial) {
            Some(Verdict::Committed) => assert!(all, "transaction {serial} is not whole: {committed:?}"),
            Some(Verdict::Aborted(error) | Verdict::Fenced(error) | Verdict::Fatal(error)) => {
                assert!(
                    none,
                    "transaction {serial} was said not to be committed ({error}): {committed:?}"
                );
            }
            Some(Verdict::Unknown(_)) | None => {
                assert!(all || none, "transaction {serial} is torn: {committed:?}");
            }
        }
    }
}

fn is_alive(harness: &Harness) -> bool {
    matches!(harness.machine.initialized(), Some(Ok(())) | None)
}

fn judge_rest(harness: &Harness) {
    assert_eq!(harness.machine.reserved_memory(), 0, "memory was not given back");
    assert!(harness.machine.is_idle(), "{:?}", harness.machine);
    assert!(harness.machine.is_drained());
    if is_alive(harness) {
        let open = harness.model.logs.values().flat_map(|log| &log.entries);
        let open = open.filter(|entry| entry.status == Status::Open).count();
        assert_eq!(open, 0, "a transaction is left hanging");
    }
}

/// The logs of some runs take no batches of more than a few records, so that others are split.
fn limited(mut model: Model, seed: u64) -> Model {
    let limits = [None, Some(1), Some(3)];
    let limit = limits[usize::try_from(seed % 3).unwrap()];
    model.logs.values_mut().for_each(|log| log.max_records = limit);
    model
}

fn transactions(version: i16, seed: u64, ops: &[Op], plan: Vec<Fault>) -> Harness {
    let model = limited(Model::new(version, 4, 0), seed);
    let mut harness = Harness::new(model, true, config(), seed);
    harness.run();
    harness.faults = plan.into();
    let verdicts = play(&mut harness, ops);
    judge_transactions(&harness, &verdicts);
    harness
}

proptest! {
    #[test]
    fn under_v1_no_fault_tears_a_transaction(ops in ops(), plan in faults::plan(), seed: u64) {
        let harness = transactions(0, seed, &ops, plan);
        judge_rest(&harness);
    }

    #[test]
    fn under_v2_no_fault_tears_a_transaction(ops in ops(), plan in faults::plan(), seed: u64) {
        let harness = transactions(2, seed, &ops, plan);
        judge_rest(&harness);
        prop_assert!(is_alive(&harness), "nothing here is fatal under V2");
    }

    #[test]
    fn a_coordinator_that_loses_patience_tears_nothing(
        ops in prop::collection::vec(
            prop_oneof![
                8 => (0..4).prop_map(Op::Append),
                3 => (1_u8..6).prop_map(Op::Steps),
                2 => Just(Op::Commit),
                1 => Just(Op::TimeOut),
            ],
            1..60,
        ),
        plan in faults::plan(),
        version in prop_oneof![Just(0_i16), Just(2)],
        seed: u64,
    ) {
        transactions(version, seed, &ops, plan);
    }

    #[test]
    fn without_transactions_each_record_is_written_at_most_once_and_in_order(
        ops in ops_without_transactions(),
        plan in faults::plan(),
        seed: u64,
    ) {
        let harness = without_transactions(config(), seed, &ops, plan);
        judge(&harness, Guarantee::OnceInOrder);
    }

    #[test]
    fn a_plain_producer_writes_what_it_says_and_with_one_in_flight_in_order(
        ops in ops_without_transactions(),
        plan in faults::plan(),
        max_in_flight in 1_usize..8,
        retries in prop_oneof![Just(i32::MAX as u32), 0..4_u32],
        seed: u64,
    ) {
        // What the network holds back comes whenever it likes: without sequences nothing can keep it from that.
        let prompt = |fault| match fault {
            Fault::Delayed => Fault::RequestLost,
            other => other,
        };
        let plan: Vec<_> = plan.into_iter().map(prompt).collect();
        let settings = ProducerConfig {
            enable_idempotence: Some(false),
            max_in_flight,
            retries,
            ..config()
        };
        let harness = without_transactions(settings, seed, &ops, plan);
        judge(&harness, if max_in_flight == 1 { Guarantee::InOrder } else { Guarantee::None });
    }

    #[test]
    fn a_producer_that_is_closed_ends_with_its_limit_and_calls_nothing_lost_that_may_be_written(
        ops in ops_without_transactions(),
        plan in faults::plan(),
        limit in 0_u64..3_000,
        is_plain: bool,
        seed: u64,
    ) {
        let settings = ProducerConfig {
            enable_idempotence: Some(!is_plain),
            ..config()
        };
        let mut harness = played(settings, seed, &ops, plan);
        let limit = Duration::from_millis(limit);
        harness.machine.close_within(harness.now, limit);
        harness.run_for(limit);
        prop_assert!(harness.machine.is_drained());
        judge(&harness, if is_plain { Guarantee::None } else { Guarantee::OnceInOrder });
    }
}

proptest! {
    #[test]
    fn a_transactional_producer_that_is_closed_says_of_no_commit_what_is_not_so(
        ops in ops(),
        plan in faults::plan(),
        limit in 0_u64..3_000,
        version in prop_oneof![Just(0_i16), Just(2)],
        seed: u64,
    ) {
        let model = limited(Model::new(version, 4, 0), seed);
        let mut harness = Harness::new(model, true, config(), seed);
        harness.run();
        harness.faults = plan.into();
        let (mut begun, mut is_open) = (None, false);
        for op in &ops {
            match op {
                Op::Append(partition) => {
                    if !is_open && let Some(Ok(new)) = harness.machine.begin(harness.now) {
                        harness.begun();
                        (begun, is_open) = (Some(new), true);
                    }
                    let _ = harness.append(*partition, begun);
                }
                Op::Steps(count) => (0..*count).for_each(|_| harness.advance()),
                Op::Wait(ms) => harness.run_for(Duration::from_millis(u64::from(*ms))),
                Op::Commit | Op::Leave => {
                    is_open = false;
                    let _ = harness.machine.commit(harness.now);
                }
                Op::Abort => {
                    is_open = false;
                    let _ = harness.machine.abort(harness.now);
                }
                Op::Drop | Op::TimeOut => {}
            }
        }
        let limit = Duration::from_millis(limit);
        harness.machine.close_within(harness.now, limit);
        harness.run_for(limit);
        prop_assert!(harness.machine.is_drained());
        prop_assert_eq!(harness.machine.reserved_memory(), 0);
        let verdict = |serial| Some((serial, harness.machine.verdict(serial)?));
        let verdicts = begun.and_then(verdict).into_iter().collect();
        judge_transactions(&harness, &verdicts);
    }
}

fn ops_without_transactions() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        8 => (0..4).prop_map(Op::Append),
        3 => (1_u8..6).prop_map(Op::Steps),
        1 => (0_u16..40_000).prop_map(Op::Wait),
    ];
    prop::collection::vec(op, 1..80)
}

/// Plays `ops`.
fn played(settings: ProducerConfig, seed: u64, ops: &[Op], plan: Vec<Fault>) -> Harness {
    let model = limited(Model::new(2, 4, 0), seed);
    let mut harness = Harness::new(model, false, settings, seed);
    harness.run();
    harness.faults = plan.into();
    for op in ops {
        match op {
            Op::Append(partition) => {
                harness.append(*partition, None).unwrap();
            }
            Op::Steps(count) => (0..*count).for_each(|_| harness.advance()),
            Op::Wait(ms) => harness.run_for(Duration::from_millis(u64::from(*ms))),
            Op::Commit | Op::Abort | Op::Drop | Op::Leave | Op::TimeOut => {}
        }
    }
    harness
}

/// Plays `ops`, and what follows from them.
fn without_transactions(settings: ProducerConfig, seed: u64, ops: &[Op], plan: Vec<Fault>) -> Harness {
    let mut harness = played(settings, seed, ops, plan);
    harness.run_for(Duration::from_secs(300));
    assert!(harness.machine.is_drained());
    harness
}

/// What a producer without transactions promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Guarantee {
    OnceInOrder,
    /// Each for the first time in order.
    InOrder,
    None,
}

fn judge(harness: &Harness, guarantee: Guarantee) {
    assert_eq!(harness.machine.reserved_memory(), 0, "memory was not given back");
    let is_once = guarantee == Guarantee::OnceInOrder;
    for taken in &harness.taken {
        let written = harness.in_log(taken.value).len();
        assert!(written <= 1 || !is_once, "record {} is there twice", taken.value);
        let (result, place) = harness.results[&taken.batch].of(taken.index);
        match result {
            Ok(metadata) => {
                assert!(written >= 1, "record {} was confirmed", taken.value);
                assert_eq!(metadata.topic_partition.partition, taken.partition);
                if let Some(base) = metadata.base_offset {
                    let place = usize::try_from(base).unwrap() + usize::try_from(place).unwrap();
                    let log = &harness.model.logs[&metadata.topic_partition];
                    assert_eq!(log.entries[place].value, taken.value);
                }
            }
            Err(error) if error.kind() == ErrorKind::OutcomeUnknown => {}
            Err(error) => assert_eq!(written, 0, "record {} was said to be lost: {error}", taken.value),
        }
    }
    if guarantee == Guarantee::None {
        return;
    }
    for log in harness.model.logs.values() {
        let mut seen = std::collections::HashSet::new();
        let firsts = log.entries.iter().filter(|entry| seen.insert(entry.value));
        assert!(firsts.is_sorted_by_key(|entry| entry.value), "out of order");
    }
}
