//! Scenarios that matter, each with what has to come of it.

use std::time::Duration;

use sealwax_protocol::ApiKey;
use sealwax_protocol::error_code::ErrorCode;

use super::super::faults::{Act, Fault, Plan, Rule};
use super::super::history::Outcome;
use super::super::model;
use super::super::operations::Operation::{
    self, Abort, Begin, Commit, Drop, Flush, Leave, Offsets, Resolve, Restart, Send, Wait,
};
use super::super::operations::Script;
use super::super::print::Trace;
use super::super::scenario::Scenario;
use super::super::world::{World, id_name};

const BOTH: [i16; 2] = [1, 2];

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn script(operations: &[Operation]) -> Script {
    Script {
        transactional_id: Some(0),
        start: Duration::ZERO,
        operations: operations.to_vec(),
    }
}

fn rule(api: ApiKey, nth: u32, times: u32, fault: Fault) -> Rule {
    Rule {
        api,
        nth,
        times,
        fault,
    }
}

/// One producer with a script, and what goes wrong.
fn scenario(version: i16, operations: &[Operation], rules: &[Rule]) -> Scenario {
    Scenario {
        seed: 7,
        transaction_version: version,
        marker_delay: ms(2),
        transaction_timeout: Duration::from_secs(60),
        scripts: vec![script(operations)],
        plan: Plan {
            rules: rules.to_vec(),
            acts: Vec::new(),
        },
        readers: 1,
    }
}

/// Plays it, finds no anomaly (so that the transactions after the script are committed), and tells the outcomes of the script's transactions and the
/// run's text.
fn play(scenario: &Scenario) -> (Vec<Outcome>, String) {
    play_in(World::new(scenario, Trace::kept()), scenario)
}

fn play_in(mut world: World, scenario: &Scenario) -> (Vec<Outcome>, String) {
    let found = world.play();
    assert_eq!(found, [], "{scenario:#?}\n{}", world.text());
    let outcomes = world.history.transactions.iter().take(world.scripted);
    (
        outcomes.map(|transaction| transaction.outcome).collect(),
        world.text().to_owned(),
    )
}

/// How often a request was written.
fn count(text: &str, what: &str) -> usize {
    let written = text.lines().filter(|line| line.contains(" writes on "));
    written.filter(|line| line.contains(what)).count()
}

/// An EndTxn is held until the next transaction is open (KAFKA-17754).
#[test]
fn a_held_commit_does_not_end_the_next_transaction() {
    for version in BOTH {
        for held in [50, 250, 700, 1_500] {
            let operations = [Send(0, 1), Commit, Send(0, 1), Wait(ms(2_000)), Send(1, 1), Abort];
            let fault = Fault::Late(ms(held));
            let (outcomes, text) = play(&scenario(
                version,
                &operations,
                &[rule(ApiKey::EndTxn, 0, 1, fault)],
            ));
            assert_eq!(outcomes, [Outcome::Committed, Outcome::Aborted]);
            if version == 1 {
                let asked = count(&text, "InitProducerId");
                assert!(asked >= 2, "the epoch is not used again\n{text}");
            }
        }
    }
}

#[test]
fn a_held_abort_does_not_end_the_next_transaction() {
    for version in BOTH {
        for held in [50, 250, 700, 1_500] {
            let operations = [
                Send(0, 1),
                Flush,
                Abort,
                Send(0, 1),
                Flush,
                Wait(ms(2_000)),
                Send(1, 1),
                Commit,
            ];
            let fault = Fault::Late(ms(held));
            let (outcomes, _) = play(&scenario(
                version,
                &operations,
                &[rule(ApiKey::EndTxn, 0, 1, fault)],
            ));
            assert_eq!(outcomes, [Outcome::Aborted, Outcome::Committed]);
        }
    }
}

/// A TV2 coordinator knows a doubled EndTxn by its epoch.
#[test]
fn a_doubled_end_does_not_end_the_next_transaction_under_tv2() {
    for (held, end, outcome) in [
        (3, Commit, Outcome::Committed),
        (30, Commit, Outcome::Committed),
        (300, Abort, Outcome::Aborted),
    ] {
        let operations = [Send(0, 1), Flush, end, Send(0, 1), Flush, Wait(ms(500)), Abort];
        let fault = Fault::Duplicate(ms(held));
        let (outcomes, _) = play(&scenario(2, &operations, &[rule(ApiKey::EndTxn, 0, 1, fault)]));
        assert_eq!(outcomes, [outcome, Outcome::Aborted]);
    }
}

