//! The jars of a Kafka version, resolved by Maven once into the user's cache.
//!
//! Input: a [`Version`]. Output: a directory of jars. Two processes may ask at once: a file lock makes one of them wait, and
//! the directory appears under its final name only when it is whole (resolved aside, then renamed).

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use rustix::fs::FlockOperation;

use super::java::{self, Missing};
use super::versions::Version;
use crate::workspace;

/// Pinned, so that the same commit resolves the same way everywhere.
const COPY_DEPENDENCIES: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies";

/// The directory that holds the jars of `version`; Maven fetches them if they are not there yet.
pub(super) fn resolve(version: Version, missing: Missing) -> Result<PathBuf> {
    let cache = workspace::cache_dir()?.join("kafka");
    let artifacts = version.artifacts();
    let jars = cache.join(format!("{version}-{:08x}", fingerprint(&artifacts)));
    if jars.is_dir() {
        return Ok(jars);
    }
    let mvn = java::maven(missing)?;
    fs::create_dir_all(&cache).with_context(|| format!("{} cannot be created", cache.display()))?;
    let lock_path = cache.join(format!("{version}.lock"));
    let lock =
        File::create(&lock_path).with_context(|| format!("{} cannot be created", lock_path.display()))?;
    rustix::fs::flock(&lock, FlockOperation::LockExclusive).context("the lock on the jar cache failed")?;
    if !jars.is_dir() {
        fetch(&mvn, &artifacts, version, &cache, &jars)?;
    }
    Ok(jars)
}

fn fetch(mvn: &Path, artifacts: &[String], version: Version, cache: &Path, jars: &Path) -> Result<()> {
    eprintln!("resolving the jars of Kafka {version} with Maven (once) …");
    let aside = cache.join(format!(".{version}-{}", std::process::id()));
    // A dead process with our pid may have left one behind.
    let _ = fs::remove_dir_all(&aside);
    fs::create_dir_all(&aside).with_context(|| format!("{} cannot be created", aside.display()))?;
    fs::write(aside.join("pom.xml"), pom(artifacts)).context("pom.xml cannot be written")?;
    let output = Command::new(mvn)
        .args(["-q", "-B", COPY_DEPENDENCIES, "-DincludeScope=runtime"])
        .arg(format!("-DoutputDirectory={}", aside.join("jars").display()))
        .current_dir(&aside)
        .output()
        .context("`mvn` cannot be started")?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.success(),
        "Maven could not fetch Kafka {version} ({}). Is Maven Central reachable (or the mirror in ~/.m2/settings.xml)? \
         It said:\n{}",
        output.status,
        text.trim()
    );
    fs::rename(aside.join("jars"), jars)
        .with_context(|| format!("{} cannot be put in place", jars.display()))?;
    fs::remove_dir_all(&aside).with_context(|| format!("{} cannot be removed", aside.display()))
}

fn pom(artifacts: &[String]) -> String {
    let mut dependencies = String::new();
    for artifact in artifacts {
        let mut parts = artifact.split(':');
        let mut next = || parts.next().unwrap_or_default();
        dependencies.push_str(&format!(
            "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>\n",
            next(),
            next(),
            next()
        ));
    }
    format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\">\n<modelVersion>4.0.0</modelVersion>\n\
         <groupId>sealwax</groupId><artifactId>kafka-jars</artifactId><version>1</version><packaging>pom</packaging>\n\
         <dependencies>\n{dependencies}</dependencies>\n</project>\n"
    )
}

/// FNV-1a over the artifact list: a changed list gets a directory of its own, never a stale one.
fn fingerprint(artifacts: &[String]) -> u32 {
    let bytes = artifacts
        .iter()
        .flat_map(|artifact| artifact.bytes().chain([b'\n']));
    bytes.fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pom_names_every_artifact() {
        let text = pom(&Version::V4_4_0.artifacts());
        assert!(
            text.contains("<artifactId>kafka_2.13</artifactId><version>4.4.0</version>"),
            "{text}"
        );
        assert_eq!(
            text.matches("<dependency>").count(),
            Version::V4_4_0.artifacts().len()
        );
    }

    #[test]
    fn another_list_is_another_directory() {
        assert_ne!(
            fingerprint(&Version::V4_4_0.artifacts()),
            fingerprint(&Version::V4_3_1.artifacts())
        );
    }
}
