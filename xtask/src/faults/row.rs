//! One run of the table: a line of tab-separated fields, written by `tests/tests/client_faults/table.rs`.

/// A run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Row {
    pub(super) version: String,
    pub(super) request: String,
    pub(super) fault: String,
    /// Once, or until the call returned.
    pub(super) reach: String,
    pub(super) occurrence: u32,
    /// What came of the fault.
    pub(super) account: String,
    /// One letter per transaction.
    pub(super) outcomes: String,
    /// From the fault to the next commit, in milliseconds.
    pub(super) recovery: Option<u64>,
    /// `ok`, or what was wrong.
    pub(super) findings: String,
}

impl Row {
    /// The row of a line, if it is one.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split('\t').map(str::to_owned);
        let row = Self {
            version: fields.next()?,
            request: fields.next()?,
            fault: fields.next()?,
            reach: fields.next()?,
            occurrence: fields.next()?.parse().ok()?,
            account: fields.next()?,
            outcomes: fields.next()?,
            recovery: match fields.next()?.as_str() {
                "-" => None,
                millis => Some(millis.parse().ok()?),
            },
            findings: fields.next()?,
        };
        fields.next().is_none().then_some(row)
    }

    /// Whether it ended as it must.
    pub(super) fn is_good(&self) -> bool {
        self.findings == "ok"
    }

    /// Whether the request occurred, so that the fault could strike.
    pub(super) fn is_struck(&self) -> bool {
        self.account != "no such request"
    }

    /// How many of its transactions ended so.
    pub(super) fn count(&self, letter: char) -> usize {
        self.outcomes.chars().filter(|outcome| *outcome == letter).count()
    }

    /// Whether a finding is of this kind.
    pub(super) fn has(&self, kind: &str) -> bool {
        !self.is_good() && self.findings.contains(kind)
    }
}
