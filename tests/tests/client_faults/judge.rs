//! Whether what a reader saw agrees with what the client said.

use std::collections::HashMap;

use anyhow::{Result, ensure};

use crate::case::Case;
use crate::workload::{Outcome, RECORDS, Run, TRANSACTIONS, value};

/// Checks all runs against the values that a read_committed reader saw, those of a partition in their order.
///
/// # Errors
/// Every case that does not agree, and how.
pub(crate) fn check(runs: &[Run], seen: &[String]) -> Result<()> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (place, value) in seen.iter().enumerate() {
        places.entry(value).or_default().push(place);
    }
    let faults: Vec<String> = runs
        .iter()
        .filter_map(|run| check_run(run, &places).err())
        .map(|error| error.to_string())
        .collect();
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    Ok(())
}

fn check_run(run: &Run, places: &HashMap<&str, Vec<usize>>) -> Result<()> {
    let Run {
        case,
        outcomes,
        account,
    } = run;
    let mut last = [None; 2];
    for (number, outcome) in (0..TRANSACTIONS).zip(outcomes) {
        let what = format!("{case} ({account}): transaction {number} is {outcome:?}");
        let count = count(*case, number, places);
        let all = 2 * RECORDS;
        let expected = match outcome {
            Outcome::Committed => count == (all, all),
            Outcome::Aborted => count == (0, 0),
            Outcome::Unknown => count == (0, 0) || count == (all, all),
        };
        ensure!(
            expected,
            "{what}, but {} of its {all} records are there, {} times in all",
            count.0,
            count.1
        );
        for (partition, last) in (0..).zip(&mut last) {
            for record in 0..RECORDS {
                let place = places
                    .get(value(*case, number, partition, record).as_str())
                    .and_then(|places| places.first());
                ensure!(
                    place.is_none() || *last < place,
                    "{what}, but record {record} of partition {partition} is out of order"
                );
                *last = place.or(*last);
            }
        }
    }
    Ok(())
}

/// How many records of a transaction are there, and how often all together.
fn count(case: Case, number: u64, places: &HashMap<&str, Vec<usize>>) -> (u64, u64) {
    let mut count = (0, 0);
    for partition in 0..2 {
        for record in 0..RECORDS {
            if let Some(places) = places.get(value(case, number, partition, record).as_str()) {
                count.0 += 1;
                count.1 += places.len() as u64;
            }
        }
    }
    count
}
