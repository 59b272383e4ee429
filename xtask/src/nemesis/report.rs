//! What a run found, for the eye and for `docs/evidence/nemesis.md`.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use super::attack::Tally;

const FILE: &str = "docs/evidence/nemesis.md";
const HEAD: &str = "# Nemesis: runs under attack\n\n\
    Written by `cargo xtask nemesis`, which appends what each run found. Three nodes, each broker and controller, replication factor 3, \
    two in sync. What each verdict means is said in `tests/src/checker/`; Java's console consumer reads every partition once more, \
    and what it reads is compared with what ours read, record by record.\n";

/// So many anomalies are named.
const SHOWN: usize = 5;

/// Adds a section to the evidence.
pub(super) fn append(root: &Path, section: &str) -> Result<()> {
    let path = root.join(FILE);
    if !path.exists() {
        fs::write(&path, HEAD).with_context(|| format!("{} cannot be written", path.display()))?;
    }
    let mut file = OpenOptions::new().append(true).open(&path)?;
    file.write_all(section.as_bytes())?;
    println!("written to {FILE}");
    Ok(())
}

/// The commit that is checked out, short; with a mark if files differ from it.
pub(super) fn commit(root: &Path) -> String {
    let git = |arguments: &[&str]| -> Option<String> {
        let output = Command::new("git")
            .args(arguments)
            .current_dir(root)
            .output()
            .ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let hash = git(&["rev-parse", "--short", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
    match git(&["status", "--porcelain", "--", "client", "protocol"]) {
        Some(changes) if changes.is_empty() => hash,
        _ => format!("{hash} with changes"),
    }
}

/// The section of one run of the random nemesis.
pub(super) fn of_nemesis(title: &str, command: &str, commit: &str, tally: &Tally, result: &Value) -> String {
    let mut rows = vec![
        ("faults", faults(tally)),
        ("transactions", pairs(&result["transactions"])),
        (
            "committed records, as read by Java",
            result["records"].to_string(),
        ),
        (
            "Java and our reader differ in",
            format!("{} records", result["java_differs"]),
        ),
        ("anomalies", anomalies(result)),
        (
            "longest silence after a fault had ended (until somebody committed)",
            millis(&result["longest_silence_ms"]),
        ),
        (
            "after the last fault, until every transactional id had committed",
            millis(&result["last_recovery_ms"]),
        ),
    ];
    if let Some(shown) = result["shown"].as_array().filter(|shown| !shown.is_empty()) {
        let lines: Vec<&str> = shown.iter().filter_map(Value::as_str).take(SHOWN).collect();
        rows.push(("some of them", lines.join("; ").replace('|', "\\|")));
    }
    section(title, command, commit, &rows)
}

/// A section: a title, the command, a table.
pub(super) fn section(title: &str, command: &str, commit: &str, rows: &[(&str, String)]) -> String {
    let mut text = format!("\n## {title}\n\n`{command}`, at {commit}\n\n| | |\n|---|---|\n");
    for (name, value) in rows {
        text.push_str(&format!("| {name} | {value} |\n"));
    }
    text
}

fn faults(tally: &Tally) -> String {
    let done = tally.done.iter().map(|(kind, count)| format!("{kind} {count}"));
    let rest = [
        format!("clean periods {}", tally.clean),
        format!("not to be had {}", tally.refused),
    ];
    done.chain(rest).collect::<Vec<_>>().join(", ")
}

fn pairs(value: &Value) -> String {
    let pairs = value.as_object().into_iter().flatten();
    pairs
        .map(|(name, count)| format!("{name} {count}"))
        .collect::<Vec<_>>()
        .join(", ")
}

fn anomalies(result: &Value) -> String {
    let found = pairs(&result["found"]);
    if found.is_empty() {
        "none".to_owned()
    } else {
        found
    }
}

fn millis(value: &Value) -> String {
    value
        .as_u64()
        .map_or_else(|| "–".to_owned(), |millis| format!("{millis} ms"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_run_is_one_table() {
        let mut tally = Tally::default();
        tally.done.insert("kill", 3);
        let result = json!({
            "found": { "lost": 2 }, "shown": ["lost: a | b"], "java_differs": 0,
            "transactions": { "committed": 5 }, "records": 9, "longest_silence_ms": null, "last_recovery_ms": 12,
        });
        let text = of_nemesis("t", "c", "abc", &tally, &result);
        for part in [
            "## t",
            "`c`, at abc",
            "kill 3, clean periods 0",
            "committed 5",
            "| anomalies | lost 2 |",
            "lost: a \\| b",
            "12 ms",
            "| – |",
        ] {
            assert!(text.contains(part), "{part:?} is not in {text}");
        }
    }
}
