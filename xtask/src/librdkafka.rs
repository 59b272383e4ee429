//! librdkafka, through its Python binding in a virtual environment of the user's cache: a client that is not ours, to compare with.
//!
//! In: nothing but the cache directory. Out: the Python to run, whose `confluent_kafka` module brings librdkafka with it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use rustix::fs::FlockOperation;

use crate::kafka::{Missing, apt_install};
use crate::workspace;

/// The binding's version, which is librdkafka's too. Pinned, so that figures of two days can be compared.
pub const VERSION: &str = "2.16.1";

/// Has the binding fetched, so that tests need not; Python itself with it, if that is wished.
///
/// # Errors
/// As [`python`], or if the Debian packages cannot be installed.
pub fn prepare(missing: Missing) -> Result<()> {
    let can_fetch = Command::new("python3")
        .args(["-c", "import ensurepip, venv"])
        .output()
        .is_ok_and(|output| output.status.success());
    match missing {
        Missing::Install if !can_fetch => apt_install("python3-venv")?,
        Missing::Install | Missing::Name => {}
    }
    python().map(drop)
}

/// The Python of an environment that has the binding; pip fetches it if it is not there yet.
///
/// # Errors
/// If `python3` with `venv` is missing, or pip cannot fetch the binding.
pub fn python() -> Result<PathBuf> {
    let cache = workspace::cache_dir()?;
    let home = cache.join(format!("librdkafka-{VERSION}"));
    let python = home.join("bin/python3");
    let done = home.join("complete");
    if done.is_file() {
        return Ok(python);
    }
    fs::create_dir_all(&cache).with_context(|| format!("{} cannot be created", cache.display()))?;
    let lock = File::create(cache.join("librdkafka.lock")).context("the lock file cannot be created")?;
    rustix::fs::flock(&lock, FlockOperation::LockExclusive).context("the lock on the cache failed")?;
    if !done.is_file() {
        eprintln!("fetching librdkafka {VERSION} with pip (once) …");
        let home_text = home.to_string_lossy();
        call(Path::new("python3"), &["-m", "venv", "--clear", &home_text])?;
        let package = format!("confluent-kafka=={VERSION}");
        call(&python, &["-m", "pip", "install", "--quiet", &package])?;
        File::create(&done).with_context(|| format!("{} cannot be created", done.display()))?;
    }
    Ok(python)
}

fn call(program: &Path, arguments: &[&str]) -> Result<()> {
    let output = Command::new(program).args(arguments).output().with_context(|| {
        format!(
            "`{}` does not run: python3 with its venv module is needed (the Debian package python3-venv)",
            program.display()
        )
    })?;
    ensure!(
        output.status.success(),
        "`{} {}` failed ({}):\n{}{}",
        program.display(),
        arguments.join(" "),
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}
