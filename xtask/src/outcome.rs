//! How a check ended. A check that could not be made is neither passed nor failed, and says why.

/// The end of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It found nothing wrong.
    Passed,
    /// It found something, and printed it.
    Failed,
    /// It was not made, for this reason.
    Skipped(String),
}

impl From<bool> for Outcome {
    fn from(good: bool) -> Self {
        if good { Self::Passed } else { Self::Failed }
    }
}
