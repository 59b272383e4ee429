//! What brokers answered, kept in files: `SEALWAX_RECORD=dir` writes them, `SEALWAX_REPLAY=dir` takes them for the brokers. For working on the
//! model without a broker.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Between the lines of two steps: a line may have line ends of its own.
const SEPARATOR: &str = "\n--\n";

/// A directory of answers, one file per script.
#[derive(Debug, Clone)]
pub(crate) struct Recording(PathBuf);

impl Recording {
    /// The directory that a variable names, if it is set.
    pub(crate) fn from_env(variable: &str) -> Option<Self> {
        std::env::var_os(variable).map(|dir| Self(dir.into()))
    }

    pub(crate) fn load(&self, kind: &str, script: &str) -> Result<Vec<String>> {
        let path = self.path(kind, script);
        let text = fs::read_to_string(&path).with_context(|| format!("{}", path.display()))?;
        Ok(text.split(SEPARATOR).map(str::to_owned).collect())
    }

    pub(crate) fn store(&self, kind: &str, script: &str, lines: &[String]) -> Result<()> {
        let path = self.path(kind, script);
        fs::create_dir_all(path.parent().unwrap_or_else(|| Path::new(".")))?;
        Ok(fs::write(path, lines.join(SEPARATOR))?)
    }

    fn path(&self, kind: &str, script: &str) -> PathBuf {
        self.0.join(kind).join(format!("{script}.txt"))
    }
}
