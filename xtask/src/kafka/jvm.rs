//! How a JVM of ours is started: Java, the jars of a version, memory, logging. Output: a `Command` to which the caller adds
//! arguments and streams.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::jars;
use super::java::{self, Missing};
use super::logging::{self, Voice};
use super::versions::Version;

/// Java and the jars of one Kafka version, ready to run.
#[derive(Debug, Clone)]
pub struct Jvm {
    version: Version,
    java: PathBuf,
    jars: PathBuf,
}

impl Jvm {
    /// Finds Java and resolves the jars of `version`.
    ///
    /// # Errors
    /// If Java or Maven is missing (and not to be installed), or Maven cannot fetch the jars.
    pub fn prepare(version: Version, missing: Missing) -> Result<Self> {
        Ok(Self {
            version,
            java: java::java(missing)?,
            jars: jars::resolve(version, missing)?,
        })
    }

    /// The Kafka version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// A broker's JVM; its logging configuration is written into `dir`.
    pub(super) fn node(&self, dir: &Path, heap_mib: u32) -> Result<Command> {
        let mut command = self.command(dir, Voice::Node, heap_mib)?;
        command.arg("kafka.Kafka");
        Ok(command)
    }

    /// A tool's JVM; its logging configuration is written beside the jars.
    pub(super) fn tool(&self, main_class: &str) -> Result<Command> {
        // C1 only: a tool lives for seconds, so the optimising compiler would cost more than it gives.
        let mut command = self.command(&self.jars, Voice::Tool, 256)?;
        command.args(["-XX:TieredStopAtLevel=1", main_class]);
        Ok(command)
    }

    /// A JVM that compiles and runs a source file of ours against Kafka's jars, with the optimising compiler; needs a JDK. The caller adds the
    /// program's arguments.
    ///
    /// # Errors
    /// If the logging configuration cannot be written.
    pub(crate) fn source(&self, file: &Path) -> Result<Command> {
        let mut command = self.command(&self.jars, Voice::Tool, 256)?;
        command.arg(file);
        Ok(command)
    }

    fn command(&self, config_dir: &Path, voice: Voice, heap_mib: u32) -> Result<Command> {
        let logging = self.version.logging();
        let file = config_dir.join(logging::file_name(logging));
        let text = logging::render(logging, voice);
        // The tools' file is shared between processes: it is replaced whole, and only where it differs.
        if fs::read_to_string(&file).ok().as_deref() != Some(&text) {
            let aside = file.with_extension(format!("{}-{:x}", std::process::id(), fastrand::u64(..)));
            fs::write(&aside, text)
                .and_then(|()| fs::rename(&aside, &file))
                .with_context(|| format!("{} cannot be written", file.display()))?;
        }
        let mut command = Command::new(&self.java);
        command
            .arg(format!("-Xmx{heap_mib}m"))
            .args([
                "-XX:+UseSerialGC",
                "-XX:-UsePerfData",
                "-Djava.awt.headless=true",
                "-Dfile.encoding=UTF-8",
            ])
            .arg(logging::flag(logging, &file))
            .arg("-cp")
            .arg(self.jars.join("*"));
        Ok(command)
    }
}
