//! The rooms inside a package: does every import stay within the table, or at least without a cycle? Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::Violation;
use super::paths::{NamedPath, module_path, named_paths};
use super::table::RoomRule;
use crate::source::SourceFile;

/// Checks the files of one package against its room table.
pub(super) fn check_table(files: &[&SourceFile], rules: &[RoomRule]) -> Vec<Violation> {
    let mut violations = Vec::new();
    let known: BTreeSet<String> = files.iter().filter_map(|file| top_module(file)).collect();
    for (file, module) in production(files) {
        let Some(room) = room_of(rules, &module) else {
            violations.push(Violation::new(
                &file.shown(),
                1,
                format!(
                    "`{}` belongs to no room: give it one in xtask/src/layers/table.rs",
                    module.join("::")
                ),
            ));
            continue;
        };
        for path in named_paths(&module, &file.text) {
            violations.extend(check_path(file, room, &path, rules, &known));
        }
    }
    violations
}

fn check_path(
    file: &SourceFile,
    room: &RoomRule,
    path: &NamedPath,
    rules: &[RoomRule],
    known: &BTreeSet<String>,
) -> Option<Violation> {
    let name = path.segments.join("::");
    match room_of(rules, &path.segments) {
        Some(target) if target.name == room.name || room.may_import.contains(&target.name) => None,
        Some(target) => {
            let may = if room.may_import.is_empty() {
                "nothing".to_owned()
            } else {
                room.may_import.join(", ")
            };
            let rule = format!(
                "room `{}` must not import room `{}` (`{name}`); it may: {may}",
                room.name, target.name
            );
            Some(Violation::new(&file.shown(), path.line, rule))
        }
        None if path.segments.first().is_some_and(|first| known.contains(first)) => Some(Violation::new(
            &file.shown(),
            path.line,
            format!("`{name}` belongs to no room in the table"),
        )),
        None => {
            let rule = format!("`crate::{name}` is imported through lib.rs: name the room that defines it");
            Some(Violation::new(&file.shown(), path.line, rule))
        }
    }
}

/// Checks that the top-level modules of one package import each other without a cycle.
pub(super) fn check_acyclic(files: &[&SourceFile]) -> Vec<Violation> {
    let known: BTreeSet<String> = files.iter().filter_map(|file| top_module(file)).collect();
    let mut edges: BTreeMap<String, BTreeMap<String, (String, usize)>> = BTreeMap::new();
    for (file, module) in production(files) {
        let Some(from) = module.first() else { continue };
        for path in named_paths(&module, &file.text) {
            let Some(to) = path
                .segments
                .first()
                .filter(|to| *to != from && known.contains(*to))
            else {
                continue;
            };
            let targets = edges.entry(from.clone()).or_default();
            targets
                .entry(to.clone())
                .or_insert_with(|| (file.shown(), path.line));
        }
    }
    let graph = edges
        .iter()
        .map(|(from, to)| (from.as_str(), to.keys().map(String::as_str).collect()))
        .collect();
    let Some(cycle) = find_cycle(&graph) else {
        return Vec::new();
    };
    let mut violations = Vec::new();
    for (from, to) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
        if let Some((file, line)) = edges.get(*from).and_then(|targets| targets.get(*to)) {
            let rule = format!(
                "rooms import each other in a cycle: {} → {}",
                cycle.join(" → "),
                cycle[0]
            );
            violations.push(Violation::new(file, *line, rule));
        }
    }
    violations
}

/// Checks that the table itself allows no cycle.
pub(super) fn check_rules(package: &str, rules: &[RoomRule]) -> Vec<Violation> {
    let graph = rules
        .iter()
        .map(|rule| (rule.name, rule.may_import.to_vec()))
        .collect();
    let cycle = find_cycle(&graph);
    let say = |cycle: Vec<&str>| format!("the table of {package} allows a cycle: {}", cycle.join(" → "));
    cycle
        .map(|cycle| Violation::new("xtask/src/layers/table.rs", 1, say(cycle)))
        .into_iter()
        .collect()
}

/// The production files below `src` with their modules; `lib.rs` and `main.rs` are wiring and may name all.
fn production<'a>(files: &[&'a SourceFile]) -> impl Iterator<Item = (&'a SourceFile, Vec<String>)> {
    files
        .iter()
        .copied()
        .filter(|file| !file.is_test())
        .filter_map(|file| {
            let module = module_path(file.path.strip_prefix("src/")?);
            (!module.is_empty() && module.first().is_some_and(|first| first != "bin"))
                .then_some((file, module))
        })
}

fn top_module(file: &SourceFile) -> Option<String> {
    module_path(file.path.strip_prefix("src/")?).into_iter().next()
}

