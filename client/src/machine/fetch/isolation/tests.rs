//! The filter on batches made by hand, rule by rule; then on random logs that are cut into answers anywhere.

use bytes::Bytes;
use proptest::prelude::*;
use sealwax_protocol::error::DecodeError;
use sealwax_protocol::fetch::{AbortedTransaction, IsolationLevel};
use sealwax_protocol::ids::{ProducerEpoch, ProducerId, ProducerIdAndEpoch, TopicPartition};
use sealwax_protocol::limits::DecodeLimits;
use sealwax_protocol::record::reader::Batches;
use sealwax_protocol::record::{BatchBuilder, ProducerStamp};

use super::{Visible, filter};
use crate::machine::fetch::FetchedPartition;
use crate::machine::fetch::tests::batches::{Batch, Kind, encode};

const COMMITTED: IsolationLevel = IsolationLevel::ReadCommitted;
const UNCOMMITTED: IsolationLevel = IsolationLevel::ReadUncommitted;

fn aborted(entries: &[(i64, i64)]) -> Option<Vec<AbortedTransaction>> {
    Some(
        entries
            .iter()
            .map(|&(producer_id, first_offset)| AbortedTransaction {
                producer_id: ProducerId(producer_id),
                first_offset,
            })
            .collect(),
    )
}

fn offsets(visible: &Visible) -> Vec<i64> {
    let fetched = FetchedPartition {
        partition: TopicPartition::new("t", 0),
        visible: visible.clone(),
    };
    fetched
        .records()
        .map(|record| {
            let record = record.unwrap();
            assert_eq!(record.value, Some(record.offset.to_string().as_bytes()));
            record.offset
        })
        .collect()
}

fn read(
    batches: &[Batch],
    start: i64,
    level: IsolationLevel,
    list: Option<Vec<AbortedTransaction>>,
) -> (Visible, Option<DecodeError>) {
    filter(
        Batches::new(encode(batches), DecodeLimits::default()),
        start,
        level,
        list,
    )
}

/// What a reader under read_committed sees: offsets, next offset, dropped records.
fn committed(batches: &[Batch], start: i64, list: &[(i64, i64)]) -> (Vec<i64>, i64, u64) {
    let (visible, error) = read(batches, start, COMMITTED, aborted(list));
    assert_eq!(error, None);
    (offsets(&visible), visible.next_offset, visible.aborted_records)
}

use Kind::{Abort, Commit, Control, Plain, Transactional};

#[test]
fn a_committed_transaction_is_seen_and_its_marker_is_not() {
    let log = [
        Batch::new(Transactional, 7, 0, 3),
        Batch::marker(Commit, 7, 3),
        Batch::new(Plain, -1, 4, 1),
    ];
    assert_eq!(committed(&log, 0, &[]), (vec![0, 1, 2, 4], 5, 0));
}

#[test]
fn an_aborted_transaction_is_dropped_and_counted_and_the_position_passes_its_marker() {
    let log = [Batch::new(Transactional, 7, 0, 3), Batch::marker(Abort, 7, 3)];
    assert_eq!(committed(&log, 0, &[(7, 0)]), (vec![], 4, 3));
}

#[test]
fn only_the_same_producers_abort_marker_ends_an_aborted_range() {
    let log = [
        Batch::new(Transactional, 7, 0, 1),
        Batch::new(Transactional, 8, 1, 1),
        Batch::marker(Commit, 8, 2),
        Batch::new(Transactional, 7, 3, 1),
        Batch::marker(Abort, 9, 4),
        Batch::new(Transactional, 7, 5, 1),
        Batch::marker(Abort, 7, 6),
        Batch::new(Transactional, 7, 7, 1),
        Batch::marker(Commit, 7, 8),
    ];
    assert_eq!(committed(&log, 0, &[(7, 0)]), (vec![1, 7], 9, 3));
}

#[test]
fn an_unsorted_list_is_sorted_before_use() {
    let log = [
        Batch::new(Transactional, 7, 0, 1),
        Batch::marker(Abort, 7, 1),
        Batch::new(Transactional, 8, 2, 1),
        Batch::marker(Abort, 8, 3),
        Batch::new(Transactional, 7, 4, 1),
        Batch::marker(Abort, 7, 5),
    ];
    let list = [(7, 4), (8, 2), (7, 0)];
    assert_eq!(committed(&log, 0, &list), (vec![], 6, 3));
}

