//! Cuts masked text into the few kinds of token that the checks need.

/// A token with its byte position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    /// A word (identifier, keyword, number), `::`, or a single other character.
    pub(crate) text: &'a str,
    /// Where it starts.
    pub(crate) at: usize,
}

/// The tokens of masked text, white space left out.
pub(crate) fn tokenize(masked: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(rest) = masked.get(at..).filter(|rest| !rest.is_empty()) {
        let length = token_length(rest);
        if let Some(text) = rest.get(..length).filter(|text| !text.trim().is_empty()) {
            tokens.push(Token { text, at });
        }
        at += length;
    }
    tokens
}

fn token_length(rest: &str) -> usize {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let word = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
    match word {
        0 if rest.starts_with("::") => 2,
        0 => rest.chars().next().map_or(1, char::len_utf8),
        length => length,
    }
}

/// The index of the brace that closes the one at `open`, or the last token if none does.
pub(crate) fn closing_brace(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "{" => depth += 1,
            "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return index;
                }
            }
            _ => {}
        }
    }
    tokens.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_paths_and_signs() {
        let texts: Vec<&str> = tokenize("use crate::a_b::{C, d};")
            .iter()
            .map(|token| token.text)
            .collect();
        assert_eq!(
            texts,
            ["use", "crate", "::", "a_b", "::", "{", "C", ",", "d", "}", ";"]
        );
    }

    #[test]
    fn finds_the_matching_brace() {
        let tokens = tokenize("{ a { b } c } d");
        assert_eq!(closing_brace(&tokens, 0), 6);
    }
}