/// The room with the longest path that `segments` start with.
fn room_of<'a>(rules: &'a [RoomRule], segments: &[String]) -> Option<&'a RoomRule> {
    let length = |path: &str| {
        let parts: Vec<&str> = path.split('/').collect();
        let matches = parts.len() <= segments.len()
            && parts.iter().zip(segments).all(|(part, segment)| part == segment);
        if matches { parts.len() } else { 0 }
    };
    let longest = |rule: &RoomRule| rule.paths.iter().map(|path| length(path)).max().unwrap_or(0);
    rules
        .iter()
        .filter(|rule| longest(rule) > 0)
        .max_by_key(|rule| longest(rule))
}

/// Some cycle, as the names on it, or none.
fn find_cycle<'a>(graph: &BTreeMap<&'a str, Vec<&'a str>>) -> Option<Vec<&'a str>> {
    let mut done = BTreeSet::new();
    let mut stack = Vec::new();
    graph
        .keys()
        .find_map(|start| visit(graph, start, &mut stack, &mut done))
}

fn visit<'a>(
    graph: &BTreeMap<&'a str, Vec<&'a str>>,
    node: &'a str,
    stack: &mut Vec<&'a str>,
    done: &mut BTreeSet<&'a str>,
) -> Option<Vec<&'a str>> {
    if let Some(position) = stack.iter().position(|open| *open == node) {
        return Some(stack.split_off(position));
    }
    if done.contains(node) {
        return None;
    }
    stack.push(node);
    let cycle = graph
        .get(node)
        .into_iter()
        .flatten()
        .find_map(|next| visit(graph, next, stack, done));
    if cycle.is_none() {
        stack.pop();
        done.insert(node);
    }
    cycle
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &[RoomRule] = &[
        RoomRule {
            name: "api",
            paths: &["client", "admin"],
            may_import: &["machine", "fetch"],
        },
        RoomRule {
            name: "fetch",
            paths: &["machine/fetch"],
            may_import: &["machine"],
        },
        RoomRule {
            name: "machine",
            paths: &["machine"],
            may_import: &[],
        },
    ];

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile {
            package: "p".to_owned(),
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    fn check(files: &[SourceFile]) -> Vec<String> {
        check_table(&files.iter().collect::<Vec<_>>(), RULES)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn allowed_imports_pass() {
        let files = [
            file("src/lib.rs", "pub use client::Client;"),
            file(
                "src/client.rs",
                "use crate::machine::fetch::F;\nuse crate::admin::A;",
            ),
            file(
                "src/machine/fetch/mod.rs",
                "use super::M;\nuse crate::machine::N;",
            ),
        ];
        assert!(check(&files).is_empty());
    }

    #[test]
    fn a_forbidden_import_is_found_with_its_line() {
        let found = check(&[file(
            "src/machine/mod.rs",
            "\nuse crate::machine::fetch::F;\nuse crate::client::C;",
        )]);
        assert_eq!(found.len(), 2);
        assert!(
            found[0].starts_with("p/src/machine/mod.rs:2: room `machine` must not import room `fetch`"),
            "{found:?}"
        );
        assert!(
            found[1].starts_with("p/src/machine/mod.rs:3: room `machine` must not import room `api`"),
            "{found:?}"
        );
    }

    #[test]
    fn the_detour_through_lib_is_found() {
        let found = check(&[file("src/machine/mod.rs", "use crate::Client;")]);
        assert!(found[0].contains("through lib.rs"), "{found:?}");
    }

    #[test]
    fn a_room_outside_the_table_is_found() {
        let found = check(&[file("src/other.rs", "")]);
        assert!(found[0].contains("belongs to no room"), "{found:?}");
    }

    #[test]
    fn cycles_between_rooms_are_found() {
        let two = |back: &str| [file("src/a.rs", "use crate::b::B;"), file("src/b/mod.rs", back)];
        let check = |files: &[SourceFile]| check_acyclic(&files.iter().collect::<Vec<_>>());
        assert!(check(&two("use crate::b::C;")).is_empty());
        let found: Vec<String> = check(&two("\nuse super::a::A;"))
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[1].starts_with("p/src/b/mod.rs:2: rooms import each other in a cycle: a → b → a"),
            "{found:?}"
        );
    }

    #[test]
    fn a_table_with_a_cycle_is_found() {
        const CYCLE: &[RoomRule] = &[
            RoomRule {
                name: "a",
                paths: &["a"],
                may_import: &["b"],
            },
            RoomRule {
                name: "b",
                paths: &["b"],
                may_import: &["a"],
            },
        ];
        assert_eq!(check_rules("p", CYCLE).len(), 1);
        assert!(check_rules("p", RULES).is_empty());
    }
}
