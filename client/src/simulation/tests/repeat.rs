//! A run follows from its scenario alone: played twice it says the same, byte for byte.

use super::super::print::Trace;
use super::super::world::World;
use super::long::numbered;

fn text(number: u64) -> String {
    let mut world = World::new(&numbered(number), Trace::kept());
    let found = world.play();
    format!("{}{found:?} after {} events", world.text(), world.steps)
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let texts: Vec<String> = (0..24).map(text).collect();
    for (number, first) in (0..).zip(&texts) {
        assert!(first.len() > 1_000, "scenario {number} says something");
        let again = text(number);
        if let Some((line, (one, other))) = (1..)
            .zip(first.lines().zip(again.lines()))
            .find(|(_, (one, other))| one != other)
        {
            panic!("scenario {number}, line {line}:\n{one}\n{other}");
        }
        assert_eq!(first.len(), again.len(), "scenario {number}");
    }
    for (number, pair) in texts.windows(2).enumerate() {
        assert_ne!(pair[0], pair[1], "scenario {number} and the next one");
    }
}
