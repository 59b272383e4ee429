//! Between packages: which of ours depends on which, and on no foreign one that its layer rules out. Pure over cargo's metadata.

use anyhow::{Context, Result};
use serde_json::Value;

use super::Violation;
use super::table::PackageRule;

/// A package of the workspace with the names of all its direct dependencies (of code, tests and builds).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) dependencies: Vec<String>,
}

/// Reads the output of `cargo metadata --no-deps --format-version 1`.
pub(super) fn parse(metadata: &str) -> Result<Vec<Package>> {
    let value: Value = serde_json::from_str(metadata).context("cargo's metadata cannot be read")?;
    let names = |of: &Value| of.get("name").and_then(Value::as_str).map(str::to_owned);
    let packages = value
        .get("packages")
        .and_then(Value::as_array)
        .context("cargo's metadata has no packages")?;
    let parsed = packages.iter().map(|package| {
        let dependencies = package.get("dependencies").and_then(Value::as_array);
        let dependencies = dependencies.into_iter().flatten().filter_map(names).collect();
        Some(Package {
            name: names(package)?,
            dependencies,
        })
    });
    parsed
        .collect::<Option<Vec<_>>>()
        .context("a package in cargo's metadata has no name")
}

/// Checks all packages against the table.
pub(super) fn check(packages: &[Package], rules: &[PackageRule]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for package in packages {
        let Some(rule) = rules.iter().find(|rule| rule.name == package.name) else {
            let text = format!("package `{}` is not in the table", package.name);
            violations.push(Violation::new("xtask/src/layers/table.rs", 1, text));
            continue;
        };
        let manifest = format!("{}/Cargo.toml", rule.dir);
        for dependency in &package.dependencies {
            let ours = rules.iter().any(|rule| rule.name == dependency);
            if ours && !rule.may_use.contains(&dependency.as_str()) {
                let text = format!("`{}` must not depend on `{dependency}`", package.name);
                violations.push(Violation::new(&manifest, 1, text));
            }
            if rule.never.iter().any(|pattern| fits(pattern, dependency)) {
                let text = format!(
                    "`{}` must not depend on `{dependency}`: its layer rules that out",
                    package.name
                );
                violations.push(Violation::new(&manifest, 1, text));
            }
        }
    }
    violations
}

fn fits(pattern: &str, name: &str) -> bool {
    pattern
        .strip_suffix('*')
        .map_or(pattern == name, |prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::super::table::Rooms;
    use super::*;

    const RULES: &[PackageRule] = &[
        PackageRule {
            name: "low",
            dir: "low",
            may_use: &[],
            never: &["tokio*"],
            rooms: Rooms::Free,
        },
        PackageRule {
            name: "high",
            dir: "high",
            may_use: &["low"],
            never: &[],
            rooms: Rooms::Free,
        },
    ];

    fn package(name: &str, dependencies: &[&str]) -> Package {
        let dependencies = dependencies.iter().map(|name| (*name).to_owned()).collect();
        Package {
            name: name.to_owned(),
            dependencies,
        }
    }

    #[test]
    fn reads_cargo_metadata() {
        let text = r#"{"packages":[{"name":"low","dependencies":[{"name":"bytes"},{"name":"tokio"}]}]}"#;
        assert_eq!(parse(text).unwrap(), [package("low", &["bytes", "tokio"])]);
        assert!(parse("{}").is_err());
    }

    #[test]
    fn planted_dependencies_are_found() {
        assert!(
            check(
                &[package("low", &["bytes"]), package("high", &["low", "tokio"])],
                RULES
            )
            .is_empty()
        );
        let found = check(
            &[package("low", &["high", "tokio-util"]), package("new", &[])],
            RULES,
        );
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(
            found[0].contains("low/Cargo.toml") && found[0].contains("`high`"),
            "{found:?}"
        );
    }
}
