//! Counts the production lines of a file and the lines of each of its functions. Pure.

use crate::source::{Token, blank_test_code, closing_brace, line_of, mask, tokenize};

/// A function and how many lines it takes, signature included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) lines: usize,
}

/// What one file measures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Measure {
    pub(super) lines: usize,
    pub(super) functions: Vec<Function>,
}

/// Measures the production code of `text`: all lines but those of test-only items.
pub(super) fn measure(text: &str) -> Measure {
    let (production, test_lines) = blank_test_code(&mask(text));
    let tokens = tokenize(&production);
    let functions = (0..tokens.len())
        .filter_map(|index| function_at(&production, &tokens, index))
        .collect();
    Measure {
        lines: text.lines().count().saturating_sub(test_lines),
        functions,
    }
}

/// The function whose `fn` stands at `index`, if it has a body.
fn function_at(text: &str, tokens: &[Token<'_>], index: usize) -> Option<Function> {
    let keyword = tokens.get(index).filter(|token| token.text == "fn")?;
    // `fn(` is a pointer type.
    let name = tokens.get(index + 1).filter(|name| name.text != "(")?;
    let ends = |token: &Token<'_>| matches!(token.text, "{" | ";");
    let body = index + tokens.iter().skip(index).position(ends)?;
    if tokens.get(body)?.text == ";" {
        return None;
    }
    let line = line_of(text, keyword.at);
    let last = line_of(text, tokens.get(closing_brace(tokens, body))?.at);
    Some(Function {
        name: name.text.to_owned(),
        line,
        lines: last - line + 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_production_lines_and_functions() {
        let text = "//! Doc.\nfn a(f: fn(u8)) {\n  \"}\";\n}\n\ntrait T { fn b(&self); }\n#[cfg(test)]\nmod tests {\n fn c() {}\n}\n";
        let measure = measure(text);
        assert_eq!(measure.lines, 6);
        assert_eq!(
            measure.functions,
            [Function {
                name: "a".to_owned(),
                line: 2,
                lines: 3
            }]
        );
    }

    #[test]
    fn an_array_type_in_a_signature_is_no_end() {
        let measure = measure("fn a() -> u8 {\n\n\n}\nfn b() {}\n");
        assert_eq!(
            measure
                .functions
                .iter()
                .map(|function| function.lines)
                .collect::<Vec<_>>(),
            [4, 1]
        );
    }
}
