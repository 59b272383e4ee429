//! Blanks comments, strings and character literals, byte for byte, so that positions and line numbers stay.

/// The text with every comment, string and character literal replaced by spaces; line ends are kept.
pub(crate) fn mask(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut masked = Vec::with_capacity(bytes.len());
    while let Some(rest) = bytes.get(masked.len()..).filter(|rest| !rest.is_empty()) {
        let before = masked.last().copied();
        match hidden_length(rest, before) {
            0 => masked.extend(rest.first()),
            length => {
                let hidden = rest.iter().take(length);
                masked.extend(hidden.map(|byte| if *byte == b'\n' { b'\n' } else { b' ' }));
            }
        }
    }
    String::from_utf8(masked).unwrap_or_default()
}

/// How many bytes from here on are a comment or literal; 0 if none starts here.
fn hidden_length(rest: &[u8], before: Option<u8>) -> usize {
    let in_word = before.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match rest {
        [b'/', b'/', ..] => rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()),
        [b'/', b'*', ..] => block_comment(rest),
        [b'"', ..] => 1 + quoted(rest.get(1..).unwrap_or_default()),
        [b'r' | b'b' | b'c', ..] if !in_word => prefixed(rest),
        [b'\'', ..] => character(rest),
        // Anything beyond ASCII outside of literals has no meaning for the checks; blanked, it cannot be cut in half.
        [byte, ..] if !byte.is_ascii() => 1,
        _ => 0,
    }
}

fn block_comment(rest: &[u8]) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(tail) = rest.get(at..).filter(|tail| !tail.is_empty()) {
        if tail.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if tail.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// The length of the rest of a string after its opening quote, with the closing quote.
fn quoted(rest: &[u8]) -> usize {
    let mut at = 0;
    while let Some(byte) = rest.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// `r"…"`, `r#"…"#`, `b"…"`, `br#"…"#`, `c"…"`, `b'x'`; 0 if it is just a word.
fn prefixed(rest: &[u8]) -> usize {
    let letters = rest
        .iter()
        .take_while(|byte| matches!(byte, b'r' | b'b' | b'c'))
        .count();
    let hashes = rest
        .iter()
        .skip(letters)
        .take_while(|byte| **byte == b'#')
        .count();
    let prefix = rest.get(..letters).unwrap_or_default();
    let start = letters + hashes;
    match rest.get(start) {
        Some(b'"') if prefix.contains(&b'r') && letters <= 2 => {
            let end = [b"\"".as_slice(), "#".repeat(hashes).as_bytes()].concat();
            let body = rest.get(start + 1..).unwrap_or_default();
            let close = body.windows(end.len()).position(|part| part == end);
            close.map_or(rest.len(), |close| start + 1 + close + end.len())
        }
        Some(b'"') if letters == 1 && hashes == 0 => 2 + quoted(rest.get(2..).unwrap_or_default()),
        Some(b'\'') if prefix == b"b" && hashes == 0 => 1 + character(rest.get(1..).unwrap_or_default()),
        _ => 0,
    }
}

/// A character literal, or 0 for a lifetime.
fn character(rest: &[u8]) -> usize {
    match rest {
        [_, b'\\', _, tail @ ..] => tail
            .iter()
            .position(|byte| *byte == b'\'')
            .map_or(0, |close| close + 4),
        [_, _, b'\'', ..] => 3,
        // One character of two to four bytes.
        [_, first, tail @ ..] if !first.is_ascii() => tail
            .iter()
            .take(4)
            .position(|byte| *byte == b'\'')
            .map_or(0, |close| close + 3),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_vanish_and_places_stay() {
        let text = "let a = \"x { \\\" y\"; // } z\nlet b = r#\"\" { \"#; /* { /* } */ */ f('{', '\\'', b'}', 'é', &'a str);";
        let masked = mask(text);
        assert_eq!(masked.len(), text.len());
        assert_eq!(masked.lines().count(), 2);
        assert!(!masked.contains(['{', '}', 'z', 'x']), "{masked}");
        assert!(
            masked.contains("let a =") && masked.contains("let b =") && masked.contains("&'a str);"),
            "{masked}"
        );
    }

    #[test]
    fn words_that_end_like_a_prefix_are_no_literals() {
        assert_eq!(mask("for br in attr { bar }"), "for br in attr { bar }");
    }

    #[test]
    fn unfinished_literals_do_not_run_away() {
        assert_eq!(mask("\"abc").trim(), "");
        assert_eq!(mask("/* abc").trim(), "");
        assert_eq!(mask("r#\"abc").trim(), "");
    }
}
