//! Every error code in every answer of a coordinator, in every phase of a transaction: what it comes to in the end. The tables are those
//! of the APIs' files, seen from the application.

use std::time::Duration;

use sealwax_protocol::error_code::ErrorCode;

use crate::error::{Error, ErrorKind};
use crate::machine::testing::faults::Fault;
use crate::machine::testing::harness::{Harness, config};
use crate::machine::testing::model::Model;
use crate::machine::transaction::Verdict;
use crate::offsets::ConsumerGroupMetadata;

const V1: i16 = 0;
const V2: i16 = 2;
const BOTH: [i16; 2] = [V1, V2];

/// What the application sees in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Committed,
    /// Aborted, and the producer goes on.
    Aborted,
    Fenced,
    Fatal,
    Unknown,
}

fn end(verdict: &Verdict) -> End {
    match verdict {
        Verdict::Committed => End::Committed,
        Verdict::Aborted(_) => End::Aborted,
        Verdict::Fenced(_) => End::Fenced,
        Verdict::Fatal(error) if error.kind() == ErrorKind::Fenced => End::Fenced,
        Verdict::Fatal(_) => End::Fatal,
        Verdict::Unknown(_) => End::Unknown,
    }
}

fn codes() -> impl Iterator<Item = ErrorCode> {
    let known = ErrorCode::ALL.iter().copied().filter(|code| code.is_error());
    known.chain([ErrorCode(999)])
}

fn group() -> ConsumerGroupMetadata {
    ConsumerGroupMetadata::new("g")
}

/// Once fatal, every query says fatal, and nothing leaves any more.
fn is_beyond_use(harness: &mut Harness, serial: u64) {
    harness.take_sent();
    let errors: [Option<Error>; 5] = [
        harness.begin().err(),
        harness.append(0, None).err(),
        harness.send_offset(9, group()).err(),
        harness.resolve().err(),
        harness.machine.commit(harness.now).err(),
    ];
    for error in errors {
        assert!(
            error.is_some_and(|error| error.is_fatal()),
            "something is still possible"
        );
    }
    harness.machine.abandon(harness.now, serial);
    harness.run_for(Duration::from_secs(100));
    assert_eq!(harness.take_sent(), [] as [&str; 0]);
}

fn goes_on(harness: &mut Harness) {
    let serial = harness.begin().unwrap();
    harness.append(1, Some(serial)).unwrap();
    assert_eq!(end(&harness.commit(serial)), End::Committed);
}

/// Plays a transaction in which the n-th answer carries the code.
fn play(version: i16, nth: usize, code: ErrorCode, with_offsets: bool, commits: bool) -> (Harness, u64, End) {
    let mut harness = Harness::transactional(version);
    let serial = harness.begin().unwrap();
    let mut faults = vec![Fault::None; nth];
    faults.push(Fault::Says(code));
    harness.faults = faults.into();
    if with_offsets {
        // What is refused is told again by the transaction's end.
        let _ = harness.send_offset(5, group());
    } else {
        harness.append(0, Some(serial)).unwrap();
        harness.run_for(Duration::from_millis(20));
    }
    let verdict = if commits {
        harness.commit(serial)
    } else {
        harness.abort(serial)
    };
    let end = end(&verdict);
    (harness, serial, end)
}

fn check(played: (Harness, u64, End), expected: End, what: &str) {
    let (mut harness, serial, seen) = played;
    assert_eq!(seen, expected, "{what}");
    match seen {
        End::Committed | End::Aborted => goes_on(&mut harness),
        End::Fenced | End::Fatal => is_beyond_use(&mut harness, serial),
        End::Unknown => {}
    }
}

