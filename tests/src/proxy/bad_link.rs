//! A bad link: every frame takes a random time, and some connections are cut at a random frame. From a seed.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::{Request, Rule, Verdict};

/// The rule.
#[derive(Debug)]
pub struct BadLink {
    delay: Range<Duration>,
    /// Chance of a connection to be cut, from 0 to 1.
    cut: f64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    rng: fastrand::Rng,
    /// Frames that a connection has left; connections that are not cut have `None`.
    left: HashMap<u64, Option<u32>>,
}

/// A connection that is cut is cut within so many frames.
const LIFE: Range<u32> = 1..40;

impl BadLink {
    /// A link that delays every frame by a time out of `delay` and cuts one connection in `1 / cut`.
    #[must_use]
    pub fn new(seed: u64, delay: Range<Duration>, cut: f64) -> Self {
        Self {
            delay,
            cut,
            state: Mutex::new(State {
                rng: fastrand::Rng::with_seed(seed),
                left: HashMap::new(),
            }),
        }
    }

    fn judge(&self, request: &Request) -> Verdict {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { rng, left } = &mut *state;
        let left = left
            .entry(request.connection)
            .or_insert_with(|| (rng.f64() < self.cut).then(|| rng.u32(LIFE)));
        if let Some(frames) = left {
            *frames = frames.saturating_sub(1);
            if *frames == 0 {
                return Verdict::Cut;
            }
        }
        let spread = (self.delay.end - self.delay.start).as_secs_f64() * rng.f64();
        Verdict::Delay(self.delay.start + Duration::from_secs_f64(spread))
    }
}

impl Rule for BadLink {
    fn request(&self, request: &Request) -> Verdict {
        self.judge(request)
    }

    fn answer(&self, request: &Request) -> Verdict {
        self.judge(request)
    }
}