#[test]
fn a_late_write_does_not_land_behind_the_end_of_its_transaction() {
    for version in BOTH {
        for held in [50, 700, 1_500] {
            let operations = [
                Send(0, 1),
                Wait(ms(20)),
                Abort,
                Send(0, 2),
                Commit,
                Wait(ms(2_000)),
            ];
            let fault = Fault::Late(ms(held));
            let (outcomes, _) = play(&scenario(
                version,
                &operations,
                &[rule(ApiKey::Produce, 0, 1, fault)],
            ));
            assert_eq!(outcomes, [Outcome::Aborted, Outcome::Committed]);
        }
    }
}

#[test]
fn a_coordinator_that_moves_at_any_moment_of_a_commit_changes_nothing() {
    for version in BOTH {
        for at in 0..40 {
            let mut scenario = scenario(
                version,
                &[Send(0, 3), Send(1, 3), Commit, Send(2, 1), Commit],
                &[],
            );
            scenario.seed = at;
            scenario.plan.acts = vec![(ms(at / 2), Act::MoveTransactionCoordinator(0))];
            let (outcomes, _) = play(&scenario);
            assert_eq!(
                outcomes,
                [Outcome::Committed; 2],
                "moved at {at} half-milliseconds"
            );
        }
    }
}

#[test]
fn a_leader_that_moves_at_any_moment_changes_nothing() {
    for version in BOTH {
        for at in 0..40 {
            let mut scenario = scenario(
                version,
                &[Send(0, 3), Send(1, 3), Commit, Send(0, 1), Commit],
                &[],
            );
            scenario.seed = at;
            scenario.plan.acts = vec![(ms(at / 2), Act::MoveLeader(0)), (ms(at), Act::MoveLeader(1))];
            let (outcomes, _) = play(&scenario);
            assert_eq!(
                outcomes,
                [Outcome::Committed; 2],
                "moved at {at} half-milliseconds"
            );
        }
    }
}

#[test]
fn answers_that_are_lost_a_few_times_cost_time_only() {
    for version in BOTH {
        for api in [
            ApiKey::FindCoordinator,
            ApiKey::InitProducerId,
            ApiKey::AddPartitionsToTxn,
            ApiKey::Produce,
            ApiKey::EndTxn,
        ] {
            for times in 1..=4 {
                for fault in [Fault::LoseAnswer, Fault::LoseRequest, Fault::NotSent] {
                    let operations = [Send(0, 2), Send(1, 1), Commit, Send(0, 1), Commit];
                    let rules = [rule(api, 0, times, fault)];
                    let (outcomes, _) = play(&scenario(version, &operations, &rules));
                    let expected = [Outcome::Committed; 2];
                    assert_eq!(outcomes, expected, "{api:?} {fault:?} × {times}, TV{version}");
                }
            }
        }
    }
}

/// The coordinator acts, and its answers are lost for longer than the commit is waited for.
#[test]
fn a_commit_that_nobody_confirms_is_unknown_and_what_follows_is_whole() {
    for version in BOTH {
        for fault in [
            Fault::LoseAnswer,
            Fault::LoseRequest,
            Fault::Deny(ErrorCode::COORDINATOR_NOT_AVAILABLE),
        ] {
            let operations = [Send(0, 2), Commit, Send(0, 1), Commit, Send(0, 1), Commit];
            let rules = [rule(ApiKey::EndTxn, 0, 12, fault)];
            let (outcomes, _) = play(&scenario(version, &operations, &rules));
            assert_eq!(outcomes[0], Outcome::Unknown, "{fault:?}, TV{version}");
        }
    }
}

#[test]
fn a_commit_that_never_left_is_no_unknown_one() {
    for version in BOTH {
        let operations = [Send(0, 2), Commit, Send(0, 1), Commit];
        let rules = [rule(ApiKey::EndTxn, 0, 40, Fault::NotSent)];
        let (outcomes, _) = play(&scenario(version, &operations, &rules));
        assert_eq!(outcomes[0], Outcome::Aborted, "TV{version}");
    }
}

