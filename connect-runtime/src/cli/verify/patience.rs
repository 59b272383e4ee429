//! When waiting is worth a word, and when it has lasted too long. Pure: the time is an argument.

use std::time::{Duration, Instant};

/// Without progress for this long, the user is told what is being waited for; again after each multiple of [`REPEAT`].
const FIRST_WORD: Duration = Duration::from_secs(5);
const REPEAT: Duration = Duration::from_secs(20);

/// What to do about a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing.
    Wait,
    /// Tell the user what is being waited for.
    Say,
    /// Give up: the limit has passed without progress.
    GiveUp,
}

/// The wait since the last progress.
#[derive(Debug)]
pub(super) struct Patience {
    limit: Duration,
    since: Instant,
    next_word: Instant,
}

impl Patience {
    /// Patience that ends when there is no progress for `limit`.
    pub(super) fn new(limit: Duration, now: Instant) -> Self {
        Self {
            limit,
            since: now,
            next_word: now + FIRST_WORD,
        }
    }

    /// There was progress.
    pub(super) fn progress(&mut self, now: Instant) {
        self.since = now;
        self.next_word = now + FIRST_WORD;
    }

    /// Judges the wait.
    pub(super) fn judge(&mut self, now: Instant) -> Verdict {
        if now.saturating_duration_since(self.since) >= self.limit {
            Verdict::GiveUp
        } else if now >= self.next_word {
            self.next_word = now + REPEAT;
            Verdict::Say
        } else {
            Verdict::Wait
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_then_repeats_then_gives_up_and_progress_starts_anew() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut patience = Patience::new(Duration::from_secs(30), start);
        let verdicts = [4, 5, 6, 24, 25, 29].map(|s| patience.judge(at(s)));
        use Verdict::{GiveUp, Say, Wait};
        assert_eq!(verdicts, [Wait, Say, Wait, Wait, Say, Wait]);
        patience.progress(at(29));
        assert_eq!(patience.judge(at(33)), Wait);
        assert_eq!(patience.judge(at(34)), Say);
        assert_eq!(patience.judge(at(59)), GiveUp);
    }
}
