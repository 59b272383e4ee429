//! Whether a path still leads to the file that was opened.
//!
//! Input: what the system says of files. Output: yes or no, where the system can tell (device and inode; elsewhere always yes).

use std::fs::Metadata;

/// What tells a file from another one of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity(Option<(u64, u64)>);

impl Identity {
    /// That of an open file.
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self(numbers(metadata))
    }

    /// Whether this may be the same file.
    pub(super) fn may_be(self, metadata: &Metadata) -> bool {
        match (self.0, numbers(metadata)) {
            (Some(opened), Some(found)) => opened == found,
            (None, _) | (_, None) => true,
        }
    }
}

#[cfg(unix)]
fn numbers(metadata: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn numbers(_metadata: &Metadata) -> Option<(u64, u64)> {
    None
}
