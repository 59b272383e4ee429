//! Floating-point numbers in the text form of Java's `Double.toString`, which JSON and string converters write.

/// The text of a double as Java writes it: `1.0`, `1.0E10`, `1.0E-5`, `NaN`, `Infinity`. The digits are the shortest
/// that read back to the same number.
pub fn java_double(number: f64) -> String {
    java_text(number, format!("{number:e}"))
}

/// The text of a float as Java writes it.
pub(super) fn java_float(number: f32) -> String {
    java_text(number.into(), format!("{number:e}"))
}

/// `scientific` holds the shortest digits, as `d.ddde±x`.
fn java_text(number: f64, scientific: String) -> String {
    if number.is_nan() {
        return "NaN".into();
    }
    if number.is_infinite() {
        return if number > 0.0 {
            "Infinity".into()
        } else {
            "-Infinity".into()
        };
    }
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    match exponent.parse::<i32>() {
        Ok(exponent) if number == 0.0 || (-3..7).contains(&exponent) => {
            format!("{sign}{}", plain(&format!("{whole}{fraction}"), exponent))
        }
        _ => {
            let fraction = if fraction.is_empty() { "0" } else { fraction };
            format!("{sign}{whole}.{fraction}E{exponent}")
        }
    }
}

/// Digits with the point after the first one, shifted by the exponent.
fn plain(digits: &str, exponent: i32) -> String {
    match usize::try_from(exponent) {
        Ok(shift) => {
            let whole: String = digits
                .chars()
                .chain(std::iter::repeat('0'))
                .take(shift + 1)
                .collect();
            let fraction: String = digits.chars().skip(shift + 1).collect();
            format!("{whole}.{}", if fraction.is_empty() { "0" } else { &fraction })
        }
        Err(_) => {
            let zeros = exponent.unsigned_abs() as usize - 1;
            format!("0.{}{digits}", "0".repeat(zeros))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn as_java_writes_them() {
        for (number, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-1.5, "-1.5"),
            (100.0, "100.0"),
            (1_234_567.0, "1234567.0"),
            (10_000_000.0, "1.0E7"),
            (12_345_678.9, "1.23456789E7"),
            (0.001, "0.001"),
            (0.0012, "0.0012"),
            (0.0001, "1.0E-4"),
            (1e300, "1.0E300"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(java_double(number), text);
        }
        assert_eq!(java_float(0.1), "0.1");
        assert_eq!(java_float(16_777_216.0), "1.6777216E7");
    }

    proptest! {
        #[test]
        fn reads_back_to_the_same_number(number in proptest::num::f64::NORMAL | proptest::num::f64::ZERO) {
            prop_assert_eq!(java_double(number).parse::<f64>().unwrap().to_bits(), number.to_bits());
        }
    }
}
