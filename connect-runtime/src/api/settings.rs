//! Configuration as text, and the rule of what must never be printed.
//!
//! Input: keys and values as read from a file. Output: lookups, sub-maps by prefix, and a `Debug` that hides secrets.

use std::collections::BTreeMap;
use std::fmt;

/// What is printed in place of a secret, as Java does.
pub(super) const HIDDEN: &str = "[hidden]";

/// Parts of a key that mark its value as a secret.
const SECRET_PARTS: [&str; 5] = ["password", "secret", "token", "sasl.jaas.config", "credential"];

/// Whether the value of this key must never be printed (judged by the key's name, in any case).
pub fn is_secret_key(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    SECRET_PARTS.iter().any(|part| key.contains(part)) || key.ends_with("ssl.keystore.key")
}

/// Configuration keys and values as text, ordered by key. `Debug` hides the values of secret keys.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Settings {
    values: BTreeMap<String, String>,
}

impl Settings {
    /// No settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of a key.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    /// The value of a key as it may be printed.
    pub fn printable(&self, key: &str) -> Option<&str> {
        self.value(key)
            .map(|value| if is_secret_key(key) { HIDDEN } else { value })
    }

    /// Sets a key; an earlier value is replaced.
    pub fn set(&mut self, key: impl Into<String>, value: impl Into<String>) {
        self.values.insert(key.into(), value.into());
    }

    /// All keys and values, ordered by key. The values may hold secrets.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// The settings below a prefix, with the prefix taken off (`producer.` → `acks`).
    #[must_use]
    pub fn below(&self, prefix: &str) -> Self {
        self.iter()
            .filter_map(|(key, value)| Some((key.strip_prefix(prefix)?, value)))
            .collect()
    }

    /// These settings with `later` laid over them: a key of `later` wins.
    #[must_use]
    pub fn overlaid(mut self, later: &Self) -> Self {
        self.values.extend(
            later
                .values
                .iter()
                .map(|(key, value)| (key.clone(), value.clone())),
        );
        self
    }

    /// Whether there is no setting.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for Settings {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        Self {
            values: entries
                .into_iter()
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let printable = self
            .values
            .keys()
            .map(|key| (key, self.printable(key).unwrap_or_default()));
        f.debug_map().entries(printable).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hidden_in_debug() {
        let settings: Settings = [
            ("ssl.keystore.password", "s3cr3t-a"),
            ("producer.override.sasl.jaas.config", "s3cr3t-b"),
            ("api.Token", "s3cr3t-c"),
            ("topic", "orders"),
        ]
        .into_iter()
        .collect();
        let printed = format!("{settings:?}");
        assert!(!printed.contains("s3cr3t"), "{printed}");
        assert!(printed.contains("orders"), "{printed}");
        assert_eq!(settings.value("api.Token"), Some("s3cr3t-c"));
    }

    #[test]
    fn a_prefix_is_taken_off_and_later_settings_win() {
        let worker: Settings = [("producer.acks", "1"), ("producer.linger.ms", "5"), ("x", "y")]
            .into_iter()
            .collect();
        let over: Settings = [("acks", "all")].into_iter().collect();
        let merged = worker.below("producer.").overlaid(&over);
        assert_eq!(
            merged.iter().collect::<Vec<_>>(),
            [("acks", "all"), ("linger.ms", "5")]
        );
    }
}