#[test]
fn one_producer_may_abort_twice_with_a_commit_between() {
    let log = [
        Batch::new(Transactional, 7, 0, 1),
        Batch::marker(Abort, 7, 1),
        Batch::new(Transactional, 7, 2, 2),
        Batch::marker(Commit, 7, 4),
        Batch::new(Transactional, 7, 5, 1),
        Batch::marker(Abort, 7, 6),
    ];
    assert_eq!(committed(&log, 0, &[(7, 0), (7, 5)]), (vec![2, 3], 7, 2));
}

#[test]
fn an_aborted_transaction_whose_first_records_are_compacted_away_is_still_dropped() {
    let compacted = Batch {
        base: 0,
        ..Batch::new(Transactional, 7, 2, 2)
    };
    let log = [compacted, Batch::marker(Abort, 7, 4)];
    assert_eq!(committed(&log, 0, &[(7, 1)]), (vec![], 5, 2));
}

#[test]
fn a_lone_abort_marker_is_passed() {
    let log = [
        Batch::marker(Abort, 7, 0),
        Batch::new(Transactional, 7, 1, 1),
        Batch::marker(Commit, 7, 2),
    ];
    assert_eq!(committed(&log, 0, &[]), (vec![1], 3, 0));
}

#[test]
fn several_abort_markers_in_a_row_are_passed() {
    let log = [
        Batch::new(Transactional, 7, 0, 1),
        Batch::marker(Abort, 7, 1),
        Batch::marker(Abort, 7, 2),
        Batch::new(Transactional, 7, 3, 1),
        Batch::marker(Commit, 7, 4),
    ];
    assert_eq!(committed(&log, 0, &[(7, 0)]), (vec![3], 5, 1));
}

#[test]
fn an_empty_control_batch_and_unknown_control_types_are_passed() {
    let log = [
        Batch::marker(Abort, 7, 0).compacted_to(&[]),
        Batch::marker(Control(2), -1, 1),
        Batch::marker(Control(99), 7, 2),
        Batch::new(Plain, -1, 3, 1),
    ];
    assert_eq!(committed(&log, 0, &[]), (vec![3], 4, 0));
}

#[test]
fn a_commit_marker_does_not_end_an_aborted_range() {
    let log = [
        Batch::new(Transactional, 7, 0, 1),
        Batch::marker(Commit, 7, 1),
        Batch::new(Transactional, 7, 2, 1),
        Batch::marker(Abort, 7, 3),
    ];
    assert_eq!(committed(&log, 0, &[(7, 0)]), (vec![], 4, 2));
}

#[test]
fn records_outside_of_transactions_are_seen_whatever_the_list_says_of_their_producer() {
    let log = [Batch::new(Plain, 7, 0, 2), Batch::new(Plain, -1, 2, 1)];
    assert_eq!(committed(&log, 0, &[(7, 0), (-1, 0)]), (vec![0, 1, 2], 3, 0));
}

#[test]
fn the_list_counts_only_under_read_committed() {
    let log = [Batch::new(Transactional, 7, 0, 2), Batch::marker(Abort, 7, 2)];
    let (visible, error) = read(&log, 0, UNCOMMITTED, aborted(&[(7, 0)]));
    assert_eq!(error, None);
    assert_eq!(offsets(&visible), [0, 1]);
    assert_eq!((visible.next_offset, visible.aborted_records), (3, 0));
}

#[test]
fn no_list_is_an_empty_list() {
    let log = [Batch::new(Transactional, 7, 0, 1), Batch::marker(Commit, 7, 1)];
    let (visible, _) = read(&log, 0, COMMITTED, None);
    assert_eq!(offsets(&visible), [0]);
}

#[test]
fn reading_may_begin_within_a_batch() {
    let log = [Batch::new(Plain, -1, 0, 5), Batch::new(Plain, -1, 5, 1)];
    assert_eq!(committed(&log, 3, &[]), (vec![3, 4, 5], 6, 0));
    let log = [Batch::new(Transactional, 7, 0, 5), Batch::marker(Abort, 7, 5)];
    assert_eq!(committed(&log, 3, &[(7, 0)]), (vec![], 6, 2));
}

#[test]
fn batches_below_the_position_are_skipped_whole() {
    let log = [
        Batch::new(Plain, -1, 0, 2),
        Batch::new(Plain, -1, 2, 2),
        Batch::new(Plain, -1, 4, 1),
    ];
    let (visible, _) = read(&log, 2, COMMITTED, None);
    assert_eq!(visible.batches.len(), 2);
    assert_eq!(offsets(&visible), [2, 3, 4]);
}

