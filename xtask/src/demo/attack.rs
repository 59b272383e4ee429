//! Kills the worker with SIGKILL, again and again, each time after a random amount of further progress.
//!
//! Progress is the end offset of the topic as a read_uncommitted reader sees it, so that open transactions count. The amounts are
//! chosen so that all kills together come before the work can be done.

use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

use super::worker::Recipe;
use crate::kafka::{Isolation, end_offset, last_committed_value};
use crate::leash::Leashed;

/// How long the worker may make no progress before the demo gives up on it.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// The topic that is watched.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) bootstrap: String,
    pub(super) topic: String,
    pub(super) lines: u64,
}

impl Target {
    fn end(&self) -> Result<i64> {
        end_offset(&self.bootstrap, &self.topic, 0, Isolation::ReadUncommitted)
    }

    /// Whether the last line is there, in a committed transaction.
    fn is_complete(&self) -> Result<bool> {
        let last = last_committed_value(&self.bootstrap, &self.topic, 0)?;
        Ok(last.as_deref() == Some(self.lines.to_string().as_bytes()))
    }
}

/// How much further progress to await before each kill. Offsets grow at least as fast as lines arrive, and the amounts
/// add up to less than there are lines, so every kill hits a worker that has work left.
pub(super) fn plan(lines: u64, kills: usize, rng: &mut fastrand::Rng) -> Vec<i64> {
    let share = lines / (u64::try_from(kills).unwrap_or(u64::MAX).saturating_add(2));
    let most = i64::try_from(share).unwrap_or(i64::MAX).max(1);
    (0..kills).map(|_| rng.i64(1..=most)).collect()
}

/// Runs the worker through all kills and returns one that was started after the last of them.
pub(super) fn run(
    recipe: &Recipe,
    target: &Target,
    plan: &[i64],
    rng: &mut fastrand::Rng,
) -> Result<Leashed> {
    let mut worker = recipe.start()?;
    for (number, progress) in plan.iter().enumerate() {
        let begun = target.end()?;
        await_progress(recipe, &mut worker, target, begun + progress)?;
        // Where in a transaction the kill strikes is left to chance as well.
        std::thread::sleep(Duration::from_micros(rng.u64(0..4000)));
        recipe.check_alive(&mut worker)?;
        let pid = worker.pid();
        worker.kill()?;
        let end = target.end()?;
        ensure!(
            !target.is_complete()?,
            "the worker had done all before kill {}: the attack is void; take more --lines or another --seed",
            number + 1
        );
        println!(
            "kill -9 no. {} of process {pid} at offset {end} ({} further than at its start)",
            number + 1,
            end - begun
        );
        worker = recipe.start()?;
    }
    Ok(worker)
}

/// Waits until the topic has every line. Gives up when there is no progress for two minutes.
pub(super) fn await_all(recipe: &Recipe, worker: &mut Leashed, target: &Target) -> Result<()> {
    let mut end = target.end()?;
    let mut moved = Instant::now();
    while !target.is_complete()? {
        recipe.check_alive(worker)?;
        let now = target.end()?;
        if now > end {
            (end, moved) = (now, Instant::now());
        }
        give_up_if_stuck(recipe, moved, end)?;
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

fn await_progress(recipe: &Recipe, worker: &mut Leashed, target: &Target, goal: i64) -> Result<()> {
    let begun = Instant::now();
    loop {
        let end = target.end()?;
        if end >= goal {
            return Ok(());
        }
        recipe.check_alive(worker)?;
        give_up_if_stuck(recipe, begun, end)?;
        std::thread::sleep(LOOK_AGAIN);
    }
}

fn give_up_if_stuck(recipe: &Recipe, moved: Instant, end: i64) -> Result<()> {
    if moved.elapsed() > PATIENCE {
        bail!(
            "no progress for {} s; the topic ends at offset {end}\n{}",
            PATIENCE.as_secs(),
            recipe.log_tail()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_kills_come_before_the_work_is_done() {
        for seed in 0..200 {
            for lines in [100, 1_000, 1_000_000] {
                let plan = plan(lines, 7, &mut fastrand::Rng::with_seed(seed));
                assert_eq!(plan.len(), 7);
                assert!(plan.iter().all(|progress| *progress >= 1));
                assert!(plan.iter().sum::<i64>() < i64::try_from(lines).unwrap());
            }
        }
    }

    #[test]
    fn a_seed_repeats_its_plan() {
        let plan = |seed| plan(1_000_000, 5, &mut fastrand::Rng::with_seed(seed));
        assert_eq!(plan(3), plan(3));
        assert_ne!(plan(3), plan(4));
    }
}
