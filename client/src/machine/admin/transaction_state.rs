//! The states of a transactional id at its coordinator, by Kafka's names.

use std::fmt;

/// The state of a transactional id, as its coordinator tells it (KIP-664).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum TransactionState {
    /// No transaction was begun since the id was initialised.
    Empty,
    /// A transaction is open.
    Ongoing,
    /// The commit is decided; its markers are being written.
    PrepareCommit,
    /// The abort is decided; its markers are being written.
    PrepareAbort,
    /// The last transaction was committed.
    CompleteCommit,
    /// The last transaction was aborted.
    CompleteAbort,
    /// The id is being taken from a producer whose transaction is aborted first.
    PrepareEpochFence,
    /// The id has expired and is about to be forgotten.
    Dead,
    /// A state that this client has no name for.
    Unknown,
}

impl TransactionState {
    /// All states that have a name on the wire.
    pub const NAMED: &'static [Self] = &[
        Self::Empty,
        Self::Ongoing,
        Self::PrepareCommit,
        Self::PrepareAbort,
        Self::CompleteCommit,
        Self::CompleteAbort,
        Self::PrepareEpochFence,
        Self::Dead,
    ];

    /// Kafka's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::Ongoing => "Ongoing",
            Self::PrepareCommit => "PrepareCommit",
            Self::PrepareAbort => "PrepareAbort",
            Self::CompleteCommit => "CompleteCommit",
            Self::CompleteAbort => "CompleteAbort",
            Self::PrepareEpochFence => "PrepareEpochFence",
            Self::Dead => "Dead",
            Self::Unknown => "Unknown",
        }
    }

    /// Whether a transaction is open: begun, and not all of its markers written. A state without a name here counts as such.
    #[must_use]
    pub const fn is_open(self) -> bool {
        match self {
            Self::Ongoing
            | Self::PrepareCommit
            | Self::PrepareAbort
            | Self::PrepareEpochFence
            | Self::Unknown => true,
            Self::Empty | Self::CompleteCommit | Self::CompleteAbort | Self::Dead => false,
        }
    }

    /// The state of a name; [`TransactionState::Unknown`] for any other.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        let found = Self::NAMED.iter().find(|state| state.name() == name);
        found.copied().unwrap_or(Self::Unknown)
    }
}

impl fmt::Display for TransactionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_states_belong_together() {
        for &state in TransactionState::NAMED {
            assert_eq!(TransactionState::from_name(state.name()), state);
        }
        assert_eq!(TransactionState::from_name("ongoing"), TransactionState::Unknown);
        assert_eq!(TransactionState::from_name("Unknown"), TransactionState::Unknown);
        assert_eq!(format!("{:8}|", TransactionState::Dead), "Dead    |");
    }
}
