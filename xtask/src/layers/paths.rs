//! Which modules of its own crate a file names: `use` trees and paths in code that start with `crate`, `super`, `self` or a
//! child module. Pure.

use crate::source::{Token, blank_test_code, closing_brace, line_of, mask, tokenize};

/// A path into the file's own crate, from the crate's root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedPath {
    /// The 1-based line.
    pub(super) line: usize,
    /// `["machine", "metadata", "ClusterMetadata"]`
    pub(super) segments: Vec<String>,
}

/// The module path of a file below `src`: `machine/mod.rs` is `["machine"]`, `lib.rs` is `[]`.
pub(super) fn module_path(path_in_src: &str) -> Vec<String> {
    let stem = path_in_src.strip_suffix(".rs").unwrap_or(path_in_src);
    let mut parts: Vec<String> = stem.split('/').map(str::to_owned).collect();
    if parts
        .last()
        .is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main"))
    {
        parts.pop();
    }
    parts
}

/// All paths that the production code of a file names.
pub(super) fn named_paths(module: &[String], text: &str) -> Vec<NamedPath> {
    let (production, _) = blank_test_code(&mask(text));
    let tokens = tokenize(&production);
    let mut reader = Reader {
        text: &production,
        tokens: &tokens,
        children: children(&tokens),
        found: Vec::new(),
    };
    reader.read(module);
    reader.found
}

/// The names in `mod name;` and `mod name {`.
fn children<'a>(tokens: &[Token<'a>]) -> Vec<&'a str> {
    let is_end = |token: &&Token<'_>| matches!(token.text, ";" | "{");
    let pairs = tokens
        .iter()
        .zip(tokens.iter().skip(1))
        .zip(tokens.iter().skip(2));
    pairs
        .filter(|((keyword, _), end)| keyword.text == "mod" && is_end(end))
        .map(|((_, name), _)| name.text)
        .collect()
}

struct Reader<'a> {
    text: &'a str,
    tokens: &'a [Token<'a>],
    children: Vec<&'a str>,
    found: Vec<NamedPath>,
}

impl Reader<'_> {
    fn read(&mut self, module: &[String]) {
        // Inline modules that are open, with the index of their closing brace.
        let mut inline: Vec<(String, usize)> = Vec::new();
        let mut index = 0;
        while index < self.tokens.len() {
            inline.retain(|(_, end)| index <= *end);
            if self.is(index, "mod") && self.is(index + 2, "{") {
                inline.push((
                    self.text_at(index + 1).to_owned(),
                    closing_brace(self.tokens, index + 2),
                ));
                index += 3;
                continue;
            }
            let mut here = module.to_vec();
            here.extend(inline.iter().map(|(name, _)| name.clone()));
            index = match self.start(index, &here) {
                Some((prefix, next)) => self.tree(prefix, next),
                None => index + 1,
            };
        }
    }

    /// If a path into the crate starts at `index`: the module it starts from, and the index of its first further segment.
    fn start(&self, index: usize, here: &[String]) -> Option<(Vec<String>, usize)> {
        let before = index.checked_sub(1).map_or("", |before| self.text_at(before));
        // `a::crate` is none, and `pub(in crate::a)` says who may look, not what is looked at.
        if before == "::" || before == "in" || before == "." || !self.is(index + 1, "::") {
            return None;
        }
        match self.text_at(index) {
            "crate" => Some((Vec::new(), index + 2)),
            "self" => Some((here.to_vec(), index + 2)),
            "super" => {
                let mut prefix = here.to_vec();
                prefix.pop();
                let mut next = index + 2;
                while self.is(next, "super") && self.is(next + 1, "::") {
                    prefix.pop();
                    next += 2;
                }
                Some((prefix, next))
            }
            child if self.children.contains(&child) => {
                let mut prefix = here.to_vec();
                prefix.push(child.to_owned());
                Some((prefix, index + 2))
            }
            _ => None,
        }
    }

    /// Reads the tree that follows `prefix ::` at `index`; returns the index after it.
    fn tree(&mut self, prefix: Vec<String>, index: usize) -> usize {
        let mut path = prefix;
        let mut index = index;
        let line = self
            .tokens
            .get(index)
            .map_or(0, |token| line_of(self.text, token.at));
        loop {
            match self.text_at(index) {
                "{" => return self.group(&path, index),
                word if is_name(word) => path.push(word.to_owned()),
                "*" => {
                    index += 1;
                    break;
                }
                _ => break,
            }
            index += 1;
            if !self.is(index, "::") {
                break;
            }
            index += 1;
        }
        self.found.push(NamedPath { line, segments: path });
        index
    }

    fn group(&mut self, prefix: &[String], open: usize) -> usize {
        let close = closing_brace(self.tokens, open);
        let mut index = open + 1;
        while index < close {
            let word = self.text_at(index);
            index = match word {
                "self" => {
                    let line = self
                        .tokens
                        .get(index)
                        .map_or(0, |token| line_of(self.text, token.at));
                    self.found.push(NamedPath {
                        line,
                        segments: prefix.to_vec(),
                    });
                    index + 1
                }
                // `x as y`: the new name is no path.
                "as" => index + 2,
                _ if is_name(word) || word == "*" => self.tree(prefix.to_vec(), index),
                _ => index + 1,
            };
        }
        close + 1
    }

    fn is(&self, index: usize, text: &str) -> bool {
        self.text_at(index) == text
    }

    fn text_at(&self, index: usize) -> &str {
        self.tokens.get(index).map_or("", |token| token.text)
    }
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let paths = named_paths(&module_path(path), text);
        paths
            .into_iter()
            .map(|path| format!("{}:{}", path.line, path.segments.join("/")))
            .collect()
    }

    #[test]
    fn use_trees_are_spread_out() {
        let text = "use std::io;\nuse crate::{error::Error, machine::{self, metadata::*}};\npub(crate) use crate::ids::A as B;";
        assert_eq!(
            found("x.rs", text),
            ["2:error/Error", "2:machine", "2:machine/metadata", "3:ids/A"]
        );
    }

    #[test]
    fn paths_in_code_count_and_comments_do_not() {
        let text =
            "//! [`crate::a::A`]\nfn f() { crate::b::g::<u8>(\"crate::c\"); }\npub(in crate::d) fn h() {}";
        assert_eq!(found("x.rs", text), ["2:b/g"]);
    }

    #[test]
    fn super_and_self_are_resolved() {
        assert_eq!(
            found("a/b.rs", "use super::c::D;\nuse super::super::e::F;"),
            ["1:a/c/D", "2:e/F"]
        );
        assert_eq!(
            found("a/mod.rs", "use super::e::F;\nuse self::g::H;"),
            ["1:e/F", "2:a/g/H"]
        );
        assert_eq!(
            found(
                "a/b.rs",
                "mod inner { use super::super::c::D; }\nuse super::e::F;"
            ),
            ["1:a/c/D", "2:a/e/F"]
        );
    }

    #[test]
    fn a_child_module_is_a_path_too() {
        assert_eq!(found("a/mod.rs", "mod b;\npub use b::C;"), ["2:a/b/C"]);
    }

    #[test]
    fn test_code_is_left_out() {
        assert!(found("a.rs", "#[cfg(test)]\nmod tests { use crate::z::Z; }").is_empty());
    }
}
