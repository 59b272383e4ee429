//! How a check ended. A check that could not be made is an error, never one of these.

/// The end of one check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It found nothing wrong.
    Passed,
    /// It found something, and printed it.
    Failed,
}

impl From<bool> for Outcome {
    fn from(good: bool) -> Self {
        if good { Self::Passed } else { Self::Failed }
    }
}
