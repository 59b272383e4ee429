//! Control records: what a transaction marker says.
//!
//! In: the key of a control batch's first record. Keys of later versions only append fields, so the known front is read.

use bytes::Buf;

use crate::error::DecodeError;

/// Version and type, two bytes each.
const KEY_LEN: usize = 4;

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

impl ControlType {
    /// The number on the wire.
    #[must_use]
    pub const fn code(self) -> i16 {
        match self {
            Self::Abort => 0,
            Self::Commit => 1,
            Self::Other(code) => code,
        }
    }

    pub(super) fn from_key(key: Option<&[u8]>) -> Result<Self, DecodeError> {
        let mut key = key.unwrap_or_default();
        if key.len() < KEY_LEN {
            let what = "key of a control record";
            return Err(DecodeError::Truncated {
                what,
                needed: KEY_LEN,
                remaining: key.len(),
            });
        }
        let version = key.get_i16();
        if version < 0 {
            return Err(DecodeError::Invalid {
                what: "version of a control record",
                value: version.to_string(),
            });
        }
        Ok(match key.get_i16() {
            0 => Self::Abort,
            1 => Self::Commit,
            other => Self::Other(other),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_front_of_the_key_decides() {
        for (key, expected) in [
            (&[0, 0, 0, 0][..], ControlType::Abort),
            (&[0, 0, 0, 1], ControlType::Commit),
            (&[0, 7, 0, 1, 9, 9], ControlType::Commit),
            (&[0, 0, 0, 2], ControlType::Other(2)),
            (&[0, 0, 0xFF, 0xFF], ControlType::Other(-1)),
        ] {
            assert_eq!(ControlType::from_key(Some(key)), Ok(expected), "{key:?}");
        }
    }

    #[test]
    fn a_key_that_is_missing_short_or_of_a_negative_version_is_refused() {
        for key in [
            None,
            Some(&[][..]),
            Some(&[0, 0, 0][..]),
            Some(&[0xFF, 0xFF, 0, 1][..]),
        ] {
            assert!(ControlType::from_key(key).is_err(), "{key:?}");
        }
    }
}
