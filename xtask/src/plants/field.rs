//! Where plants are put into the ground: a copy of the repository's commit, so that nothing of the developer's own files is
//! touched, with a target directory that all plants share.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::workspace;

/// The copy. Dropped, it is removed.
#[derive(Debug)]
pub(super) struct Field {
    root: PathBuf,
    copy: PathBuf,
    target: PathBuf,
}

impl Field {
    /// Makes the copy from the commit that is checked out.
    ///
    /// # Errors
    /// If git cannot make it.
    pub(super) fn new(root: &Path) -> Result<Self> {
        let base = workspace::target_dir()?.join("plants");
        let field = Self {
            root: root.to_path_buf(),
            copy: base.join("source"),
            target: base.join("target"),
        };
        field.remove();
        std::fs::create_dir_all(&base).with_context(|| format!("{} cannot be made", base.display()))?;
        let copy = field.copy.to_string_lossy().into_owned();
        git(root, &["worktree", "add", "--quiet", "--detach", &copy, "HEAD"])?;
        Ok(field)
    }

    /// Puts a patch into the clean copy.
    ///
    /// # Errors
    /// If it does not apply: the code has moved on, and the patch must be made anew.
    pub(super) fn plant(&self, patch: &Path) -> Result<()> {
        self.clear()?;
        let patch_name = patch.to_string_lossy().into_owned();
        git(&self.copy, &["apply", "--whitespace=nowarn", &patch_name])
            .with_context(|| format!("{} does not fit the code any more: make it anew", patch.display()))
    }

    /// Takes out what was planted.
    ///
    /// # Errors
    /// If git cannot restore the copy.
    pub(super) fn clear(&self) -> Result<()> {
        git(&self.copy, &["checkout", "--quiet", "--force", "."])?;
        git(&self.copy, &["clean", "--quiet", "-d", "--force"])
    }

    /// A cargo that works in the copy.
    pub(super) fn cargo(&self) -> Command {
        let mut command = Command::new(workspace::cargo());
        command
            .current_dir(&self.copy)
            .env("CARGO_TARGET_DIR", &self.target)
            .stdin(Stdio::null());
        command
    }

    /// Where the output of a check goes.
    pub(super) fn log(&self) -> PathBuf {
        self.target.join("check.log")
    }

    fn remove(&self) {
        let copy = self.copy.to_string_lossy().into_owned();
        // There may be none, or only a part of one that was interrupted.
        let _ = Command::new("git")
            .current_dir(&self.root)
            .args(["worktree", "remove", "--force", &copy])
            .stderr(Stdio::null())
            .status();
        let _ = std::fs::remove_dir_all(&self.copy);
        let _ = Command::new("git")
            .current_dir(&self.root)
            .args(["worktree", "prune"])
            .status();
    }
}

impl Drop for Field {
    fn drop(&mut self) {
        self.remove();
    }
}

fn git(dir: &Path, arguments: &[&str]) -> Result<()> {
    let output = Command::new("git")
        .current_dir(dir)
        .args(arguments)
        .output()
        .context("git cannot be started")?;
    ensure!(
        output.status.success(),
        "git {}: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(())
}