#[test]
fn the_older_of_two_producers_is_fenced() {
    for version in BOTH {
        let mut scenario = scenario(
            version,
            &[
                Send(0, 1),
                Flush,
                Wait(ms(1_500)),
                Send(1, 1),
                Commit,
                Begin,
                Send(0, 1),
                Commit,
            ],
            &[],
        );
        scenario.scripts.push(Script {
            start: ms(500),
            ..script(&[Send(0, 1), Commit, Wait(ms(3_000)), Send(0, 1), Commit])
        });
        let (outcomes, _) = play(&scenario);
        assert_eq!(
            outcomes,
            [Outcome::Fenced, Outcome::Committed, Outcome::Committed]
        );
    }
}

#[test]
fn a_frozen_producer_wakes_up_fenced() {
    for version in BOTH {
        let mut scenario = scenario(
            version,
            &[Send(0, 1), Flush, Wait(ms(400)), Send(1, 1), Commit],
            &[],
        );
        scenario.scripts.push(Script {
            start: ms(500),
            ..script(&[Send(0, 1), Commit])
        });
        scenario.plan.acts = vec![(ms(300), Act::Freeze(0, ms(2_000)))];
        let (outcomes, _) = play(&scenario);
        assert_eq!(outcomes, [Outcome::Fenced, Outcome::Committed]);
    }
}

#[test]
fn a_producer_that_is_killed_leaves_nothing_behind() {
    for version in BOTH {
        for operations in [
            &[Send(0, 1), Flush, Restart, Send(0, 1), Commit][..],
            &[Send(0, 1), Restart, Send(0, 1), Commit],
            &[Send(0, 1), Leave, Restart, Send(0, 1), Commit],
            &[Send(0, 1), Flush, Drop, Restart, Send(0, 1), Commit],
        ] {
            play(&scenario(version, operations, &[]));
        }
    }
}

#[test]
fn the_end_of_the_epochs_is_left_before_a_transaction_runs_in_it() {
    for version in BOTH {
        for epoch in i16::MAX - 6..i16::MAX - 1 {
            let operations: Vec<Operation> = (0..6).flat_map(|_| [Send(0, 1), Commit]).collect();
            // Under TV1 an epoch ends only where an answer is missing.
            let rules = [
                rule(ApiKey::EndTxn, 0, 1, Fault::LoseAnswer),
                rule(ApiKey::EndTxn, 2, 1, Fault::LoseAnswer),
                rule(ApiKey::EndTxn, 4, 1, Fault::LoseAnswer),
                rule(ApiKey::EndTxn, 6, 1, Fault::LoseAnswer),
            ];
            let scenario = scenario(version, &operations, &rules);
            let mut world = World::new(&scenario, Trace::kept());
            model::exhaust(&mut world.cluster, Duration::ZERO, &id_name(0), epoch);
            let (outcomes, _) = play_in(world, &scenario);
            assert_eq!(
                outcomes,
                [Outcome::Committed; 6],
                "from epoch {epoch}, TV{version}"
            );
        }
    }
}

#[test]
fn the_feature_level_may_change_at_any_moment() {
    for (first, second) in [(1, 2), (2, 1)] {
        for at in 0..30 {
            let operations: Vec<Operation> = (0..4).flat_map(|_| [Send(0, 1), Send(1, 1), Commit]).collect();
            let mut scenario = scenario(first, &operations, &[]);
            scenario.seed = at;
            scenario.plan.acts = vec![
                (ms(at), Act::SetTransactionVersion(second)),
                // Whoever connects anew learns of it.
                (ms(at + 1), Act::Cut(0)),
                (ms(at + 60), Act::SetTransactionVersion(first)),
                (ms(at + 61), Act::Cut(0)),
            ];
            let (outcomes, _) = play(&scenario);
            assert_eq!(
                outcomes,
                [Outcome::Committed; 4],
                "TV{first} to TV{second} at {at} ms"
            );
        }
    }
}

/// Under TV1 the coordinator takes the epoch away with the transaction; under TV2 the producer lives on.
#[test]
fn a_transaction_that_is_open_for_too_long_is_aborted() {
    for (version, outcome) in [(1, Outcome::Fenced), (2, Outcome::Aborted)] {
        for operations in [
            &[Send(0, 1), Flush, Wait(ms(13_000)), Commit, Send(0, 1), Commit][..],
            &[
                Send(0, 1),
                Flush,
                Wait(ms(13_000)),
                Send(0, 1),
                Commit,
                Send(0, 1),
                Commit,
            ],
        ] {
            let mut scenario = scenario(version, operations, &[]);
            scenario.transaction_timeout = ms(1_000);
            let (outcomes, text) = play(&scenario);
            assert_eq!(outcomes[0], outcome, "TV{version}\n{text}");
            let instances = match version {
                1 => 2,
                _ => 1,
            };
            let first = text
                .lines()
                .filter(|line| line.contains("node") && line.contains("InitProducerId"))
                .filter(|line| line.contains("(-1, -1)"));
            assert_eq!(first.count(), instances, "TV{version}\n{text}");
        }
    }
}

