//! The counter against a naive model that keeps every record.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn counter(numbers: &str) -> Counter {
    Counter::new(numbers.parse().unwrap()).unwrap()
}

fn count(numbers: &str, values: &[&str]) -> Counter {
    let mut counter = counter(numbers);
    for (offset, value) in (0..).zip(values) {
        counter.observe(0, offset, Some(value.as_bytes()));
    }
    counter
}

#[test]
fn each_number_once_and_in_order() {
    let counter = count("1..3", &["1", "2", "003"]);
    let tally = counter.tally();
    assert_eq!((tally.counted, tally.distinct), (3, 3));
    assert_eq!(
        (tally.duplicates, tally.unexpected, tally.out_of_order()),
        (0, 0, 0)
    );
    assert_eq!(counter.missing_ranges().count(), 0);
}

#[test]
fn deviations_are_told_apart_and_located() {
    let counter = count("1..6", &["1", "4", "3", "4", "7", "x"]);
    let tally = counter.tally();
    assert_eq!(
        (tally.counted, tally.distinct, tally.duplicates, tally.unexpected),
        (6, 3, 1, 2)
    );
    assert_eq!(counter.missing_ranges().collect::<Vec<_>>(), [(2, 2), (5, 6)]);
    assert_eq!(
        tally.duplicate_examples,
        [Duplicate {
            number: 4,
            partition: 0,
            offset: 3
        }]
    );
    assert_eq!(
        tally.unexpected_examples[0],
        Unexpected {
            partition: 0,
            offset: 4,
            value: "\"7\"".into()
        }
    );
    assert_eq!(
        tally.partitions[&0].first_out_of_order,
        Some(OutOfOrder {
            offset: 2,
            number: 3,
            behind: 4
        })
    );
    assert_eq!(tally.out_of_order(), 1);
}

#[test]
fn order_is_a_matter_of_one_partition() {
    let mut counter = counter("1..4");
    for (partition, offset, value) in [(0, 0, "3"), (1, 0, "1"), (0, 1, "4"), (1, 1, "2")] {
        counter.observe(partition, offset, Some(value.as_bytes()));
    }
    assert_eq!(counter.tally().out_of_order(), 0);
    assert_eq!(counter.tally().distinct, 4);
}

#[test]
fn what_is_no_number_is_shown_escaped_and_cut() {
    let long = "z".repeat(SHOWN_BYTES + 5);
    let mut counter = counter("0..9");
    for value in [
        None,
        Some(""),
        Some("1\r"),
        Some(" 1"),
        Some("-1"),
        Some("+1"),
        Some(&long),
    ] {
        counter.observe(0, 0, value.map(str::as_bytes));
    }
    counter.observe(0, 0, Some(b"18446744073709551616"));
    assert_eq!(counter.tally().unexpected, 8);
    let shown: Vec<_> = counter
        .tally()
        .unexpected_examples
        .iter()
        .map(|e| e.value.as_str())
        .collect();
    assert_eq!(shown[..3], ["null", "\"\"", "\"1\\r\""]);
    assert_eq!(
        shown[6],
        format!("\"{}\" and 5 bytes more", "z".repeat(SHOWN_BYTES))
    );
}

#[test]
fn examples_are_bounded_but_the_count_is_not() {
    let counter = count("1..1", &["x"; 50]);
    assert_eq!(counter.tally().unexpected, 50);
    assert_eq!(counter.tally().unexpected_examples.len(), MAX_EXAMPLES);
}

/// A record of the model: partition and value.
fn records() -> impl Strategy<Value = Vec<(i32, Option<u64>)>> {
    let value = prop_oneof![9 => (0_u64..200).prop_map(Some), 1 => Just(None)];
    prop::collection::vec((0_i32..3, value), 0..400)
}

/// The numbers 10 to 160 in order, some left out and some repeated right away: what a restarted source can leave.
fn nearly_exact() -> impl Strategy<Value = Vec<(i32, Option<u64>)>> {
    prop::collection::vec(prop_oneof![8 => Just(1_usize), 1 => Just(0), 1 => Just(2)], 151).prop_map(
        |times| {
            (10..)
                .zip(times)
                .flat_map(|(number, times)| std::iter::repeat_n((0, Some(number)), times))
                .collect()
        },
    )
}

fn check(records: &[(i32, Option<u64>)]) -> Result<(), TestCaseError> {
    let mut counter = counter("10..160");
    for (offset, (partition, value)) in (0..).zip(records) {
        let text = value.map(|v| v.to_string());
        counter.observe(*partition, offset, text.as_deref().map(str::as_bytes));
    }
    let wanted = |number: &u64| (10..=160).contains(number);
    let good: Vec<u64> = records
        .iter()
        .filter_map(|(_, value)| *value)
        .filter(wanted)
        .collect();
    let distinct: BTreeSet<u64> = good.iter().copied().collect();
    let tally = counter.tally();
    prop_assert_eq!(tally.counted, records.len() as u64);
    prop_assert_eq!(tally.distinct, distinct.len() as u64);
    prop_assert_eq!(tally.duplicates, (good.len() - distinct.len()) as u64);
    prop_assert_eq!(tally.unexpected, (records.len() - good.len()) as u64);
    let missing: Vec<u64> = counter
        .missing_ranges()
        .flat_map(|(from, to)| from..=to)
        .collect();
    prop_assert_eq!(
        missing,
        (10..=160).filter(|n| !distinct.contains(n)).collect::<Vec<_>>()
    );
    let ranges: Vec<_> = counter.missing_ranges().collect();
    prop_assert!(
        ranges.windows(2).all(|pair| pair[0].1 + 1 < pair[1].0),
        "ranges touch: {:?}",
        ranges
    );
    for partition in 0..3 {
        let of: Vec<u64> = records
            .iter()
            .filter(|r| r.0 == partition)
            .filter_map(|r| r.1)
            .filter(wanted)
            .collect();
        let late = (0..of.len())
            .filter(|&i| of[..i].iter().any(|before| *before > of[i]))
            .count();
        let counted = tally.partitions.get(&partition).map_or(0, |p| p.out_of_order);
        prop_assert_eq!(counted, late as u64);
    }
    Ok(())
}

proptest! {
    #[test]
    fn counts_equal_the_naive_model(records in records()) {
        check(&records)?;
    }

    #[test]
    fn counts_equal_the_naive_model_near_exactness(records in nearly_exact()) {
        check(&records)?;
    }
}