#[test]
fn in_the_answer_to_add_partitions() {
    for code in codes() {
        let expected = match code.0 {
            3 | 7 | 14 | 15 | 16 | 51 => End::Committed,
            29 | 55 | 59 | 120 => End::Aborted,
            47 | 90 => End::Fenced,
            _ => End::Fatal,
        };
        check(play(V1, 0, code, false, true), expected, &format!("{code}"));
        let expected = match expected {
            // The application aborts what could go on.
            End::Committed => End::Aborted,
            End::Aborted | End::Fenced | End::Fatal | End::Unknown => expected,
        };
        check(
            play(V1, 0, code, false, false),
            expected,
            &format!("{code}, then an abort"),
        );
    }
}

#[test]
fn in_the_answer_to_add_offsets() {
    for code in codes() {
        let expected = match code.0 {
            7 | 14 | 15 | 16 | 51 => End::Committed,
            30 | 59 | 120 => End::Aborted,
            47 | 90 => End::Fenced,
            _ => End::Fatal,
        };
        check(play(V1, 0, code, true, true), expected, &format!("{code}"));
    }
}

#[test]
fn in_the_answer_to_txn_offset_commit() {
    for (version, nth) in [(V1, 1), (V2, 0)] {
        for code in codes() {
            let expected = match (code.0, version) {
                (3 | 7 | 14 | 15 | 16 | 51 | 88, _) => End::Committed,
                (12 | 22 | 24 | 25 | 28 | 29 | 30 | 69 | 82 | 113 | 120, _) | (47, V2) => End::Aborted,
                (47 | 90, _) => End::Fenced,
                _ => End::Fatal,
            };
            check(
                play(version, nth, code, true, true),
                expected,
                &format!("{code}, V{version}"),
            );
        }
    }
}

#[test]
fn in_the_answer_to_a_commit() {
    for (version, nth) in [(V1, 2), (V2, 1)] {
        for code in codes() {
            let expected = match code.0 {
                -1 | 7 | 14 | 15 | 16 | 51 => End::Committed,
                48 | 59 | 120 => End::Aborted,
                47 | 90 => End::Fenced,
                35 | 43 | 53 => End::Fatal,
                _ => End::Unknown,
            };
            let (harness, serial, seen) = play(version, nth, code, false, true);
            if code == ErrorCode::INVALID_TXN_STATE {
                // It was a lie, so that the next call may meet anything.
                assert_eq!(seen, expected, "V{version}");
            } else {
                check((harness, serial, seen), expected, &format!("{code}, V{version}"));
            }
        }
    }
}

#[test]
fn in_the_answer_to_an_abort() {
    for (version, nth) in [(V1, 2), (V2, 1)] {
        for code in codes() {
            let expected = match (code.0, version) {
                (-1 | 7 | 14 | 15 | 16 | 51, _) => End::Aborted,
                (59, _) => End::Aborted,
                (48, V2) | (47 | 90, _) => End::Fenced,
                _ => End::Fatal,
            };
            let (harness, serial, seen) = play(version, nth, code, false, false);
            if code == ErrorCode::UNKNOWN_PRODUCER_ID {
                assert_eq!(seen, expected, "V{version}");
            } else {
                check((harness, serial, seen), expected, &format!("{code}, V{version}"));
            }
        }
    }
}

#[test]
fn in_the_answer_to_init_producer_id() {
    for version in BOTH {
        for code in codes() {
            let mut harness = Harness::new(Model::new(version, 4, 0), true, config(), 7);
            harness.faults = vec![Fault::Says(code)].into();
            harness.run_for(Duration::from_secs(1));
            let initialized = harness.machine.initialized().expect("an answer");
            match code.0 {
                7 | 14 | 15 | 16 | 51 => initialized.unwrap(),
                31 | 53 | 120 => {
                    assert!(!initialized.unwrap_err().is_fatal(), "{code}");
                    assert!(harness.begin().is_err());
                    goes_on(&mut harness);
                }
                _ => {
                    let error = initialized.unwrap_err();
                    assert_eq!(
                        error.kind() == ErrorKind::Fenced,
                        matches!(code.0, 47 | 90),
                        "{code}"
                    );
                    assert!(error.is_fatal(), "{code}");
                    assert!(harness.begin().unwrap_err().is_fatal(), "{code}");
                }
            }
        }
    }
}
