//! Awaiting a condition, with a bound and a reason when it does not come.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// Asks `condition` again and again until it gives something, for at most `limit`.
///
/// # Errors
/// The condition's own error, or that it did not come in time.
pub fn until<T>(what: &str, limit: Duration, mut condition: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let end = Instant::now() + limit;
    loop {
        if let Some(found) = condition()? {
            return Ok(found);
        }
        if Instant::now() >= end {
            bail!("{what} did not happen within {limit:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
