//! The question before an act that cannot be taken back.
//!
//! Input: `--yes`, `--dry-run`, and whether a person is there to be asked. Output: go on, or a [`Failure`].

use std::io::{self, BufRead, IsTerminal, Write};

use super::super::{Exit, Failure};
use super::finding;

/// Whether the user has to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Consent {
    /// It was given on the command line.
    Given,
    /// It has to be asked for.
    Ask,
    /// Nothing is to be done.
    DryRun,
}

impl Consent {
    /// From the flags, and whether stdin is a terminal.
    ///
    /// # Errors
    /// Nobody is there to be asked.
    pub(super) fn new(yes: bool, dry_run: bool, terminal: bool) -> Result<Self, Failure> {
        match (dry_run, yes, terminal) {
            (true, _, _) => Ok(Self::DryRun),
            (false, true, _) => Ok(Self::Given),
            (false, false, true) => Ok(Self::Ask),
            (false, false, false) => Err(Failure::new(
                Exit::Validation,
                "nobody can be asked, because standard input is no terminal: look with --dry-run, then give --yes",
            )),
        }
    }

    /// From the flags, with the process's own stdin.
    ///
    /// # Errors
    /// Nobody is there to be asked.
    pub(super) fn of_process(yes: bool, dry_run: bool) -> Result<Self, Failure> {
        Self::new(yes, dry_run, io::stdin().is_terminal())
    }

    /// Asks, if that is needed.
    ///
    /// # Errors
    /// The user does not agree.
    ///
    /// # Cancel safety
    /// A question stays on the screen.
    pub(super) async fn obtain(self, question: String) -> Result<(), Failure> {
        match self {
            Self::Given | Self::DryRun => Ok(()),
            Self::Ask => {
                let answer = tokio::task::spawn_blocking(move || ask(&question)).await;
                match answer {
                    Ok(Ok(answer)) if agrees(&answer) => Ok(()),
                    _ => Err(finding("not confirmed; nothing was done")),
                }
            }
        }
    }
}

fn ask(question: &str) -> io::Result<String> {
    let mut stderr = io::stderr().lock();
    write!(stderr, "{question} [y/N] ")?;
    stderr.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(answer)
}

fn agrees(answer: &str) -> bool {
    matches!(answer.trim(), "y" | "Y" | "yes" | "Yes" | "YES")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_person_only_the_flags_decide() {
        assert_eq!(Consent::new(true, false, false), Ok(Consent::Given));
        assert_eq!(Consent::new(false, false, true), Ok(Consent::Ask));
        assert_eq!(Consent::new(true, true, true), Ok(Consent::DryRun));
        assert_eq!(Consent::new(false, true, false), Ok(Consent::DryRun));
        let refused = Consent::new(false, false, false).unwrap_err();
        assert_eq!(refused.exit(), Exit::Validation);
        assert!(refused.to_string().contains("--yes"), "{refused}");
    }

    #[test]
    fn only_a_clear_yes_agrees() {
        assert!(agrees("y\n") && agrees(" yes \n"));
        assert!(!agrees("\n") && !agrees("no\n") && !agrees("yep") && !agrees(""));
    }
}
