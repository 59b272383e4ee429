//! Values of dotted keys: text in, a number in its range out, or an error that names the key, the value and what is allowed.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};

/// What Kafka allows for most times: its own type for them is an `int` of milliseconds.
pub(super) const MILLIS: RangeInclusive<u64> = 0..=i32::MAX as u64;

/// A value that is not allowed.
pub(super) fn invalid(key: &str, value: &str, allowed: &str) -> Error {
    Error::new(
        ErrorKind::Config,
        format!("{key} is {value:?}; allowed is {allowed}"),
    )
}

/// The words for a range.
pub(super) fn numbers(range: &RangeInclusive<u64>) -> String {
    format!("a whole number from {} to {}", range.start(), range.end())
}

/// A number of a range, in the type of its setting.
pub(super) fn number<T: TryFrom<u64>>(key: &str, value: &str, range: &RangeInclusive<u64>) -> Result<T> {
    value
        .trim()
        .parse()
        .ok()
        .filter(|number| range.contains(number))
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| invalid(key, value, &numbers(range)))
}

/// A number of milliseconds of a range.
pub(super) fn millis(key: &str, value: &str, range: &RangeInclusive<u64>) -> Result<Duration> {
    number(key, value, range).map(Duration::from_millis)
}
