//! Times and durations as people write and read them. Pure, but for [`now_ms`].

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const SECONDS_PER_DAY: i64 = 86_400;

/// Milliseconds since 1970 by this machine's clock.
pub(super) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// How long ago a time was; nothing for one to come.
pub(super) fn since(time_ms: i64, now_ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(now_ms.saturating_sub(time_ms)).unwrap_or(0))
}

/// A number with its unit: `ms`, `s`, `m`, `h` or `d`.
pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let factor = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => 0,
    };
    match number.parse::<u64>() {
        Ok(number) if factor > 0 => number
            .checked_mul(factor)
            .map(Duration::from_millis)
            .ok_or_else(|| "that is too long".to_owned()),
        _ => Err("give a number with its unit, such as 90s, 15m, 2h or 1d".to_owned()),
    }
}

/// The two greatest units of a duration.
pub(super) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    if days > 0 {
        format!("{days} d {hours} h")
    } else if hours > 0 {
        format!("{hours} h {minutes} min")
    } else if minutes > 0 {
        format!("{minutes} min {} s", seconds % 60)
    } else if seconds > 0 {
        format!("{seconds} s")
    } else {
        format!("{} ms", duration.as_millis())
    }
}

/// A time as RFC 3339 has it, in UTC, to the second.
pub(super) fn utc(time_ms: i64) -> String {
    let seconds = time_ms.div_euclid(1000);
    let (days, of_day) = (
        seconds.div_euclid(SECONDS_PER_DAY),
        seconds.rem_euclid(SECONDS_PER_DAY),
    );
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Year, month and day of a number of days since 1970, in the Gregorian calendar: counted in eras of 400 years that begin in March, so
/// that the day which may be missing is the last one of a year.
fn civil(days: i64) -> (i64, i64, i64) {
    let from_march_of_year_0 = days.saturating_add(719_468);
    let (era, day_of_era) = (
        from_march_of_year_0.div_euclid(146_097),
        from_march_of_year_0.rem_euclid(146_097),
    );
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (ms, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (1_709_210_096_789, "2024-02-29T12:34:56Z"),
            (1_735_689_599_999, "2024-12-31T23:59:59Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
        ] {
            assert_eq!(utc(ms), expected);
        }
        for extreme in [i64::MIN, i64::MAX] {
            assert!(utc(extreme).ends_with('Z'));
        }
    }

    #[test]
    fn durations_need_their_unit() {
        assert_eq!(parse_duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse_duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("15m"), Ok(Duration::from_secs(900)));
        assert_eq!(parse_duration("2h"), Ok(Duration::from_secs(7200)));
        assert_eq!(parse_duration("1d"), Ok(Duration::from_secs(86_400)));
        for bad in [
            "",
            "15",
            "m",
            "-1s",
            "1.5h",
            "1 h",
            "99999999999999999999s",
            "18446744073709551615d",
        ] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn durations_show_their_two_greatest_units() {
        for (ms, expected) in [
            (12, "12 ms"),
            (12_345, "12 s"),
            (61_000, "1 min 1 s"),
            (7_500_000, "2 h 5 min"),
            (90_000_000, "1 d 1 h"),
        ] {
            assert_eq!(duration(Duration::from_millis(ms)), expected);
        }
        assert_eq!(since(5, 3), Duration::ZERO);
        assert_eq!(since(3, 5), Duration::from_millis(2));
    }
}
