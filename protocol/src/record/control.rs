//! Control records: what a transaction marker says.

/// What a control record announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlType {
    /// The producer's transaction was aborted.
    Abort,
    /// The producer's transaction was committed.
    Commit,
    /// Another kind (leader change, snapshot, KRaft), which a client passes over.
    Other(i16),
}
