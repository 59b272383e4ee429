//! What the checks saw of each plant, as a table. Pure.

use std::fmt;

use super::plant::{Check, Plant};

/// Whether a check turned red.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    Yes,
    No,
    /// The plant does not apply or compile, no test matches, or the check did not end: nothing was shown.
    Unfit,
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Yes => "caught",
            Self::No => "MISSED",
            Self::Unfit => "UNFIT",
        })
    }
}

/// One plant and what the checks said.
#[derive(Debug)]
pub(super) struct Row {
    name: String,
    rule: String,
    seen: Vec<(Check, Seen)>,
}

impl Row {
    pub(super) fn new(plant: &Plant) -> Self {
        Self {
            name: plant.name.clone(),
            rule: plant.rule.clone(),
            seen: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, check: Check, seen: Seen) {
        self.seen.push((check, seen));
    }

    fn said(&self, check: Check) -> Option<Seen> {
        let (_, seen) = self.seen.iter().find(|(of, _)| *of == check)?;
        Some(*seen)
    }
}

/// All plants; its `Display` is the table and the closing line.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Row>,
}

impl Table {
    pub(super) fn add(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Whether every check that ran caught its plant.
    pub(super) fn is_good(&self) -> bool {
        self.rows
            .iter()
            .flat_map(|row| &row.seen)
            .all(|(_, seen)| *seen == Seen::Yes)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{:<40}", "plant")?;
        for check in Check::ALL {
            write!(f, " {:<9}", check.name())?;
        }
        writeln!(f, " rule")?;
        for row in &self.rows {
            write!(f, "{:<40}", row.name)?;
            for check in Check::ALL {
                match row.said(check) {
                    Some(seen) => write!(f, " {seen:<9}")?,
                    None => write!(f, " {:<9}", "–")?,
                }
            }
            writeln!(f, " {}", row.rule)?;
        }
        let tried = self.rows.iter().filter(|row| !row.seen.is_empty());
        let (tried, caught) = tried.fold((0, 0), |(tried, caught), row| {
            let is_caught = row.seen.iter().all(|(_, seen)| *seen == Seen::Yes);
            (tried + 1, caught + usize::from(is_caught))
        });
        writeln!(f, "\n{caught} of {tried} plants caught")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, seen: &[(Check, Seen)]) -> Row {
        Row {
            name: name.to_owned(),
            rule: "KIP-98".to_owned(),
            seen: seen.to_vec(),
        }
    }

    #[test]
    fn one_check_that_missed_its_plant_spoils_the_table() {
        let mut table = Table::default();
        table.add(row("a", &[(Check::Simulator, Seen::Yes)]));
        assert!(table.is_good());
        assert!(table.to_string().ends_with("\n1 of 1 plants caught\n"), "{table}");
        table.add(row(
            "b",
            &[(Check::Simulator, Seen::Yes), (Check::Proxy, Seen::No)],
        ));
        table.add(row("c", &[]));
        assert!(!table.is_good());
        assert!(table.to_string().contains("MISSED"), "{table}");
        assert!(table.to_string().ends_with("\n1 of 2 plants caught\n"), "{table}");
    }

    #[test]
    fn a_plant_that_shows_nothing_is_not_caught() {
        let mut table = Table::default();
        table.add(row("a", &[(Check::Simulator, Seen::Unfit)]));
        assert!(!table.is_good());
        assert!(table.to_string().contains("UNFIT"), "{table}");
        assert!(table.to_string().ends_with("\n0 of 1 plants caught\n"), "{table}");
    }
}
