//! The records of the offsets topic ⇄ the committed offsets of one connector, byte for byte as Java Connect.
//!
//! Key `["<connector>",{<partition>}]`, value `{<offset>}`, both compact JSON. Java compares keys by their bytes and
//! writes maps in whatever order they have; so partitions are looked up here in a form that does not depend on the order,
//! and a known partition is written again with exactly the stored bytes. Otherwise compaction would keep two records.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use serde_json::Value as Json;

use crate::api::{FlatMap, FlatValue, OffsetReader, SourceOffset, SourcePartition};
use crate::convert::{base64, java_double, write_json_string};
use crate::error::StoreError;

/// A record of an offsets topic that is not as Connect writes it. Such records are passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an offset record of Connect: {0}")]
pub struct MalformedOffset(&'static str);

/// The committed offsets of one connector.
#[derive(Debug, Clone)]
pub struct OffsetTable {
    connector: String,
    /// By the partition in canonical form.
    entries: HashMap<String, Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    key: Bytes,
    /// None after a tombstone, and for a partition that was never committed.
    offset: Option<SourceOffset>,
}

impl Entry {
    /// The partition with its offset, if one is committed.
    fn shown(&self, partition: &str) -> Option<String> {
        let mut offset = String::new();
        write_map(&mut offset, self.offset.as_ref()?).ok()?;
        Some(format!("{partition}={offset}"))
    }
}

impl OffsetTable {
    /// An empty table for the connector of this name.
    pub fn new(connector: impl Into<String>) -> Self {
        Self {
            connector: connector.into(),
            entries: HashMap::new(),
        }
    }

    /// Takes in a record of the topic. Records of other connectors change nothing; a later record wins.
    ///
    /// # Errors
    /// The record is not as Connect writes it; nothing was changed.
    pub fn apply(&mut self, key: Option<&[u8]>, value: Option<&[u8]>) -> Result<(), MalformedOffset> {
        let key = key.ok_or(MalformedOffset("it has no key"))?;
        let parsed = serde_json::from_slice(key).map_err(|_| MalformedOffset("its key is not JSON"))?;
        let Json::Array(parts) = parsed else {
            return Err(MalformedOffset("its key is not a list"));
        };
        let [Json::String(connector), partition] = parts.as_slice() else {
            return Err(MalformedOffset(
                "its key is not a list of connector and partition",
            ));
        };
        if *connector != self.connector {
            return Ok(());
        }
        let partition = read_map(partition)?;
        let offset = match value {
            None => None,
            Some(value) => {
                let json =
                    serde_json::from_slice(value).map_err(|_| MalformedOffset("its value is not JSON"))?;
                if json == Json::Null {
                    None
                } else {
                    Some(read_map(&json)?.into())
                }
            }
        };
        self.entries.insert(
            canonical(&partition),
            Entry {
                key: Bytes::copy_from_slice(key),
                offset,
            },
        );
        Ok(())
    }

    /// The committed offset of a partition.
    pub fn offset(&self, partition: &SourcePartition) -> Option<SourceOffset> {
        self.entries.get(&canonical(partition))?.offset.clone()
    }

    /// The key to write for a partition: the stored bytes if there are any, else new ones that are kept from now on.
    ///
    /// # Errors
    /// The partition cannot be written as JSON.
    pub fn key(&mut self, partition: &SourcePartition) -> Result<Bytes, StoreError> {
        let canonical = canonical(partition);
        if let Some(entry) = self.entries.get(&canonical) {
            return Ok(entry.key.clone());
        }
        let mut text = String::from("[");
        write_json_string(&mut text, &self.connector);
        text.push(',');
        write_map(&mut text, partition)?;
        text.push(']');
        let key = Bytes::from(text);
        self.entries.insert(
            canonical,
            Entry {
                key: key.clone(),
                offset: None,
            },
        );
        Ok(key)
    }

    /// Notes that an offset is committed, for a partition whose [`key`](Self::key) was asked for.
    fn committed(&mut self, partition: &SourcePartition, offset: &SourceOffset) {
        if let Some(entry) = self.entries.get_mut(&canonical(partition)) {
            entry.offset = Some(offset.clone());
        }
    }

    /// The partitions that have a committed offset here and none in `later`, as in [`summary`](Self::summary).
    pub fn lost_in(&self, later: &Self) -> Vec<String> {
        let has_offset = |partition: &str| {
            let entry = later.entries.get(partition);
            entry.is_some_and(|entry| entry.offset.is_some())
        };
        let mut lost: Vec<_> = self
            .entries
            .iter()
            .filter(|(partition, _)| !has_offset(partition))
            .filter_map(|(partition, entry)| entry.shown(partition))
            .collect();
        lost.sort();
        lost
    }

    /// The committed offsets as JSON, for the log: `{"filename":"f"}={"position":7}`.
    pub fn summary(&self) -> Vec<String> {
        let known = self.entries.iter();
        let mut summary: Vec<_> = known
            .filter_map(|(partition, entry)| entry.shown(partition))
            .collect();
        summary.sort();
        summary
    }
}

/// The value to write for an offset.
///
/// # Errors
/// The offset cannot be written as JSON.
pub(super) fn value_of(offset: &SourceOffset) -> Result<Bytes, StoreError> {
    let mut text = String::new();
    write_map(&mut text, offset)?;
    Ok(Bytes::from(text))
}

/// The table, shared between the task's offset reader and the loop that commits. Not on the path of a record.
#[derive(Debug, Clone)]
pub struct SharedOffsets {
    table: Arc<Mutex<OffsetTable>>,
}

impl SharedOffsets {
    /// Shares a table.
    pub fn new(table: OffsetTable) -> Self {
        Self {
            table: Arc::new(Mutex::new(table)),
        }
    }

    /// Key and value of the record that commits an offset.
    ///
    /// # Errors
    /// Partition or offset cannot be written as JSON.
    pub fn record(
        &self,
        partition: &SourcePartition,
        offset: &SourceOffset,
    ) -> Result<(Bytes, Bytes), StoreError> {
        let key = self
            .table
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .key(partition)?;
        Ok((key, value_of(offset)?))
    }
}

impl SharedOffsets {
    /// See [`OffsetTable::summary`].
    pub fn summary(&self) -> Vec<String> {
        self.table
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .summary()
    }

    /// The summary as it would be if these offsets were committed, too. The table stays as it is: the offsets may not be.
    pub fn summary_after<'a>(
        &self,
        offsets: impl Iterator<Item = (&'a SourcePartition, &'a SourceOffset)>,
    ) -> Vec<String> {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (partition, offset) in offsets {
            table.committed(partition, offset);
        }
        table.summary()
    }

    /// See [`OffsetTable::lost_in`]. `later` is another table than this one.
    pub fn lost_in(&self, later: &Self) -> Vec<String> {
        let earlier = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        let later = later.table.lock().unwrap_or_else(PoisonError::into_inner);
        earlier.lost_in(&later)
    }

    /// Notes that an offset is committed, for a source that asks later.
    pub fn committed(&self, partition: &SourcePartition, offset: &SourceOffset) {
        self.table
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .committed(partition, offset);
    }
}

