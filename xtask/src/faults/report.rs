//! The report: what was run, what was found, each request × fault in one line. Pure.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use super::row::Row;

/// What is said of a whole run.
#[derive(Debug)]
pub(super) struct Page<'a> {
    pub(super) rows: &'a [Row],
    pub(super) commit: Option<String>,
    pub(super) took: Duration,
}

/// What must not occur, and how it shows among the findings.
const KINDS: [(&str, &[&str]); 9] = [
    ("losses", &["lost:", "unseen:"]),
    ("duplicates", &["duplicate:"]),
    ("torn transactions", &["torn:"]),
    ("aborted records read", &["aborted read:"]),
    ("records out of order", &["out of order:"]),
    ("offsets apart from their records", &["offset mismatch:"]),
    ("hangs", &["hang:", "stuck:"]),
    ("needless unknown outcomes", &["needless unknown"]),
    ("unknown outcomes that could not be found out", &["not found out"]),
];

const HEAD: &str = "# Faults on the transaction path

Each request of a transaction × each fault × its first to fifth occurrence, one run each: a transactional producer behind a proxy that
knows frames, six or more transactions over three partitions, every second one aborted, two of three with a group's offset; request
timeout 1 s, `delivery.timeout.ms` and `max.block.ms` 3 s. What the client was asked and said is a history; what Java's console consumer
and librdkafka's consumer (both read_committed) and librdkafka's administrator found afterwards is added to it, and the checker of
`tests/src/checker` judges each run. A plain read_uncommitted reader must show aborted records, or the table fails. Kafka 3.9.1 speaks TV1,
4.4.0 TV2; 3.3.2, which verifies nothing, is tried with the ends of transactions only.

An outcome is C(ommitted), A(borted, half of them on purpose), U(nknown; `producer.resolve()` must find it out) or L(ost: the producer was
told that it is fenced or beyond use, which only those faults may cause that say so; a new one goes on). Recovery is the time from the fault
to the end of the next commit.

`TwiceLate` (a copy of an answered request that arrives inside the next transaction) is tried with an epoch for every transaction
(`sealwax.transaction.epoch.bump=every`): no TV1 client can know of such a copy. `Denied(code)`: the broker acted, the client is told the code;
`Refused(code)`: the broker was not asked.
";

impl Page<'_> {
    /// The page for people.
    pub(super) fn summary(&self) -> String {
        let mut text = HEAD.to_owned();
        let struck = self.rows.iter().filter(|row| row.is_struck()).count();
        let commit = self.commit.as_deref().unwrap_or("an unknown commit");
        // Writing into a String does not fail.
        let _ = writeln!(
            text,
            "\nMade by `cargo xtask faults` from commit {commit}, in {:.0} minutes; nothing in it is left to chance, so that there is no \
             seed. Every run: [faults.tsv](faults.tsv).\n\n## Totals\n\n{} runs; in {struck} of them the request occurred and was struck.\n",
            self.took.as_secs_f64() / 60.0,
            self.rows.len(),
        );
        self.totals(&mut text);
        self.failures(&mut text);
        for version in self.versions() {
            self.section(&mut text, version);
        }
        text
    }

    /// Every run, those of a request, fault and reach in one line.
    pub(super) fn table(&self) -> String {
        let mut lines: BTreeMap<[&str; 4], Vec<String>> = BTreeMap::new();
        for row in self.rows {
            let account = match row.account.as_str() {
                "done" => String::new(),
                other => format!(" ({other})"),
            };
            let recovery = row
                .recovery
                .map_or_else(|| "-".to_owned(), |time| time.to_string());
            let findings = if row.is_good() { "" } else { " FAILED" };
            let cell = format!(
                "{}:{}/{recovery}{account}{findings}",
                row.occurrence, row.outcomes
            );
            lines.entry(name(row)).or_default().push(cell);
        }
        let mut text = "version\trequest\tfault\treach\toccurrence:outcomes/recovery in ms\n".to_owned();
        for (name, cells) in lines {
            let _ = writeln!(text, "{}\t{}", name.join("\t"), cells.join("\t"));
        }
        text
    }

    fn versions(&self) -> Vec<&str> {
        let mut versions: Vec<&str> = self.rows.iter().map(|row| row.version.as_str()).collect();
        versions.dedup();
        versions
    }

    fn totals(&self, text: &mut String) {
        let versions = self.versions();
        let _ = writeln!(
            text,
            "| | {} |\n|---|{}",
            versions.join(" | "),
            "---|".repeat(versions.len())
        );
        let mut line = |what: &str, of: &dyn Fn(&[&Row]) -> String| {
            let cells: Vec<String> = versions
                .iter()
                .map(|version| {
                    let rows: Vec<&Row> = self.rows.iter().filter(|row| row.version == *version).collect();
                    of(&rows)
                })
                .collect();
            let _ = writeln!(text, "| {what} | {} |", cells.join(" | "));
        };
        line("runs", &|rows| rows.len().to_string());
        line("runs that failed", &|rows| {
            rows.iter().filter(|row| !row.is_good()).count().to_string()
        });
        for (what, kinds) in KINDS {
            line(what, &|rows| {
                let found = rows.iter().filter(|row| kinds.iter().any(|kind| row.has(kind)));
                found.count().to_string()
            });
        }
        for (what, letter) in [
            ("committed", 'C'),
            ("aborted", 'A'),
            ("unknown", 'U'),
            ("lost producers", 'L'),
        ] {
            line(what, &|rows| {
                rows.iter()
                    .map(|row| row.count(letter))
                    .sum::<usize>()
                    .to_string()
            });
        }
        line("slowest recovery, fault once", &|rows| slowest(rows, "Once"));
        line("slowest recovery, fault until the call returned", &|rows| {
            slowest(rows, "UntilReturned")
        });
    }

    fn failures(&self, text: &mut String) {
        for row in self.rows.iter().filter(|row| !row.is_good()) {
            let _ = writeln!(
                text,
                "\nFAILED: {} {} ({}): {}",
                name(row).join(" "),
                row.occurrence,
                row.account,
                row.findings
            );
        }
    }

    /// A version's table: a line for each request, kind of fault and reach.
    fn section(&self, text: &mut String, version: &str) {
        let mut lines: BTreeMap<[&str; 4], Vec<&Row>> = BTreeMap::new();
        for row in self.rows.iter().filter(|row| row.version == version) {
            let [version, request, fault, reach] = name(row);
            let kind = fault.split('(').next().unwrap_or(fault);
            lines
                .entry([version, request, kind, reach])
                .or_default()
                .push(row);
        }
        let _ = writeln!(
            text,
            "\n## Kafka {version}\n\nAll codes of `Denied` and of `Refused` together.\n\n| request | fault | reach | struck | C | A | U | L | slowest recovery | checks |\n|{}",
            "---|".repeat(10)
        );
        for ([_, request, fault, reach], rows) in lines {
            let struck = rows.iter().filter(|row| row.is_struck()).count();
            let good = rows.iter().filter(|row| row.is_good()).count();
            let count = |letter| rows.iter().map(|row| row.count(letter)).sum::<usize>();
            let checks = if good == rows.len() { "all" } else { "NOT ALL" };
            let _ = writeln!(
                text,
                "| {request} | {fault} | {reach} | {struck} of {} | {} | {} | {} | {} | {} | {checks} |",
                rows.len(),
                count('C'),
                count('A'),
                count('U'),
                count('L'),
                slowest(&rows, reach),
            );
        }
    }
}

