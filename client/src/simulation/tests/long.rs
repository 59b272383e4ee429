//! A long run: one scenario after the other, each from its number, until a million events were handled.

use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::super::history::{Delivery, History, Outcome};
use super::super::print::Trace;
use super::super::scenario::Scenario;
use super::super::world::World;
use super::scenarios::{self, Protocol};

/// Events that have to be handled.
const STEPS: u64 = 1_000_000;

/// Names the one scenario to play, with its text printed: to look into what a long run found.
const ONLY: &str = "SEALWAX_SIMULATION";

/// How often what was told, over many scenarios: a run in which something never happens proves nothing about it.
#[derive(Debug, Default)]
struct Tally {
    committed: usize,
    aborted: usize,
    unknown: usize,
    fenced: usize,
    fatal: usize,
    written: usize,
    unwritten: usize,
    in_doubt: usize,
}

impl Tally {
    fn count(&mut self, history: &History) {
        for transaction in &history.transactions {
            *match transaction.outcome {
                Outcome::Committed => &mut self.committed,
                Outcome::Aborted => &mut self.aborted,
                Outcome::Unknown => &mut self.unknown,
                Outcome::Fenced => &mut self.fenced,
                Outcome::Fatal => &mut self.fatal,
            } += 1;
        }
        for delivery in history.results.values() {
            *match delivery {
                Delivery::Written(_) => &mut self.written,
                Delivery::Unwritten => &mut self.unwritten,
                Delivery::Unknown => &mut self.in_doubt,
            } += 1;
        }
    }
}

/// The scenario of a number.
pub(super) fn numbered(number: u64) -> Scenario {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&number.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let protocol = [Protocol::V1, Protocol::V2, Protocol::Changing][usize::try_from(number % 3).unwrap()];
    let tree = match number % 4 {
        0 => scenarios::alone(Some(0), protocol).boxed().new_tree(&mut runner),
        _ => scenarios::crowd(protocol).boxed().new_tree(&mut runner),
    };
    tree.expect("every strategy has values").current()
}

/// Plays the scenario of a number; how many events it had.
fn play(number: u64, trace: Trace, tally: &mut Tally) -> u64 {
    let scenario = numbered(number);
    let mut world = World::new(&scenario, trace);
    let found = catch_unwind(AssertUnwindSafe(|| world.play()));
    let is_good = found.as_ref().is_ok_and(Vec::is_empty);
    if !is_good || !world.text().is_empty() {
        println!("{}", world.text());
    }
    assert!(
        is_good,
        "{ONLY}={number} shows the text of it: {found:?}\n{scenario:#?}"
    );
    tally.count(&world.history);
    world.steps
}

#[test]
fn a_million_events() {
    if let Ok(number) = std::env::var(ONLY) {
        play(
            number.parse().expect("a number"),
            Trace::kept(),
            &mut Tally::default(),
        );
        return;
    }
    let mut tally = Tally::default();
    let mut steps = 0;
    let mut number = 0;
    while steps < STEPS {
        steps += play(number, Trace::default(), &mut tally);
        number += 1;
    }
    println!("{steps} events in {number} scenarios: {tally:?}");
    assert!(steps >= STEPS);
    for (count, least) in [
        (tally.committed, 2_000),
        (tally.aborted, 1_000),
        (tally.unknown, 100),
        (tally.fenced, 100),
        (tally.written, 10_000),
        (tally.unwritten, 1_000),
        (tally.in_doubt, 100),
    ] {
        assert!(count >= least, "{tally:?}");
    }
}
