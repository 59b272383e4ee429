//! One planted fault: a patch file that begins with what it plants and which checks must see it. Pure.
//!
//! ```text
//! plants: an unanswered EndTxn is forgotten under TV1
//! rule: KAFKA-17754
//! simulator: simulation::
//! proxy: held
//!
//! diff --git a/client/src/… b/client/src/…
//! ```
//! `simulator` and `proxy` are filters for the tests of that check; a plant has at least one of them.

use anyhow::{Result, bail, ensure};

/// A kind of check that may catch a plant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Check {
    /// The client's machines against the cluster model: `cargo test -p sealwax --lib`.
    Simulator,
    /// The client on real brokers behind the proxy: `cargo test -p sealwax-tests --test client_faults`.
    Proxy,
}

impl Check {
    pub(super) const ALL: [Self; 2] = [Self::Simulator, Self::Proxy];

    /// The key in the head of a patch file, and the column of the table.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Simulator => "simulator",
            Self::Proxy => "proxy",
        }
    }

    /// Cargo's arguments that choose the test program.
    pub(super) const fn target(self) -> &'static [&'static str] {
        match self {
            Self::Simulator => &["-p", "sealwax", "--lib"],
            Self::Proxy => &["-p", "sealwax-tests", "--test", "client_faults"],
        }
    }
}

/// A planted fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plant {
    /// The file's name without its ending.
    pub(super) name: String,
    /// What it breaks.
    pub(super) what: String,
    /// The rule that it breaks: a KIP, an issue of Kafka, or a sentence.
    pub(super) rule: String,
    /// The checks that must catch it, with the tests that do.
    pub(super) checks: Vec<(Check, String)>,
}

impl Plant {
    /// Reads the head of a patch file.
    ///
    /// # Errors
    /// If the head lacks something, or a line of it is none of the four.
    pub(super) fn parse(name: &str, text: &str) -> Result<Self> {
        let mut plant = Self {
            name: name.to_owned(),
            what: String::new(),
            rule: String::new(),
            checks: Vec::new(),
        };
        for line in text.lines().take_while(|line| !line.starts_with("diff --git ")) {
            if line.is_empty() {
                continue;
            }
            let Some((key, value)) = line.split_once(": ") else {
                bail!("{name}: `{line}` is not `key: value`");
            };
            match (key, Check::ALL.into_iter().find(|check| check.name() == key)) {
                ("plants", _) => value.clone_into(&mut plant.what),
                ("rule", _) => value.clone_into(&mut plant.rule),
                (_, Some(check)) => plant.checks.push((check, value.to_owned())),
                (_, None) => bail!("{name}: `{key}` is none of plants, rule, simulator, proxy"),
            }
        }
        ensure!(!plant.what.is_empty(), "{name}: no line `plants: …`");
        ensure!(!plant.rule.is_empty(), "{name}: no line `rule: …`");
        ensure!(
            !plant.checks.is_empty(),
            "{name}: no line `simulator: …` or `proxy: …` says which tests must catch it"
        );
        ensure!(
            text.contains("\ndiff --git "),
            "{name}: no patch follows the head"
        );
        Ok(plant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "plants: a retried commit\nrule: KIP-890\nsimulator: held\nproxy: end_txn\n";
    const PATCH: &str = "\ndiff --git a/x b/x\n--- a/x\n+++ b/x\nplants: not the head\n";

    #[test]
    fn the_head_names_what_is_planted_and_who_catches_it() {
        let plant = Plant::parse("01-retry", &format!("{HEAD}{PATCH}")).unwrap();
        assert_eq!(
            (plant.what.as_str(), plant.rule.as_str()),
            ("a retried commit", "KIP-890")
        );
        assert_eq!(
            plant.checks,
            [
                (Check::Simulator, "held".to_owned()),
                (Check::Proxy, "end_txn".to_owned())
            ]
        );
    }

    #[test]
    fn a_head_that_lacks_something_is_refused_by_name() {
        for (line, lack) in [
            ("plants: a retried commit\n", "plants"),
            ("rule: KIP-890\n", "rule"),
            ("simulator: held\nproxy: end_txn\n", "simulator"),
        ] {
            let text = format!("{}{PATCH}", HEAD.replace(line, ""));
            let error = Plant::parse("01-retry", &text).unwrap_err().to_string();
            assert!(error.contains("01-retry") && error.contains(lack), "{error}");
        }
        assert!(Plant::parse("01-retry", HEAD).is_err());
        assert!(Plant::parse("01-retry", &format!("who: me\n{HEAD}{PATCH}")).is_err());
    }
}
