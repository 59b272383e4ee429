//! Java's `.properties` format.
//!
//! Input: bytes of a file. Output: keys and values. UTF-8 is tried first, then ISO-8859-1 (which Java's
//! `Properties.load(InputStream)` always takes): a file that is plain ASCII or uses `\u` escapes reads the same in Java.

use std::iter::Peekable;
use std::str::Chars;

use crate::api::Settings;

/// Why a properties file could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct PropertiesError {
    /// The first line of the entry, from 1.
    pub line: usize,
    /// What is wrong; never holds the value.
    pub why: &'static str,
}

/// Reads a properties file. A key that comes twice has its last value, as in Java.
///
/// # Errors
/// A malformed `\u` escape.
pub fn parse_properties(bytes: &[u8]) -> Result<Settings, PropertiesError> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text).to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    };
    let mut settings = Settings::new();
    for (line, entry) in logical_lines(&text) {
        let (key, value) = split_entry(&entry).map_err(|why| PropertiesError { line, why })?;
        settings.set(key, value);
    }
    Ok(settings)
}

/// Lines without comments and blank lines, with continuations joined; each with the number of its first line.
fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let mut logical: Vec<(usize, String)> = Vec::new();
    let mut continues = false;
    for (number, natural) in natural_lines(text).into_iter().enumerate() {
        let content = natural.trim_start_matches([' ', '\t', '\u{c}']);
        let (content, more) = without_continuation(content);
        match logical.last_mut() {
            Some((_, entry)) if continues => entry.push_str(content),
            _ if natural
                .trim_start_matches([' ', '\t', '\u{c}'])
                .starts_with(['#', '!']) =>
            {
                continue;
            }
            _ if content.is_empty() && !more => continue,
            _ => logical.push((number + 1, content.to_owned())),
        }
        continues = more;
    }
    logical
}

/// Lines that end with `\n`, `\r` or `\r\n`.
fn natural_lines(text: &str) -> Vec<&str> {
    text.split('\n')
        .flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r'))
        .collect()
}

/// An odd number of backslashes at the end continues the line; the last of them is taken off.
fn without_continuation(line: &str) -> (&str, bool) {
    let backslashes = line.len() - line.trim_end_matches('\\').len();
    match line.strip_suffix('\\') {
        Some(rest) if backslashes % 2 == 1 => (rest, true),
        _ => (line, false),
    }
}

/// The key goes to the first `=`, `:` or white space that is not escaped.
fn split_entry(entry: &str) -> Result<(String, String), &'static str> {
    let mut characters = entry.chars().peekable();
    let key = unescape(&mut characters, |c| matches!(c, '=' | ':' | ' ' | '\t' | '\u{c}'))?;
    skip_white(&mut characters);
    if characters.next_if(|c| matches!(c, '=' | ':')).is_some() {
        skip_white(&mut characters);
    }
    let value = unescape(&mut characters, |_| false)?;
    Ok((key, value))
}

fn skip_white(characters: &mut Peekable<Chars<'_>>) {
    while characters
        .next_if(|c| matches!(c, ' ' | '\t' | '\u{c}'))
        .is_some()
    {}
}

/// Reads up to a character that ends the part, with escapes resolved. `\u` escapes are UTF-16 units.
fn unescape(
    characters: &mut Peekable<Chars<'_>>,
    ends: impl Fn(char) -> bool,
) -> Result<String, &'static str> {
    let mut units = Vec::new();
    let mut buffer = [0; 2];
    while let Some(character) = characters.next_if(|c| !ends(*c)) {
        let plain = match character {
            '\\' => match characters.next() {
                Some('u') => {
                    units.push(unicode_unit(characters)?);
                    continue;
                }
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('f') => '\u{c}',
                Some(other) => other,
                None => continue,
            },
            plain => plain,
        };
        units.extend_from_slice(plain.encode_utf16(&mut buffer));
    }
    String::from_utf16(&units).map_err(|_| "a \\u escape names half of a surrogate pair")
}

