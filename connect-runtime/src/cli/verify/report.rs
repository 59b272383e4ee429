//! The finding of one run, as text for people and as one JSON object for programs. Pure.
//!
//! The JSON keys are stable: keys are added, never renamed. Lists are bounded ([`JSON_RANGES`], and the counter's examples);
//! the counts beside them are not.

use std::fmt;

use serde_json::{Value, json};

use super::counter::{Counter, Tally};
use super::numbers::Numbers;
use super::plan::Plan;

/// How many ranges of missing numbers the text shows, and how many the JSON object holds.
const TEXT_RANGES: usize = 20;
const JSON_RANGES: usize = 1000;

/// What was found.
#[derive(Debug)]
pub(super) struct Report<'a> {
    /// The topic.
    pub(super) topic: &'a str,
    /// The numbers that must be there.
    pub(super) numbers: Numbers,
    /// `read_committed` or `read_uncommitted`.
    pub(super) isolation_level: &'static str,
    /// Whether a number behind a larger one is no deviation.
    pub(super) any_order: bool,
    /// What was to be read, and how far it was.
    pub(super) plan: &'a Plan,
    /// What was counted.
    pub(super) counter: &'a Counter,
}

impl Report<'_> {
    /// Whether every number was read exactly once, nothing else was, everything was read, and (unless any order is fine) the
    /// numbers of each partition ascend.
    pub(super) fn is_exact(&self) -> bool {
        self.deviations().is_empty()
    }

    /// What keeps the finding from being exact, in words.
    pub(super) fn deviations(&self) -> Vec<String> {
        let tally = self.counter.tally();
        let mut found = Vec::new();
        if !self.plan.is_complete() {
            found.push(format!(
                "{} of {} offsets were not read",
                self.plan.total() - self.plan.done(),
                self.plan.total()
            ));
        }
        let ordered = if self.any_order { 0 } else { tally.out_of_order() };
        let kinds = [
            (self.missing(), "missing"),
            (tally.duplicates, "duplicate"),
            (tally.unexpected, "unexpected"),
            (ordered, "out of order"),
        ];
        found.extend(
            kinds
                .iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, kind)| format!("{count} {kind}")),
        );
        found
    }

    /// The object of `--json`.
    pub(super) fn to_json(&self) -> Value {
        let tally = self.counter.tally();
        json!({
            "topic": self.topic,
            "numbers": { "first": self.numbers.first(), "last": self.numbers.last(), "count": self.numbers.count() },
            "isolation_level": self.isolation_level,
            "any_order": self.any_order,
            "exact": self.is_exact(),
            "complete": self.plan.is_complete(),
            "counted": tally.counted,
            "distinct": tally.distinct,
            "duplicates": tally.duplicates,
            "duplicate_examples": duplicates(tally),
            "missing": self.missing(),
            "missing_ranges": self.counter.missing_ranges().take(JSON_RANGES).map(|(from, to)| json!([from, to])).collect::<Value>(),
            "missing_ranges_total": self.counter.missing_ranges().count(),
            "unexpected": tally.unexpected,
            "unexpected_examples": unexpected(tally),
            "out_of_order": tally.out_of_order(),
            "aborted_records": tally.aborted,
            "partitions": self.partitions(),
        })
    }

    fn missing(&self) -> u64 {
        self.numbers.count() - self.counter.tally().distinct
    }

    fn partitions(&self) -> Value {
        let tally = self.counter.tally();
        let partition = |(partition, span): (i32, super::plan::Span)| {
            let counted = tally.partitions.get(&partition);
            json!({
                "partition": partition,
                "start_offset": span.start,
                "end_offset": span.end,
                "position": span.position,
                "counted": counted.map_or(0, |c| c.counted),
                "out_of_order": counted.map_or(0, |c| c.out_of_order),
            })
        };
        self.plan.spans().map(partition).collect()
    }

    fn write_missing(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "missing         {:>12}", self.missing())?;
        let mut ranges = self.counter.missing_ranges();
        let mut separator = "  ";
        for (from, to) in ranges.by_ref().take(TEXT_RANGES) {
            f.write_str(separator)?;
            separator = ", ";
            if from == to {
                write!(f, "{from}")?
            } else {
                write!(f, "{from}..{to}")?
            }
        }
        match ranges.count() {
            0 => writeln!(f),
            more => writeln!(f, ", and {more} more ranges"),
        }
    }

    fn write_order(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tally = self.counter.tally();
        writeln!(f, "out of order    {:>12}", tally.out_of_order())?;
        for (partition, of) in &tally.partitions {
            if let Some(first) = &of.first_out_of_order {
                writeln!(
                    f,
                    "  partition {partition}: {}, the first at offset {}: {} behind {}",
                    of.out_of_order, first.offset, first.number, first.behind
                )?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tally = self.counter.tally();
        writeln!(
            f,
            "topic {}, numbers {}, {}",
            self.topic, self.numbers, self.isolation_level
        )?;
        writeln!(f, "counted         {:>12}", tally.counted)?;
        writeln!(f, "distinct        {:>12}", tally.distinct)?;
        writeln!(f, "duplicates      {:>12}", tally.duplicates)?;
        for d in &tally.duplicate_examples {
            writeln!(
                f,
                "  {} again at partition {}, offset {}",
                d.number, d.partition, d.offset
            )?;
        }
        self.write_missing(f)?;
        writeln!(f, "unexpected      {:>12}", tally.unexpected)?;
        for u in &tally.unexpected_examples {
            writeln!(
                f,
                "  {} at partition {}, offset {}",
                u.value, u.partition, u.offset
            )?;
        }
        self.write_order(f)?;
        writeln!(f, "aborted records {:>12}  passed over", tally.aborted)?;
        let deviations = self.deviations();
        match (deviations.is_empty(), self.any_order) {
            (true, false) => write!(f, "exact: every number once, in order"),
            (true, true) => write!(f, "exact: every number once"),
            (false, _) => write!(f, "NOT exact: {}", deviations.join(", ")),
        }
    }
}

fn duplicates(tally: &Tally) -> Value {
    tally
        .duplicate_examples
        .iter()
        .map(|d| json!({ "number": d.number, "partition": d.partition, "offset": d.offset }))
        .collect()
}

fn unexpected(tally: &Tally) -> Value {
    tally
        .unexpected_examples
        .iter()
        .map(|u| json!({ "value": u.value, "partition": u.partition, "offset": u.offset }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Run {
        plan: Plan,
        counter: Counter,
        any_order: bool,
    }

    fn run(values: &[&str]) -> Run {
        let mut counter = Counter::new("1..4".parse().unwrap()).unwrap();
        for (offset, value) in (0..).zip(values) {
            counter.observe(0, offset, Some(value.as_bytes()));
        }
        let mut plan = Plan::new([(0, 0, 10)]);
        plan.advance(0, 10);
        Run {
            plan,
            counter,
            any_order: false,
        }
    }

    fn report(run: &Run) -> Report<'_> {
        Report {
            topic: "out",
            numbers: "1..4".parse().unwrap(),
            isolation_level: "read_committed",
            any_order: run.any_order,
            plan: &run.plan,
            counter: &run.counter,
        }
    }

    #[test]
    fn exact_only_if_nothing_deviates() {
        assert!(report(&run(&["1", "2", "3", "4"])).is_exact());
        for (values, deviation) in [
            (&["1", "2", "3"][..], "1 missing"),
            (&["1", "2", "3", "3", "4"], "1 duplicate"),
            (&["1", "2", "3", "4", "5"], "1 unexpected"),
            (&["1", "3", "2", "4"], "1 out of order"),
        ] {
            assert_eq!(report(&run(values)).deviations(), [deviation]);
        }
    }

    #[test]
    fn any_order_forgives_order_only() {
        let mut forgiving = run(&["4", "3", "2", "1"]);
        forgiving.any_order = true;
        assert!(report(&forgiving).is_exact());
        let mut short = run(&["4", "3", "2"]);
        short.any_order = true;
        assert_eq!(report(&short).deviations(), ["1 missing"]);
    }

    #[test]
    fn a_run_that_was_cut_short_is_never_exact() {
        let mut cut = run(&["1", "2", "3", "4"]);
        cut.plan = Plan::new([(0, 0, 10)]);
        cut.plan.advance(0, 4);
        assert_eq!(report(&cut).deviations(), ["6 of 10 offsets were not read"]);
        assert_eq!(report(&cut).to_json()["complete"], false);
    }

    #[test]
    fn the_text_names_what_and_where() {
        let mut run = run(&["1", "3", "1", "x"]);
        run.counter.pass_over(7);
        let text = report(&run).to_string();
        for line in [
            "counted                    4",
            "  1 again at partition 0, offset 2",
            "missing                    2  2, 4",
            "  \"x\" at partition 0, offset 3",
            "  partition 0: 1, the first at offset 2: 1 behind 3",
            "aborted records            7  passed over",
            "NOT exact: 2 missing, 1 duplicate, 1 unexpected, 1 out of order",
        ] {
            assert!(text.lines().any(|l| l == line), "{line:?} is not in\n{text}");
        }
    }

    #[test]
    fn the_json_object_has_its_stable_keys() {
        let run = run(&["1", "4", "2"]);
        let json = report(&run).to_json();
        let keys: Vec<_> = json.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(
            keys,
            [
                "topic",
                "numbers",
                "isolation_level",
                "any_order",
                "exact",
                "complete",
                "counted",
                "distinct",
                "duplicates",
                "duplicate_examples",
                "missing",
                "missing_ranges",
                "missing_ranges_total",
                "unexpected",
                "unexpected_examples",
                "out_of_order",
                "aborted_records",
                "partitions"
            ]
        );
        assert_eq!(json["missing_ranges"], json!([[3, 3]]));
        assert_eq!(json["partitions"][0]["out_of_order"], 1);
    }
}