#[test]
fn every_node_may_be_away_for_a_while() {
    for version in BOTH {
        let operations = [
            Send(0, 1),
            Commit,
            Send(1, 5),
            Send(2, 5),
            Commit,
            Send(0, 1),
            Commit,
        ];
        let mut scenario = scenario(version, &operations, &[]);
        scenario.plan.acts = (1..=3)
            .map(|node| (ms(5), Act::StopNode(node, ms(1_500))))
            .collect();
        play(&scenario);
    }
}

#[test]
fn a_record_that_is_refused_for_good_keeps_the_rest_of_its_transaction_from_being_committed() {
    for version in BOTH {
        let operations = [Send(0, 1), Flush, Send(1, 1), Commit, Send(0, 1), Commit];
        let refused = Fault::Refuse(ErrorCode::INVALID_RECORD);
        let rules = [rule(ApiKey::Produce, 1, 1, refused)];
        let (outcomes, _) = play(&scenario(version, &operations, &rules));
        assert_eq!(outcomes, [Outcome::Aborted, Outcome::Committed], "TV{version}");
    }
}

/// The offsets count if and only if the records do; also if there are no records.
#[test]
fn offsets_are_a_part_of_their_transaction() {
    for version in BOTH {
        for (last, outcome) in [(Commit, Outcome::Committed), (Abort, Outcome::Aborted)] {
            let operations = [
                Send(0, 1),
                Offsets,
                Commit,
                Offsets,
                Commit,
                Send(0, 1),
                Offsets,
                last,
            ];
            let (outcomes, _) = play(&scenario(version, &operations, &[]));
            let expected = [Outcome::Committed, Outcome::Committed, outcome];
            assert_eq!(outcomes, expected, "TV{version}");
        }
    }
}

/// The coordinator has the transaction in its log and nobody was told: it has to be ended before the next one begins.
#[test]
fn a_partition_that_may_have_been_added_is_aborted() {
    for fault in [
        Fault::LoseAnswer,
        Fault::Deny(ErrorCode::NOT_COORDINATOR),
        Fault::Deny(ErrorCode::COORDINATOR_NOT_AVAILABLE),
    ] {
        let operations = [Send(0, 1), Wait(ms(30)), Abort, Send(1, 1), Commit];
        let rules = [rule(ApiKey::AddPartitionsToTxn, 0, 1, fault)];
        let (outcomes, text) = play(&scenario(1, &operations, &rules));
        assert_eq!(outcomes, [Outcome::Aborted, Outcome::Committed], "{fault:?}");
        assert!(count(&text, " abort ") >= 1, "{fault:?}\n{text}");
    }
}

fn without_transactions(operations: &[Operation], rules: &[Rule]) -> Scenario {
    let mut scenario = scenario(2, operations, rules);
    scenario.scripts[0].transactional_id = None;
    scenario
}

/// The first record is in the log, and nobody is told. It is given up after its time, and what follows must not pass for it.
#[test]
fn a_record_that_was_given_up_in_doubt_leaves_its_sequence_to_nobody() {
    let operations = [Send(0, 1), Flush, Send(0, 1), Flush];
    let rules = [rule(ApiKey::Produce, 0, 40, Fault::LoseAnswer)];
    play(&without_transactions(&operations, &rules));
}

/// The first record is in the log, and nobody is told; then the log is said to know nothing of the producer.
#[test]
fn a_record_that_may_be_in_the_log_is_not_sent_with_a_new_number() {
    for code in [
        ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode::UNKNOWN_PRODUCER_ID,
    ] {
        let operations = [Send(0, 1), Flush, Send(0, 1), Flush, Send(0, 1), Flush];
        let rules = [
            rule(ApiKey::Produce, 1, 1, Fault::LoseAnswer),
            rule(ApiKey::Produce, 2, 1, Fault::Refuse(code)),
        ];
        play(&without_transactions(&operations, &rules));
    }
}

