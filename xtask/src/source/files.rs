//! Which Rust files there are, by package.
//!
//! Input: the repository's root. Output: every `.rs` file below a directory that holds a `Cargo.toml`, with its text.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A Rust file of the repository.
#[derive(Debug, Clone)]
pub(crate) struct SourceFile {
    /// The package's directory, relative to the root: `client`.
    pub(crate) package: String,
    /// The path inside the package, `/`-separated: `src/machine/mod.rs`.
    pub(crate) path: String,
    /// Its text.
    pub(crate) text: String,
}

impl SourceFile {
    /// The path from the root, for messages.
    pub(crate) fn shown(&self) -> String {
        format!("{}/{}", self.package, self.path)
    }

    /// Whether all of it is test code: a test or bench target, a `tests` module, a test double.
    pub(crate) fn is_test(&self) -> bool {
        let Some(inside) = self.path.strip_prefix("src/") else {
            return !self.path.starts_with("fuzz_targets/");
        };
        inside.split('/').any(|part| {
            matches!(
                part,
                "tests" | "tests.rs" | "testing" | "testing.rs" | "simulation"
            )
        })
    }
}

/// All Rust files, sorted by path.
pub(crate) fn rust_files(root: &Path) -> Result<Vec<SourceFile>> {
    let mut files = Vec::new();
    for package in packages(root)? {
        let mut paths = Vec::new();
        collect(&root.join(&package), &mut paths)?;
        for path in paths {
            let text =
                fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
            let inside = path
                .strip_prefix(root.join(&package))
                .context("a file lies outside its package")?;
            files.push(SourceFile {
                package: package.clone(),
                path: inside.to_string_lossy().into_owned(),
                text,
            });
        }
    }
    files.sort_by_key(SourceFile::shown);
    Ok(files)
}

fn packages(root: &Path) -> Result<Vec<String>> {
    let mut packages = Vec::new();
    for entry in fs::read_dir(root).with_context(|| format!("{} cannot be read", root.display()))? {
        let path = entry?.path();
        if path.join("Cargo.toml").is_file() {
            packages.extend(path.file_name().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    Ok(packages)
}

fn collect(dir: &Path, into: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(dir).with_context(|| format!("{} cannot be read", dir.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                collect(&path, into)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> SourceFile {
        SourceFile {
            package: "client".to_owned(),
            path: path.to_owned(),
            text: String::new(),
        }
    }

    #[test]
    fn tells_test_files() {
        for path in [
            "tests/a.rs",
            "src/a/tests.rs",
            "src/machine/testing/clock.rs",
            "src/simulation/time.rs",
            "benches/b.rs",
        ] {
            assert!(file(path).is_test(), "{path}");
        }
        for path in ["src/a.rs", "src/attests.rs", "fuzz_targets/frame.rs"] {
            assert!(!file(path).is_test(), "{path}");
        }
    }
}
