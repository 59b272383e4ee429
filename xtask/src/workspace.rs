//! Where things are: the root of the repository, cargo's target directory, the user's cache.
//!
//! Input: the environment and the current directory. Output: paths. Nothing is created here.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The root of the repository: the nearest directory at or above the current one that holds `xtask/Cargo.toml`,
/// else the place this program was compiled from.
pub fn root() -> Result<PathBuf> {
    let here = env::current_dir().context("the current directory cannot be read")?;
    let found = here
        .ancestors()
        .find(|dir| dir.join("xtask/Cargo.toml").is_file())
        .map(Path::to_path_buf);
    found
        .or_else(|| {
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .parent()
                .map(Path::to_path_buf)
        })
        .context("no directory above this one holds xtask/Cargo.toml: run from inside the repository")
}

/// Cargo's target directory: `CARGO_TARGET_DIR` if set (relative to the root), else `target` in the root.
pub fn target_dir() -> Result<PathBuf> {
    let root = root()?;
    Ok(match env::var_os("CARGO_TARGET_DIR") {
        Some(dir) if !dir.is_empty() => root.join(dir),
        _ => root.join("target"),
    })
}

/// Our directory in the user's cache: `$XDG_CACHE_HOME/sealwax`, else `~/.cache/sealwax`.
pub fn cache_dir() -> Result<PathBuf> {
    let absolute = |name: &str| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .map(|cache| cache.join("sealwax"))
        .context("neither XDG_CACHE_HOME nor HOME is set: set one, the Kafka jars are kept below it")
}

/// The cargo to run: the one that runs us, else `cargo` on the `PATH`.
pub fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
