//! A string whose bytes were checked once and are shared, not copied.
//!
//! Input: bytes or a `String`. Output: UTF-8 text that a converter can hand on as the bytes of a record.

use std::fmt;
use std::ops::Deref;

use bytes::Bytes;

/// Immutable UTF-8 text over shared bytes. Cloning and taking the bytes copy nothing.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Text {
    utf8: Bytes,
}

impl Text {
    /// Text from bytes that are UTF-8.
    ///
    /// # Errors
    /// The bytes are not UTF-8; the error says from which byte on.
    pub fn from_utf8(utf8: Bytes) -> Result<Self, std::str::Utf8Error> {
        std::str::from_utf8(&utf8)?;
        Ok(Self { utf8 })
    }

    /// The text's bytes, without a copy.
    pub fn into_bytes(self) -> Bytes {
        self.utf8
    }

    /// The text's bytes, shared.
    pub fn as_bytes(&self) -> &Bytes {
        &self.utf8
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        // Checked when built and immutable since, so the fallback is never taken.
        std::str::from_utf8(&self.utf8).unwrap_or_default()
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self {
            utf8: Bytes::from(text),
        }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self {
            utf8: Bytes::copy_from_slice(text.as_bytes()),
        }
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_utf8_is_refused_and_valid_is_shared() {
        let error = Text::from_utf8(Bytes::from_static(b"ab\xffcd")).unwrap_err();
        assert_eq!(error.valid_up_to(), 2);
        let bytes = Bytes::from_static("grün".as_bytes());
        let text = Text::from_utf8(bytes.clone()).unwrap();
        assert_eq!(&*text, "grün");
        assert_eq!(text.as_bytes().as_ptr(), bytes.as_ptr());
    }
}