fn name(row: &Row) -> [&str; 4] {
    [&row.version, &row.request, &row.fault, &row.reach]
}

fn slowest(rows: &[&Row], reach: &str) -> String {
    let times = rows
        .iter()
        .filter(|row| row.reach == reach)
        .filter_map(|row| row.recovery);
    times.max().map_or_else(
        || "–".to_owned(),
        |millis| format!("{:.1} s", millis as f64 / 1e3),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Row> {
        [
            "3.9.1\tCommit\tLate\tOnce\t1\tlate, answered 47\tCACACA\t1203\tok",
            "3.9.1\tCommit\tLate\tOnce\t2\tlate, answered 47\tCACAUA\t2000\ttorn: 4 values of x; lost: y",
            "4.4.0\tCommit\tCutAfter\tUntilReturned\t5\tno such request\tCACA\t-\tok",
        ]
        .iter()
        .map(|line| Row::parse(line).unwrap())
        .collect()
    }

    #[test]
    fn every_run_is_counted() {
        let rows = rows();
        let page = Page {
            rows: &rows,
            commit: None,
            took: Duration::from_secs(60),
        };
        let summary = page.summary();
        for part in [
            "3 runs; in 2 of them",
            "| runs | 2 | 1 |",
            "| runs that failed | 1 | 0 |",
            "| losses | 1 | 0 |",
            "| torn transactions | 1 | 0 |",
            "| duplicates | 0 | 0 |",
            "| unknown | 1 | 0 |",
            "| slowest recovery, fault once | 2.0 s | – |",
            "| Commit | Late | Once | 2 of 2 | 5 | 6 | 1 | 0 | 2.0 s | NOT ALL |",
            "| Commit | CutAfter | UntilReturned | 0 of 1 | 2 | 2 | 0 | 0 | – | all |",
            "FAILED: 3.9.1 Commit Late Once 2 (late, answered 47): torn: 4 values of x; lost: y",
        ] {
            assert!(summary.contains(part), "{part}\nis not in\n{summary}");
        }
        let table = page.table();
        assert!(
            table.contains("3.9.1\tCommit\tLate\tOnce\t1:CACACA/1203 (late, answered 47)\t2:CACAUA/2000 (late, answered 47) FAILED"),
            "{table}"
        );
    }

    #[test]
    fn what_is_no_row_is_none() {
        assert_eq!(Row::parse("3.9.1\tCommit"), None);
        assert_eq!(Row::parse("a\tb\tc\td\tone\tf\tg\t-\tok"), None);
    }
}