impl OffsetReader for SharedOffsets {
    fn offset(&self, partition: &SourcePartition) -> Option<SourceOffset> {
        self.table
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .offset(partition)
    }
}

/// A form in which equal partitions are equal texts: keys in order, values as they read back from JSON.
fn canonical(partition: &FlatMap) -> String {
    let mut entries: Vec<_> = partition.iter().collect();
    entries.sort_by_key(|(key, _)| *key);
    let mut text = String::from("{");
    for (place, (key, value)) in entries.into_iter().enumerate() {
        if place > 0 {
            text.push(',');
        }
        write_json_string(&mut text, key);
        text.push(':');
        write_value(&mut text, value);
    }
    text.push('}');
    text
}

fn write_map(text: &mut String, map: &FlatMap) -> Result<(), StoreError> {
    text.push('{');
    for (place, (key, value)) in map.iter().enumerate() {
        if let FlatValue::Float(number) = value
            && !number.is_finite()
        {
            return Err(StoreError::Unwritable(format!(
                "{key} is {number}, which JSON does not have"
            )));
        }
        if place > 0 {
            text.push(',');
        }
        write_json_string(text, key);
        text.push(':');
        write_value(text, value);
    }
    text.push('}');
    Ok(())
}

fn write_value(text: &mut String, value: &FlatValue) {
    match value {
        FlatValue::Null => text.push_str("null"),
        FlatValue::Bool(flag) => text.push_str(if *flag { "true" } else { "false" }),
        FlatValue::Int(number) => text.push_str(&number.to_string()),
        FlatValue::Float(number) => text.push_str(&java_double(*number)),
        FlatValue::String(string) => write_json_string(text, string),
        FlatValue::Bytes(bytes) => write_json_string(text, &base64(bytes)),
    }
}

