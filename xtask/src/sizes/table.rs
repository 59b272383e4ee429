//! Files that are tables rather than code: their length is that of what they list. Data only.

/// Path from the root, and why it is excepted.
pub(super) const TABLES: &[(&str, &str)] = &[
    ("protocol/src/error_code.rs", "one entry per Kafka error code"),
    ("xtask/src/layers/table.rs", "one entry per room"),
];