#[test]
fn the_position_is_behind_the_batch_also_when_its_last_records_or_all_are_gone() {
    let log = [
        Batch::new(Plain, -1, 0, 5).compacted_to(&[1, 2]),
        Batch::new(Plain, 7, 5, 5).compacted_to(&[]),
    ];
    assert_eq!(committed(&log, 0, &[]), (vec![1, 2], 10, 0));
}

#[test]
fn records_of_overlapping_batches_are_given_once() {
    let log = [Batch::new(Plain, -1, 0, 3), Batch::new(Plain, -1, 1, 4)];
    assert_eq!(committed(&log, 0, &[]), (vec![0, 1, 2, 3, 4], 5, 0));
}

#[test]
fn what_is_good_before_a_damaged_batch_is_kept_beside_the_error() {
    let mut bytes = encode(&[Batch::new(Plain, -1, 0, 2), Batch::new(Plain, -1, 2, 2)]).to_vec();
    *bytes.last_mut().unwrap() ^= 1;
    let batches = Batches::new(bytes.into(), DecodeLimits::default());
    let (visible, error) = filter(batches, 0, COMMITTED, None);
    assert!(
        matches!(error, Some(DecodeError::Corrupt { base_offset: 2, .. })),
        "{error:?}"
    );
    assert_eq!(offsets(&visible), [0, 1]);
    assert_eq!(visible.next_offset, 2);
}

#[test]
fn a_batch_from_the_producers_builder_is_read_like_a_hand_made_one() {
    let mut builder = BatchBuilder::with_capacity(100);
    for value in ["0", "1"] {
        builder.append(5, None, Some(value.as_bytes()), []).unwrap();
    }
    let bytes = builder.seal(ProducerStamp {
        transactional: true,
        producer: ProducerIdAndEpoch {
            id: ProducerId(7),
            epoch: ProducerEpoch(0),
        },
        base_sequence: None,
    });
    let (visible, _) = filter(
        Batches::new(bytes.clone(), DecodeLimits::default()),
        0,
        COMMITTED,
        aborted(&[]),
    );
    assert_eq!(offsets(&visible), [0, 1]);
    let (visible, _) = filter(
        Batches::new(bytes, DecodeLimits::default()),
        0,
        COMMITTED,
        aborted(&[(7, 0)]),
    );
    assert_eq!((offsets(&visible), visible.aborted_records), (vec![], 2));
}

/// What happens to a partition's log.
#[derive(Debug, Clone)]
enum Step {
    /// Records by a producer: 0 is outside of transactions. `kept` says which survive the cleaner, bit by bit.
    Append { producer: i64, count: i64, kept: u8 },
    /// The producer's transaction ends; also if it has none, or none that wrote here.
    End { producer: i64, kind: Kind },
    /// The cleaner removed batches whole.
    Gap { offsets: i64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let append =
        (0..4_i64, 1..5_i64, any::<u8>(), any::<bool>()).prop_map(|(producer, count, kept, whole)| {
            Step::Append {
                producer,
                count,
                kept: if whole { u8::MAX } else { kept },
            }
        });
    let end = (1..4_i64, prop_oneof![Just(Abort), Just(Commit)])
        .prop_map(|(producer, kind)| Step::End { producer, kind });
    let gap = (1..4_i64).prop_map(|offsets| Step::Gap { offsets });
    prop::collection::vec(prop_oneof![6 => append, 4 => end, 1 => gap], 1..40)
}

/// A partition as a broker has it.
#[derive(Debug, Default)]
struct Log {
    batches: Vec<Batch>,
    end: i64,
    /// First offset of each open transaction, by producer.
    open: std::collections::BTreeMap<i64, i64>,
    /// Producer, first offset, marker's offset.
    aborted: Vec<(i64, i64, i64)>,
}

impl Log {
    fn written_by(steps: &[Step]) -> Self {
        let mut log = Self::default();
        for step in steps {
            match *step {
                Step::Append {
                    producer,
                    count,
                    kept,
                } => {
                    let kind = if producer == 0 { Plain } else { Transactional };
                    let mut batch = Batch::new(kind, producer, log.end, count);
                    let base = log.end;
                    batch.records.retain(|offset| kept >> (offset - base) & 1 == 1);
                    log.batches.push(batch);
                    if producer != 0 {
                        log.open.entry(producer).or_insert(base);
                    }
                    log.end += count;
                }
                Step::End { producer, kind } => {
                    if let Some(first) = log.open.remove(&producer)
                        && kind == Abort
                    {
                        log.aborted.push((producer, first, log.end));
                    }
                    log.batches.push(Batch::marker(kind, producer, log.end));
                    log.end += 1;
                }
                Step::Gap { offsets } => log.end += offsets,
            }
        }
        log
    }

