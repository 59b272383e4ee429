//! Blanks what is compiled for tests only: items under `#[cfg(test)]` and the like.

use super::tokens::{Token, closing_brace, tokenize};

/// Masked text with every test-only item replaced by spaces (line ends kept), and the number of lines so blanked.
pub(crate) fn blank_test_code(masked: &str) -> (String, usize) {
    let tokens = tokenize(masked);
    let mut bytes = masked.as_bytes().to_vec();
    let mut lines = 0;
    let mut index = 0;
    while index < tokens.len() {
        let Some(after) = test_attribute(&tokens, index) else {
            index += 1;
            continue;
        };
        let last = item_end(&tokens, after);
        let start = tokens.get(index).map_or(0, |token| token.at);
        let end = tokens
            .get(last)
            .map_or(masked.len(), |token| token.at + token.text.len());
        for byte in bytes.iter_mut().take(end).skip(start) {
            if *byte == b'\n' {
                lines += 1;
            } else {
                *byte = b' ';
            }
        }
        // The line on which the item ends is its own as well.
        lines += 1;
        index = last + 1;
    }
    (String::from_utf8(bytes).unwrap_or_default(), lines)
}

/// If an attribute like `#[cfg(test)]` starts at `index`: the index after it.
fn test_attribute(tokens: &[Token<'_>], index: usize) -> Option<usize> {
    let text = |offset: usize| tokens.get(index + offset).map(|token| token.text);
    if text(0) != Some("#") || text(1) != Some("[") {
        return None;
    }
    let end = attribute_end(tokens, index);
    let words: Vec<&str> = tokens.get(index..end)?.iter().map(|token| token.text).collect();
    let is_test = match text(2) {
        Some("test") => true,
        Some("cfg") => words.contains(&"test") && !words.contains(&"not"),
        _ => false,
    };
    is_test.then_some(end)
}

/// The index after the attribute that starts at `index`.
fn attribute_end(tokens: &[Token<'_>], index: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(index) {
        match token.text {
            "[" => depth += 1,
            "]" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    tokens.len()
}

/// The last token of the item that starts at `index`, further attributes included: a `;`, or the end of its braces.
fn item_end(tokens: &[Token<'_>], mut index: usize) -> usize {
    while tokens.get(index).is_some_and(|token| token.text == "#") {
        index = attribute_end(tokens, index);
    }
    let is_use = tokens.iter().skip(index).take(6).any(|token| token.text == "use");
    for (at, token) in tokens.iter().enumerate().skip(index) {
        match token.text {
            ";" => return at,
            "{" if !is_use => return closing_brace(tokens, at),
            _ => {}
        }
    }
    tokens.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_items_vanish() {
        let text = "fn a() {}\n#[cfg(test)]\nuse x::{y};\n#[cfg(test)]\n#[path = \"t.rs\"]\nmod tests {\n fn b() {}\n}\nfn c() {}\n";
        let (production, lines) = blank_test_code(text);
        assert!(production.contains("fn a()") && production.contains("fn c()"));
        assert!(
            !production.contains("fn b()") && !production.contains("use x"),
            "{production}"
        );
        assert_eq!(lines, 7);
    }

    #[test]
    fn code_for_everything_but_tests_stays() {
        let (production, lines) = blank_test_code("#[cfg(not(test))]\nfn a() {}\n");
        assert!(production.contains("fn a()"));
        assert_eq!(lines, 0);
    }
}
