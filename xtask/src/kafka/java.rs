//! Finds Java and Maven, or says which packages bring them, or (asked to, as root on Debian) installs them.
//!
//! Input: `JAVA_HOME` and `PATH`. Output: the program to run. Java must be 17 or newer: Kafka 4's brokers need it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

const OLDEST_JAVA: u32 = 17;
/// The first that apt knows is taken: Debian 12 has 17, Debian 13 has 21 only.
const JAVA_PACKAGES: [&str; 3] = [
    "openjdk-17-jre-headless",
    "openjdk-21-jre-headless",
    "default-jre-headless",
];

/// What to do when Java or Maven is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// Fail with an error that names the Debian packages.
    Name,
    /// Install them with apt-get; needs root on Debian.
    Install,
}

/// The Java to run: `$JAVA_HOME/bin/java` if that is set, else `java` on the `PATH`. Its version is checked.
pub(super) fn java(missing: Missing) -> Result<PathBuf> {
    let found = find_java();
    match (found, missing) {
        (Err(error), Missing::Install) => {
            eprintln!("{error}");
            let package = JAVA_PACKAGES
                .into_iter()
                .find(|name| apt_knows(name))
                .unwrap_or(JAVA_PACKAGES[0]);
            apt_install(package)?;
            find_java()
        }
        (found, _) => found,
    }
}

/// The Maven to run, `mvn` on the `PATH`. Needed only while the jars of a version are not in the cache.
pub(super) fn maven(missing: Missing) -> Result<PathBuf> {
    let mvn = PathBuf::from("mvn");
    if answers(&mvn) {
        return Ok(mvn);
    }
    match missing {
        Missing::Name => bail!(
            "Maven (`mvn`) is not here; it fetches Kafka's jars. Install the Debian package `maven`, or let \
             `cargo xtask kafka up --install` do it (as root)"
        ),
        Missing::Install => {
            apt_install("maven")?;
            ensure!(
                answers(&mvn),
                "the package `maven` is installed, but `mvn` still does not run"
            );
            Ok(mvn)
        }
    }
}

fn answers(program: &Path) -> bool {
    Command::new(program)
        .arg("-version")
        .output()
        .is_ok_and(|output| output.status.success())
}

fn find_java() -> Result<PathBuf> {
    let java = match std::env::var_os("JAVA_HOME") {
        Some(home) if !home.is_empty() => PathBuf::from(home).join("bin/java"),
        _ => PathBuf::from("java"),
    };
    let how = format!(
        "Kafka's brokers need Java {OLDEST_JAVA} or newer. Install the Debian package `{}`, or let \
         `cargo xtask kafka up --install` do it (as root); a Java elsewhere is found through JAVA_HOME",
        JAVA_PACKAGES[0]
    );
    let output = Command::new(&java)
        .arg("-version")
        .output()
        .with_context(|| format!("`{}` does not run. {how}", java.display()))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let major = major_version(&text);
    ensure!(
        major.is_some_and(|major| major >= OLDEST_JAVA),
        "`{}` is {}. {how}",
        java.display(),
        major.map_or_else(
            || "of an unknown version".to_owned(),
            |major| format!("version {major}")
        )
    );
    Ok(java)
}

/// The major version in what `java -version` prints: `openjdk version "17.0.15" …` is 17, `"1.8.0_1"` is 8.
fn major_version(text: &str) -> Option<u32> {
    let quoted = text.split('"').nth(1)?;
    let mut parts = quoted.split(|c: char| !c.is_ascii_digit());
    match parts.next()?.parse().ok()? {
        1 => parts.next()?.parse().ok(),
        major => Some(major),
    }
}

fn apt_knows(package: &str) -> bool {
    let policy = Command::new("apt-cache").args(["policy", package]).output();
    policy.is_ok_and(|output| {
        let text = String::from_utf8_lossy(&output.stdout);
        text.contains("Candidate:") && !text.contains("Candidate: (none)")
    })
}

/// Installs a Debian package; root on Debian only.
pub(crate) fn apt_install(package: &str) -> Result<()> {
    ensure!(
        rustix::process::geteuid().is_root() && Path::new("/usr/bin/apt-get").exists(),
        "--install works as root on Debian only; install the package `{package}` by hand"
    );
    eprintln!("installing the Debian package {package} …");
    for arguments in [
        &["update"][..],
        &["install", "-y", "--no-install-recommends", package],
    ] {
        // Progress goes to stderr: the last line of our stdout belongs to the bootstrap list.
        let status = Command::new("apt-get")
            .arg("-q")
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdout(std::io::stderr())
            .status()
            .context("`apt-get` cannot be started")?;
        ensure!(
            status.success(),
            "`apt-get {}` failed ({status})",
            arguments.join(" ")
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_major_version() {
        assert_eq!(
            major_version("openjdk version \"17.0.15\" 2025-04-15\nmore"),
            Some(17)
        );
        assert_eq!(major_version("openjdk version \"25\" 2025-09-16"), Some(25));
        assert_eq!(major_version("java version \"1.8.0_301\""), Some(8));
        assert_eq!(major_version("openjdk version \"21-ea\""), Some(21));
        assert_eq!(major_version("no version here"), None);
    }
}
