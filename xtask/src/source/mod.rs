//! Rust source as the structure checks see it: files of the workspace, text without comments and literals, production code
//! without test code, tokens. No full parser: what the checks ask can be read from these.

mod files;
mod mask;
mod test_code;
mod tokens;

pub(crate) use files::{SourceFile, rust_files};
pub(crate) use mask::mask;
pub(crate) use test_code::blank_test_code;
pub(crate) use tokens::{Token, closing_brace, tokenize};

/// The 1-based line of a byte position.
pub(crate) fn line_of(text: &str, position: usize) -> usize {
    1 + text
        .as_bytes()
        .iter()
        .take(position)
        .filter(|byte| **byte == b'\n')
        .count()
}