    fn last_stable_offset(&self) -> i64 {
        self.open.values().copied().min().unwrap_or(self.end)
    }

    /// What a reader must get, by a rule that knows the whole history: records with no abort over them.
    fn expected(&self, level: IsolationLevel, start: i64, end: i64) -> Vec<i64> {
        let is_aborted = |batch: &Batch| {
            level == COMMITTED
                && batch.kind == Transactional
                && self.aborted.iter().any(|&(producer, first, marker)| {
                    producer == batch.producer_id && first <= batch.base && batch.last < marker
                })
        };
        self.batches
            .iter()
            .filter(|batch| matches!(batch.kind, Plain | Transactional) && !is_aborted(batch))
            .flat_map(|batch| batch.records.iter().copied())
            .filter(|offset| (start..end).contains(offset))
            .collect()
    }

    /// An answer to a fetch at `position`: some whole batches, a cut one behind them, and the list in any order.
    fn answer(&self, position: i64, end: i64, cut: Cut) -> (Bytes, Vec<AbortedTransaction>) {
        let readable: Vec<_> = self
            .batches
            .iter()
            .filter(|batch| batch.last >= position && batch.last < end)
            .collect();
        let whole = usize::from(cut.batches).min(readable.len());
        let mut bytes: Vec<u8> = readable[..whole]
            .iter()
            .flat_map(|batch| batch.encode())
            .collect();
        if let Some(next) = readable.get(whole) {
            let next = next.encode();
            let length = usize::from(cut.tail) % next.len();
            bytes.extend(&next[..length]);
        }
        let upper = match (readable.get(whole.wrapping_sub(1)), cut.wide_list) {
            (Some(last), false) => last.last + 1,
            _ => end,
        };
        let mut list: Vec<_> = self
            .aborted
            .iter()
            .filter(|(_, first, marker)| *marker >= position && *first < upper)
            .map(|&(producer, first_offset, _)| AbortedTransaction {
                producer_id: ProducerId(producer),
                first_offset,
            })
            .collect();
        fastrand::Rng::with_seed(u64::from(cut.tail)).shuffle(&mut list);
        (bytes.into(), list)
    }
}

/// Where an answer ends.
#[derive(Debug, Clone, Copy)]
struct Cut {
    batches: u8,
    tail: u16,
    /// The broker lists by an index, so the list may reach further than the records.
    wide_list: bool,
}

fn cuts() -> impl Strategy<Value = Vec<Cut>> {
    let cut = (1..5_u8, any::<u16>(), any::<bool>()).prop_map(|(batches, tail, wide_list)| Cut {
        batches,
        tail,
        wide_list,
    });
    prop::collection::vec(cut, 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_record_that_is_to_be_seen_is_seen_once_and_in_order_however_the_answers_are_cut(
        steps in steps(),
        cuts in cuts(),
        start in 0.0..1.0_f64,
        committed in any::<bool>(),
    ) {
        let log = Log::written_by(&steps);
        let (level, end) = if committed { (COMMITTED, log.last_stable_offset()) } else { (UNCOMMITTED, log.end) };
        let start = (end as f64 * start) as i64;
        let last = log.batches.iter().map(|batch| batch.last).filter(|last| *last < end).max();
        let (mut position, mut seen, mut dropped) = (start, Vec::new(), 0);
        for cut in cuts.iter().cycle() {
            if last.is_none_or(|last| position > last) {
                break;
            }
            let (bytes, list) = log.answer(position, end, *cut);
            let list = committed.then_some(list);
            let (visible, error) = filter(Batches::new(bytes, DecodeLimits::default()), position, level, list);
            prop_assert_eq!(error, None);
            prop_assert!(visible.is_progress());
            seen.extend(offsets(&visible));
            dropped += visible.aborted_records;
            position = visible.next_offset;
        }
        prop_assert_eq!(&seen, &log.expected(level, start, end));
        let whole = log.expected(UNCOMMITTED, 0, end).len() as u64;
        let visible = log.expected(level, 0, end).len() as u64;
        prop_assert!(dropped <= whole - visible);
        if start == 0 {
            prop_assert_eq!(dropped, whole - visible);
        }
    }
}