/// Only the checksum can tell; the reader must ask again.
#[test]
fn a_record_batch_that_was_damaged_on_its_way_is_not_read() {
    for version in BOTH {
        let operations = [Send(0, 2), Commit, Send(0, 1), Flush, Abort, Send(1, 3), Commit];
        let rules = [rule(ApiKey::Fetch, 0, 12, Fault::Corrupt)];
        let (outcomes, _) = play(&scenario(version, &operations, &rules));
        let expected = [Outcome::Committed, Outcome::Aborted, Outcome::Committed];
        assert_eq!(outcomes, expected);
    }
}

/// Under TV2 the coordinator knows nobody by the new epoch until the markers of the transaction before are written: an EndTxn that comes
/// earlier is answered with PRODUCER_FENCED.
#[test]
fn an_abort_right_behind_a_commit_does_not_cost_the_producer() {
    let write = |fault| vec![rule(ApiKey::Produce, 1, 1, fault)];
    let abortable = Fault::Refuse(ErrorCode::TRANSACTION_ABORTABLE);
    for (part, rules) in [
        (Send(1, 1), vec![]),
        (Send(1, 1), write(Fault::LoseRequest)),
        (Send(1, 1), write(abortable)),
        (Offsets, vec![]),
    ] {
        for end in [Abort, Drop, Commit] {
            let operations = [Send(0, 1), Commit, part, Wait(ms(20)), end, Send(0, 1), Commit];
            let mut scenario = scenario(2, &operations, &rules);
            scenario.marker_delay = ms(400);
            let (outcomes, text) = play(&scenario);
            assert_eq!(outcomes.first(), Some(&Outcome::Committed), "{text}");
            assert_eq!(outcomes.last(), Some(&Outcome::Committed), "{text}");
        }
    }
}

/// It gets the aborted transaction and what follows it in one answer.
#[test]
fn a_reader_that_comes_late_reads_what_follows_an_aborted_transaction() {
    for version in BOTH {
        let operations = [Send(0, 1), Flush, Abort, Send(0, 1), Commit];
        let mut scenario = scenario(version, &operations, &[]);
        scenario.plan.acts = vec![(Duration::ZERO, Act::Freeze(1, ms(2_000)))];
        let (outcomes, _) = play(&scenario);
        assert_eq!(outcomes, [Outcome::Aborted, Outcome::Committed]);
    }
}

/// Found by chance: a transaction that nothing was added to ends while nothing is handed out, and its user waits for that.
#[test]
fn a_user_sees_what_its_machine_decides_in_silence() {
    let scenario = Scenario {
        seed: 15_888_748_025_861_642_207,
        transaction_version: 1,
        marker_delay: ms(2),
        transaction_timeout: ms(60_000),
        scripts: vec![
            Script {
                transactional_id: Some(0),
                start: ms(260),
                operations: vec![
                    Restart,
                    Leave,
                    Commit,
                    Send(0, 1),
                    Commit,
                    Send(0, 10),
                    Send(0, 1),
                    Flush,
                    Send(2, 1),
                    Offsets,
                    Send(0, 9),
                    Begin,
                    Send(2, 1),
                    Offsets,
                    Wait(ms(18)),
                    Commit,
                    Send(0, 19),
                    Send(2, 1),
                ],
            },
            Script {
                transactional_id: Some(0),
                start: ms(1438),
                operations: vec![
                    Send(0, 17),
                    Send(0, 1),
                    Send(0, 1),
                    Commit,
                    Resolve,
                    Flush,
                    Resolve,
                    Restart,
                    Offsets,
                    Send(3, 1),
                    Send(1, 1),
                    Send(0, 1),
                    Wait(ms(10)),
                    Send(1, 1),
                    Send(1, 1),
                    Send(1, 1),
                    Send(3, 1),
                    Send(2, 14),
                    Restart,
                    Send(2, 1),
                    Abort,
                    Send(2, 1),
                    Begin,
                    Commit,
                    Send(0, 1),
                    Commit,
                    Send(2, 2),
                    Send(0, 1),
                    Send(1, 12),
                    Send(3, 1),
                    Send(0, 1),
                    Send(2, 1),
                    Commit,
                ],
            },
        ],
        plan: Plan {
            rules: vec![rule(ApiKey::AddPartitionsToTxn, 0, 35, Fault::NotSent)],
            acts: vec![],
        },
        readers: 1,
    };
    assert_eq!(World::new(&scenario, Trace::default()).play(), []);
}
