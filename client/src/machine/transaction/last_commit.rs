//! How the last commit came out, for who asks later: after a commit whose caller did not wait, or was told that it is unknown.
//! In: verdicts, and what is learnt after an unknown one. Out: the answer. A proof replaces "unknown" and nothing else.

use super::Verdict;
use crate::error::Error;

/// How a commit came out.
#[derive(Debug, Clone)]
pub(crate) enum Resolution {
    /// Committed.
    Committed,
    /// Aborted.
    Aborted(Error),
    /// It cannot be told, for this reason.
    Unknown(Error),
}

/// The last commit that was asked for.
#[derive(Debug, Default)]
pub(crate) enum LastCommit {
    /// There was none.
    #[default]
    None,
    /// It is under way.
    Pending(u64),
    /// It had its verdict.
    Decided(u64, Resolution),
}

impl LastCommit {
    /// The commit of this transaction has its verdict.
    pub(crate) fn decide(&mut self, serial: u64, verdict: &Verdict) {
        if let Self::Pending(of) = self
            && *of == serial
        {
            let resolution = match verdict {
                Verdict::Committed => Resolution::Committed,
                Verdict::Aborted(error) | Verdict::Fenced(error) | Verdict::Fatal(error) => {
                    Resolution::Aborted(error.clone())
                }
                Verdict::Unknown(error) => Resolution::Unknown(error.clone()),
            };
            *self = Self::Decided(serial, resolution);
        }
    }

    /// Something about the commit of this transaction was learnt afterwards.
    pub(crate) fn learn(&mut self, serial: u64, resolution: Resolution) {
        if let Self::Decided(of, known @ Resolution::Unknown(_)) = self
            && *of == serial
        {
            *known = resolution;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn error(text: &str) -> Error {
        Error::new(ErrorKind::OutcomeUnknown, text)
    }

    #[test]
    fn a_proof_replaces_unknown_and_nothing_else() {
        let mut last = LastCommit::Pending(3);
        last.decide(2, &Verdict::Committed);
        assert!(
            matches!(last, LastCommit::Pending(3)),
            "another transaction's verdict"
        );
        last.decide(3, &Verdict::Unknown(error("lost")));
        last.decide(3, &Verdict::Fenced(error("fenced")));
        assert!(matches!(last, LastCommit::Decided(3, Resolution::Unknown(_))));
        last.learn(4, Resolution::Committed);
        assert!(matches!(last, LastCommit::Decided(3, Resolution::Unknown(_))));
        last.learn(3, Resolution::Committed);
        last.learn(3, Resolution::Aborted(error("no")));
        assert!(matches!(last, LastCommit::Decided(3, Resolution::Committed)));
    }
}
