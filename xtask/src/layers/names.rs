//! Names that must not occur in a place, such as a clock in a machine. Pure.

use super::Violation;
use super::table::NameRule;
use crate::source::{SourceFile, blank_test_code, line_of, mask, tokenize};

/// Checks one file against all name rules.
pub(super) fn check(file: &SourceFile, rules: &[NameRule]) -> Vec<Violation> {
    let Some(path) = file.path.strip_prefix("src/").filter(|_| !file.is_test()) else {
        return Vec::new();
    };
    let applies = |rule: &&NameRule| {
        rule.dir == file.package && is_below(path, rule.below) && !rule.except.contains(&path)
    };
    let mut rules = rules.iter().filter(applies).peekable();
    if rules.peek().is_none() {
        return Vec::new();
    }
    let (production, _) = blank_test_code(&mask(&file.text));
    let mut violations = Vec::new();
    for rule in rules {
        for name in rule.names {
            for line in occurrences(&production, name) {
                violations.push(Violation::new(
                    &file.shown(),
                    line,
                    format!("`{name}` here: {}", rule.reason),
                ));
            }
        }
    }
    violations
}

/// `offsets/` is the room whether it is one file or a directory.
fn is_below(path: &str, below: &str) -> bool {
    let as_file = below.strip_suffix('/').map(|room| format!("{room}.rs"));
    path.starts_with(below) || as_file.as_deref() == Some(path)
}

/// The lines on which the tokens of `name` follow each other. A name of one word is not found as the end of a longer path
/// (`crate::sealwax`), nor as a field or lifetime.
fn occurrences(production: &str, name: &str) -> Vec<usize> {
    let tokens = tokenize(production);
    let wanted = tokenize(name);
    let single = wanted.len() == 1;
    let mut lines = Vec::new();
    for (index, window) in tokens.windows(wanted.len()).enumerate() {
        let same = window
            .iter()
            .zip(&wanted)
            .all(|(found, wanted)| found.text == wanted.text);
        let before = index
            .checked_sub(1)
            .and_then(|before| tokens.get(before))
            .map_or("", |token| token.text);
        let starts_lower = name.starts_with(|c: char| c.is_lowercase());
        if same && !(single && starts_lower && matches!(before, "::" | "." | "'")) {
            lines.extend(window.first().map(|token| line_of(production, token.at)));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &[NameRule] = &[NameRule {
        dir: "p",
        below: "machine/",
        except: &["machine/clock.rs"],
        names: &["tokio", "Instant::now", "Mutex"],
        reason: "sans-IO",
    }];

    fn check_text(path: &str, text: &str) -> Vec<String> {
        let file = SourceFile {
            package: "p".to_owned(),
            path: path.to_owned(),
            text: text.to_owned(),
        };
        check(&file, RULES).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_planted_clock_is_found() {
        let found = check_text(
            "src/machine/a.rs",
            "use std::time::Instant;\nfn f() { let _ = Instant :: now(); }",
        );
        assert_eq!(found, ["p/src/machine/a.rs:2: `Instant::now` here: sans-IO"]);
        assert_eq!(
            check_text("src/machine/a.rs", "use tokio::net::X;\nuse std::sync::Mutex;").len(),
            2
        );
    }

    #[test]
    fn other_places_comments_and_tests_are_free() {
        assert!(check_text("src/runtime/a.rs", "use tokio::net::X;").is_empty());
        assert!(check_text("src/machine/clock.rs", "Instant::now()").is_empty());
        let text = "// tokio\n#[cfg(test)]\nmod tests { use tokio::x; }\nlet now: Instant = self.tokio;";
        assert!(check_text("src/machine/a.rs", text).is_empty());
    }
}