fn unicode_unit(characters: &mut Peekable<Chars<'_>>) -> Result<u16, &'static str> {
    let mut unit = 0;
    for _ in 0..4 {
        let digit = characters
            .next()
            .and_then(|c| c.to_digit(16))
            .and_then(|d| u16::try_from(d).ok());
        unit = unit << 4 | digit.ok_or("a \\u escape needs four hexadecimal digits")?;
    }
    Ok(unit)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Vec<(String, String)> {
        let settings = parse_properties(text.as_bytes()).unwrap();
        settings
            .iter()
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    }

    fn one(text: &str) -> (String, String) {
        let mut all = parse(text);
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    fn pair(key: &str, value: &str) -> (String, String) {
        (key.to_owned(), value.to_owned())
    }

    #[test]
    fn separators_white_space_and_comments() {
        for text in [
            "a=b",
            "a:b",
            "a b",
            "  a = b",
            "a\t:\tb",
            "# c\n! c\n\n a=b",
            "a=x\ra=b\r\n",
            "\u{feff}a=b",
        ] {
            assert_eq!(one(text), pair("a", "b"), "{text:?}");
        }
        assert_eq!(one("a==b"), pair("a", "=b"));
        assert_eq!(one("a"), pair("a", ""));
        assert_eq!(one("a=b \t"), pair("a", "b \t"));
        assert_eq!(one("a=b#c"), pair("a", "b#c"));
        assert_eq!(one("=b"), pair("", "b"));
    }

    #[test]
    fn escapes() {
        assert_eq!(one(r"a\=\:\ b=c\td\\\n\q"), pair("a=: b", "c\td\\\nq"));
        assert_eq!(one(r"k=\u00e4\ud83d\ude00"), pair("k", "ä😀"));
        assert_eq!(one("k=ä"), pair("k", "ä"));
        assert_eq!(parse_properties(b"k=\xe4").unwrap().value("k"), Some("ä"));
    }

    #[test]
    fn continued_lines() {
        assert_eq!(one("list=a,\\\n   b,\\\r\n\tc"), pair("list", "a,b,c"));
        assert_eq!(one("a=b\\\\\n"), pair("a", "b\\"));
        assert_eq!(one("a=b\\\n# no comment"), pair("a", "b# no comment"));
        assert_eq!(parse("# c \\\na=b"), [pair("a", "b")]);
        assert_eq!(one("a=b\\"), pair("a", "b"));
    }

    #[test]
    fn malformed_escapes_name_the_line_but_not_the_value() {
        let error = parse_properties(b"x=1\n\npassword=s3cr3t\\u12g4").unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 3: a \\u escape needs four hexadecimal digits"
        );
        assert!(parse_properties(b"a=\\ud83d").is_err());
    }

    /// Writes a text so that it reads back as it is.
    fn escaped(text: &str) -> String {
        let mut out = String::new();
        for unit in text.encode_utf16() {
            match char::from_u32(unit.into()) {
                Some(c) if c.is_ascii_alphanumeric() => out.push(c),
                Some(c) if " =:#!\\\"'".contains(c) => out.extend(['\\', c]),
                _ => out.push_str(&format!("\\u{unit:04x}")),
            }
        }
        out
    }

    proptest! {
        #[test]
        fn what_was_escaped_comes_back(key in any::<String>(), value in any::<String>(), cut in any::<prop::sample::Index>()) {
            let value_text = escaped(&value);
            // A continuation between two characters changes nothing, unless it would cut an escape in two.
            let place = cut.index(value_text.len() + 1);
            let (left, right) = value_text.split_at(place);
            let whole = if left.contains('\\') || right.starts_with(' ') {
                value_text.clone()
            } else {
                format!("{left}\\\n   {right}")
            };
            let settings = parse_properties(format!("{}={whole}\n", escaped(&key)).as_bytes()).unwrap();
            prop_assert_eq!(settings.value(&key), Some(value.as_str()));
        }

        #[test]
        fn any_bytes_are_answered_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_properties(&bytes);
        }
    }
}
