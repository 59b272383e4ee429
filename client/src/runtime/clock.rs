//! The only reader of time.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Now, on the monotonic clock that machines are driven with.
#[allow(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the clock"
)]
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// Resolves at that instant; never without one.
pub(crate) async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

/// Now, in milliseconds since 1970, for record timestamps.
#[allow(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the clock"
)]
pub(crate) fn wall_clock_ms() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