fn read_map(json: &Json) -> Result<FlatMap, MalformedOffset> {
    let Json::Object(entries) = json else {
        return Err(MalformedOffset("partition or offset is not an object"));
    };
    entries.iter().try_fold(FlatMap::new(), |map, (key, value)| {
        Ok(map.with(key.clone(), read_value(value)?))
    })
}

fn read_value(json: &Json) -> Result<FlatValue, MalformedOffset> {
    match json {
        Json::Null => Ok(FlatValue::Null),
        Json::Bool(flag) => Ok(FlatValue::Bool(*flag)),
        Json::String(text) => Ok(FlatValue::String(text.as_str().into())),
        Json::Number(number) if !number.to_string().contains(['.', 'e', 'E']) => number
            .as_i64()
            .map(FlatValue::Int)
            .ok_or(MalformedOffset("a number is outside the range of int64")),
        Json::Number(number) => number
            .as_f64()
            .map(FlatValue::Float)
            .ok_or(MalformedOffset("a number is outside the range of float64")),
        Json::Array(_) | Json::Object(_) => Err(MalformedOffset("a value is not a primitive")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(name: &str) -> SourcePartition {
        FlatMap::new()
            .with("filename", FlatValue::String(name.into()))
            .into()
    }

    fn position(at: i64) -> SourceOffset {
        FlatMap::new().with("position", FlatValue::Int(at)).into()
    }

    #[test]
    fn the_bytes_are_those_that_java_writes() {
        let mut table = OffsetTable::new("file-src");
        let key = table.key(&file("/data/jc/wire-in.txt")).unwrap();
        assert_eq!(&*key, br#"["file-src",{"filename":"/data/jc/wire-in.txt"}]"#);
        assert_eq!(&*value_of(&position(70)).unwrap(), br#"{"position":70}"#);
    }

    #[test]
    fn what_java_wrote_is_read_and_the_last_record_wins() {
        let mut table = OffsetTable::new("file-src");
        let key = br#"["file-src",{"filename":"f"}]"#;
        table.apply(Some(key), Some(br#"{"position":70}"#)).unwrap();
        table.apply(Some(key), Some(br#"{"position":78}"#)).unwrap();
        table
            .apply(Some(br#"["other",{"filename":"f"}]"#), Some(br#"{"position":1}"#))
            .unwrap();
        assert_eq!(table.offset(&file("f")), Some(position(78)));
        assert_eq!(table.offset(&file("g")), None);
        assert_eq!(table.summary(), [r#"{"filename":"f"}={"position":78}"#]);
        for tombstone in [None, Some(b"null".as_slice())] {
            table.apply(Some(key), tombstone).unwrap();
            assert_eq!(table.offset(&file("f")), None);
        }
        assert_eq!(table.summary(), Vec::<String>::new());
    }

    #[test]
    fn stored_key_bytes_are_used_again_whatever_the_order() {
        let mut table = OffsetTable::new("db");
        let stored = br#"["db",{ "table":"t" , "schema":"s","n":1.50}]"#;
        table.apply(Some(stored), Some(br#"{"lsn":1}"#)).unwrap();
        let partition = FlatMap::new()
            .with("n", FlatValue::Float(1.5))
            .with("schema", FlatValue::String("s".into()))
            .with("table", FlatValue::String("t".into()));
        let partition = SourcePartition::from(partition);
        assert!(table.offset(&partition).is_some());
        assert_eq!(&*table.key(&partition).unwrap(), stored);
        // Also after a reset of the partition, and for bytes that come back as base64.
        table.apply(Some(stored), None).unwrap();
        assert_eq!(&*table.key(&partition).unwrap(), stored);
        table
            .apply(Some(br#"["db",{"id":"AQI="}]"#), Some(br#"{"x":null}"#))
            .unwrap();
        let bytes = FlatMap::new().with("id", FlatValue::Bytes(Bytes::from_static(&[1, 2])));
        assert!(table.offset(&bytes.into()).is_some());
    }

    #[test]
    fn a_new_partition_keeps_its_first_bytes() {
        let mut table = OffsetTable::new("c");
        let ab = FlatMap::new()
            .with("a", FlatValue::Int(1))
            .with("b", FlatValue::Bool(false));
        let ba = FlatMap::new()
            .with("b", FlatValue::Bool(false))
            .with("a", FlatValue::Int(1));
        let first = table.key(&ba.into()).unwrap();
        assert_eq!(&*first, br#"["c",{"b":false,"a":1}]"#);
        assert_eq!(table.key(&ab.into()).unwrap(), first);
    }

    /// What was only attempted must not count as known: it would be missed in the topic.
    #[test]
    fn a_summary_of_what_might_be_committed_changes_nothing() {
        let offsets = SharedOffsets::new(OffsetTable::new("c"));
        let partition = SourcePartition::from(FlatMap::new().with("f", FlatValue::Int(1)));
        let offset = SourceOffset::from(FlatMap::new().with("p", FlatValue::Int(9)));
        offsets.record(&partition, &offset).unwrap();
        let attempted = [(&partition, &offset)];
        assert_eq!(
            offsets.summary_after(attempted.into_iter()),
            [r#"{"f":1}={"p":9}"#]
        );
        assert_eq!(offsets.summary(), Vec::<String>::new());
    }

    #[test]
    fn offsets_that_are_gone_are_named_and_those_that_moved_are_not() {
        let table = |records: &[(&str, &str)]| {
            let mut table = OffsetTable::new("c");
            for (partition, offset) in records {
                let key = format!(r#"["c",{{"f":"{partition}"}}]"#);
                table
                    .apply(Some(key.as_bytes()), Some(offset.as_bytes()))
                    .unwrap();
            }
            SharedOffsets::new(table)
        };
        let known = table(&[("x", r#"{"p":1}"#), ("y", r#"{"p":2}"#), ("z", "null")]);
        let moved = table(&[("x", r#"{"p":9}"#), ("y", r#"{"p":2}"#)]);
        assert_eq!(known.lost_in(&moved), Vec::<String>::new());
        let emptied = table(&[("y", "null")]);
        assert_eq!(
            known.lost_in(&emptied),
            [r#"{"f":"x"}={"p":1}"#, r#"{"f":"y"}={"p":2}"#]
        );
    }

    #[test]
    fn malformed_records_change_nothing() {
        let mut table = OffsetTable::new("c");
        let good = br#"["c",{"f":"x"}]"#;
        table.apply(Some(good), Some(br#"{"p":1}"#)).unwrap();
        let before = table.summary();
        let cases: [(Option<&[u8]>, &[u8]); 7] = [
            (None, b"{}"),
            (Some(b"c"), b"{}"),
            (Some(br#"{"c":1}"#), b"{}"),
            (Some(br#"["c"]"#), b"{}"),
            (Some(br#"["c",{"f":[1]}]"#), b"{}"),
            (Some(good), b"{"),
            (Some(good), br#"{"p":9223372036854775808}"#),
        ];
        for (key, value) in cases {
            assert!(table.apply(key, Some(value)).is_err(), "{key:?} {value:?}");
        }
        assert_eq!(table.summary(), before);
    }

    #[test]
    fn a_number_that_json_lacks_is_refused() {
        let offset = FlatMap::new().with("x", FlatValue::Float(f64::NAN));
        assert!(matches!(value_of(&offset.into()), Err(StoreError::Unwritable(_))));
    }

    fn flat_value() -> impl Strategy<Value = FlatValue> {
        prop_oneof![
            Just(FlatValue::Null),
            any::<bool>().prop_map(FlatValue::Bool),
            any::<i64>().prop_map(FlatValue::Int),
            proptest::num::f64::NORMAL.prop_map(FlatValue::Float),
            any::<String>().prop_map(|s| FlatValue::String(s.into())),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            partition in proptest::collection::vec((any::<String>(), flat_value()), 0..4),
            offset in proptest::collection::vec((any::<String>(), flat_value()), 0..4),
            connector in any::<String>(),
        ) {
            let map = |entries: Vec<(String, FlatValue)>| {
                entries.into_iter().fold(FlatMap::new(), |map, (key, value)| map.with(key, value))
            };
            let (partition, offset) = (SourcePartition::from(map(partition)), SourceOffset::from(map(offset)));
            let mut table = OffsetTable::new(connector.clone());
            let key = table.key(&partition).unwrap();
            let mut fresh = OffsetTable::new(connector);
            fresh.apply(Some(&key), Some(&value_of(&offset).unwrap())).unwrap();
            prop_assert_eq!(fresh.offset(&partition), Some(offset));
            prop_assert_eq!(fresh.key(&partition).unwrap(), key);
        }
    }
}
