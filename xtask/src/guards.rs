//! `cargo xtask guards`: promises about the dependency tree and the manifests, asked of cargo itself.
//!
//! The client without default features has no tokio; the client as it is has no C (no `*-sys`, no `cc`); every package takes the
//! workspace's lints, which forbid unsafe code; no locked package needs a newer Rust than the manifest promises.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::metadata;

/// A promise about what `cargo tree` shows.
struct TreeGuard {
    promise: &'static str,
    arguments: &'static [&'static str],
    forbidden: fn(&str) -> bool,
}

const TREES: &[TreeGuard] = &[
    TreeGuard {
        promise: "the client's machines are built without tokio",
        arguments: &["-p", "sealwax", "--no-default-features", "-e", "normal"],
        forbidden: |name| name.starts_with("tokio") || name == "mio",
    },
    TreeGuard {
        promise: "the client is built without C",
        arguments: &["-p", "sealwax", "-e", "normal,build"],
        forbidden: brings_c,
    },
    TreeGuard {
        promise: "the binary is built without C",
        arguments: &["-p", "sealwax-connect", "-e", "normal,build"],
        forbidden: brings_c,
    },
];

/// Prints every broken promise; says whether there was none.
///
/// # Errors
/// If cargo cannot be asked or a manifest cannot be read.
pub fn check(root: &Path) -> Result<bool> {
    let mut good = true;
    for guard in TREES {
        let broken: Vec<String> = tree(root, guard.arguments)?
            .into_iter()
            .filter(|name| (guard.forbidden)(name))
            .collect();
        report(guard.promise, &broken, &mut good);
    }
    report(
        "every package takes the workspace's lints",
        &without_lints(root)?,
        &mut good,
    );
    report(
        "no locked package needs a newer Rust than Cargo.toml's rust-version",
        &above_rust_version(&serde_json::from_str(&metadata::read(root, &[])?)?),
        &mut good,
    );
    Ok(good)
}

fn report(promise: &str, broken: &[String], good: &mut bool) {
    if broken.is_empty() {
        println!("kept:   {promise}");
    } else {
        println!("BROKEN: {promise}: {}", broken.join(", "));
        *good = false;
    }
}

/// The packages whose `rust-version` is above the one that the client promises.
fn above_rust_version(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"]
        .as_array()
        .map_or(&[] as &[Value], Vec::as_slice);
    let promised = packages
        .iter()
        .find(|package| package["name"] == "sealwax")
        .and_then(rust_version)
        .unwrap_or_default();
    packages
        .iter()
        .filter(|package| rust_version(package).is_some_and(|needed| needed > promised))
        .map(|package| {
            format!(
                "{} {} needs {}",
                package["name"], package["version"], package["rust_version"]
            )
        })
        .collect()
}

/// `"1.88"` or `"1.88.0"` as numbers that compare.
fn rust_version(package: &Value) -> Option<Vec<u32>> {
    let mut numbers: Vec<u32> = package["rust_version"]
        .as_str()?
        .split('.')
        .map(str::parse)
        .collect::<Result<_, _>>()
        .ok()?;
    numbers.resize(3, 0);
    Some(numbers)
}

/// The names of all packages in a dependency tree.
fn tree(root: &Path, arguments: &[&str]) -> Result<Vec<String>> {
    let output = Command::new(crate::workspace::cargo())
        .args(["tree", "--prefix", "none", "--no-dedupe"])
        .args(arguments)
        .current_dir(root)
        .output()
        .context("cargo cannot be started")?;
    ensure!(
        output.status.success(),
        "cargo tree failed:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let names = package_names(&String::from_utf8_lossy(&output.stdout));
    // An empty tree would keep every promise.
    ensure!(
        !names.is_empty(),
        "cargo tree {} shows nothing",
        arguments.join(" ")
    );
    Ok(names)
}

fn package_names(tree: &str) -> Vec<String> {
    let mut names: Vec<String> = tree
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Packages that compile or link C. `linux-raw-sys` is Rust through and through: kernel types and numbers, without a library.
fn brings_c(name: &str) -> bool {
    (name.ends_with("-sys") && name != "linux-raw-sys")
        || matches!(name, "cc" | "cmake" | "bindgen" | "pkg-config")
}

fn without_lints(root: &Path) -> Result<Vec<String>> {
    let mut missing = Vec::new();
    for entry in fs::read_dir(root).with_context(|| format!("{} cannot be read", root.display()))? {
        let manifest = entry?.path().join("Cargo.toml");
        let Ok(text) = fs::read_to_string(&manifest) else {
            continue;
        };
        if is_member(&text) && !takes_workspace_lints(&text) {
            missing.push(manifest.display().to_string());
        }
    }
    Ok(missing)
}

/// A member takes its version from the workspace; the fuzz package, which is none, has its own.
fn is_member(manifest: &str) -> bool {
    manifest
        .lines()
        .any(|line| line.trim() == "version.workspace = true")
}

fn takes_workspace_lints(manifest: &str) -> bool {
    let lines: Vec<&str> = manifest
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    lines
        .windows(2)
        .any(|pair| pair == ["[lints]", "workspace = true"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_that_needs_a_newer_rust_is_named() {
        let package = |name: &str, version: Option<&str>| serde_json::json!({"name": name, "version": "1.0.0", "rust_version": version});
        let metadata = serde_json::json!({"packages": [
            package("sealwax", Some("1.88")), package("same", Some("1.88.0")), package("newer", Some("1.89")),
            package("silent", None), package("older", Some("1.9")),
        ]});
        let found = above_rust_version(&metadata);
        assert!(found.len() == 1 && found[0].contains("newer"), "{found:?}");
    }

    #[test]
    fn reads_a_tree() {
        let names = package_names("sealwax v0.1.0 (/x)\nbytes v1.12.0\ntokio v1.54.0\nbytes v1.12.0\n");
        assert_eq!(names, ["bytes", "sealwax", "tokio"]);
    }

    #[test]
    fn tells_what_brings_c() {
        assert!(brings_c("zstd-sys") && brings_c("cc"));
        assert!(!brings_c("linux-raw-sys") && !brings_c("libc") && !brings_c("sysinfo"));
    }

    #[test]
    fn finds_a_member_without_lints() {
        assert!(takes_workspace_lints(
            "[package]\nversion.workspace = true\n\n[lints]\nworkspace = true\n"
        ));
        assert!(!takes_workspace_lints("[package]\nversion.workspace = true\n"));
        assert!(!is_member("[package]\nversion = \"0.0.0\"\n"));
    }
}
