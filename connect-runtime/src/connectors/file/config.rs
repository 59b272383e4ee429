//! The keys of the file source: Java's `file`, `topic`, `batch.size`, two of ours for bad input, and one for its own transactions.

use std::path::PathBuf;
use std::sync::Arc;

use crate::api::{ConfigDef, ConfigError, ConfigKey, ConfigType, Settings, Validator};

pub(super) const FILE: &str = "file";
const TOPIC: &str = "topic";
const BATCH_SIZE: &str = "batch.size";
const MAX_LINE_BYTES: &str = "max.line.bytes";
const INVALID_UTF8: &str = "invalid.utf8";
const TRANSACTION_LINES: &str = "transaction.lines";

/// A line longer than this could be larger than one message may be on a broker with its defaults (1 MiB with all its
/// framing), and has to be held in memory until its end is seen.
const DEFAULT_MAX_LINE_BYTES: &str = "1000000";

/// What to do with a line that is not UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InvalidUtf8 {
    /// The task fails and names the place: nothing is changed silently.
    Fail,
    /// Each broken sequence becomes U+FFFD, as in Java.
    Replace,
}

/// The checked configuration.
#[derive(Debug, Clone)]
pub(super) struct FileConfig {
    pub(super) path: PathBuf,
    /// The file's name as configured: it is part of the source partition.
    pub(super) name: String,
    pub(super) topic: Arc<str>,
    pub(super) batch_size: usize,
    pub(super) max_line_bytes: usize,
    pub(super) invalid_utf8: InvalidUtf8,
    pub(super) transaction_lines: usize,
}

pub(super) fn definition() -> ConfigDef {
    ConfigDef::new()
        .key(ConfigKey::required(FILE, ConfigType::String, "The file to read.").allowing(Validator::NonEmpty))
        .key(
            ConfigKey::required(TOPIC, ConfigType::String, "The topic that the lines go to.")
                .allowing(Validator::NonEmpty),
        )
        .key(
            ConfigKey::optional(BATCH_SIZE, ConfigType::Int, "The most lines that one poll returns.")
                .default("2000")
                .allowing(Validator::AtLeast(1)),
        )
        .key(
            ConfigKey::optional(
                MAX_LINE_BYTES,
                ConfigType::Int,
                "The longest line in bytes, without its line end. A longer one fails the task. Bounds the memory.",
            )
            .default(DEFAULT_MAX_LINE_BYTES)
            .allowing(Validator::AtLeast(1)),
        )
        .key(
            ConfigKey::optional(
                INVALID_UTF8,
                ConfigType::String,
                "What to do with a line that is not UTF-8: fail the task, or replace broken sequences as Java does.",
            )
            .default("fail")
            .allowing(Validator::OneOf(&["fail", "replace"])),
        )
        .key(
            ConfigKey::optional(
                TRANSACTION_LINES,
                ConfigType::Int,
                "With transaction.boundary=connector: the most lines of one transaction. It ends earlier when everything \
                 in the file was read.",
            )
            .default("2000")
            .allowing(Validator::AtLeast(1)),
        )
}

impl FileConfig {
    pub(super) fn from_settings(settings: &Settings) -> Result<Self, Vec<ConfigError>> {
        if settings.value(FILE).is_none_or(|file| file.trim().is_empty()) {
            return Err(vec![ConfigError::new(FILE, STDIN)]);
        }
        let parsed = definition().parse(settings)?;
        let size = |key| {
            parsed
                .integer(key)
                .and_then(|n| usize::try_from(n).ok())
                .unwrap_or(usize::MAX)
        };
        let name = parsed.text(FILE).unwrap_or_default().to_owned();
        Ok(Self {
            path: PathBuf::from(&name),
            name,
            topic: parsed.text(TOPIC).unwrap_or_default().into(),
            batch_size: size(BATCH_SIZE),
            max_line_bytes: size(MAX_LINE_BYTES),
            transaction_lines: size(TRANSACTION_LINES),
            invalid_utf8: match parsed.text(INVALID_UTF8) {
                Some(text) if text.eq_ignore_ascii_case("replace") => InvalidUtf8::Replace,
                _ => InvalidUtf8::Fail,
            },
        })
    }
}

const STDIN: &str = "Missing required configuration \"file\": without it Java reads standard input, which cannot be read \
                     again after a restart, so it can never be exactly once. Set file to the path of a file.";
