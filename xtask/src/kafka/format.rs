//! Formats a node's storage for KRaft with Kafka's own StorageTool, and makes cluster ids.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::jvm::Jvm;
use super::versions::Tool;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A new cluster id: 16 random bytes in URL-safe base64 without padding, 22 characters.
pub(super) fn cluster_id() -> String {
    // The first is a letter (a leading dash would be taken for an option); the last carries only two bits of the sixteen bytes.
    let pick = |count: usize, step: usize| char::from(ALPHABET[fastrand::usize(..count) * step]);
    let mut id = String::from(pick(52, 1));
    id.extend((0..20).map(|_| pick(64, 1)));
    id.push(pick(4, 16));
    id
}

/// Formats the `log.dirs` of the properties file. `features` are `name=level` pairs, set instead of the version's defaults.
pub(super) fn format(jvm: &Jvm, cluster_id: &str, properties: &Path, features: &[String]) -> Result<()> {
    let mut command = jvm.tool(jvm.version().main_class(Tool::Storage))?;
    command.args(["format", "-t", cluster_id, "-c"]).arg(properties);
    for feature in features {
        command.args(["--feature", feature]);
    }
    let output = command.output().context("Java cannot be started")?;
    ensure!(
        output.status.success(),
        "Kafka's StorageTool could not format {} ({}):\n{}{}",
        properties.display(),
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cluster_ids_are_base64_of_sixteen_bytes() {
        for _ in 0..100 {
            let id = cluster_id();
            assert_eq!(id.len(), 22);
            assert!(id.starts_with(|c: char| c.is_ascii_alphabetic()), "{id}");
            assert!(id.ends_with(['A', 'Q', 'g', 'w']), "{id}");
        }
    }
}
