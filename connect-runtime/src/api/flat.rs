//! The flat maps that name a place in a source: source partition and source offset.
//!
//! Kafka Connect allows string keys and primitive values only. The order of keys is kept (it decides the bytes in the
//! offsets topic) but does not count for equality. One entry, the usual case, is held without an allocation.

use std::borrow::Cow;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use bytes::Bytes;

use super::Text;

/// A value of a source partition or offset.
#[derive(Debug, Clone)]
pub enum FlatValue {
    /// No value.
    Null,
    /// A boolean.
    Bool(bool),
    /// Any integer type of Java; read back from JSON as int64.
    Int(i64),
    /// float32 or float64; read back from JSON as float64.
    Float(f64),
    /// A string.
    String(Text),
    /// Bytes; in JSON a base64 string, so they are read back as a string.
    Bytes(Bytes),
}

impl FlatValue {
    /// The integer, if this is one.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(*value),
            Self::Null | Self::Bool(_) | Self::Float(_) | Self::String(_) | Self::Bytes(_) => None,
        }
    }

    /// The string, if this is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(value) => Some(value),
            Self::Null | Self::Bool(_) | Self::Int(_) | Self::Float(_) | Self::Bytes(_) => None,
        }
    }
}

/// Floats are compared by their bits: a place in a source has to equal itself, also when it is NaN.
impl PartialEq for FlatValue {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => a.to_bits() == b.to_bits(),
            (Self::String(a), Self::String(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (
                Self::Null | Self::Bool(_) | Self::Int(_) | Self::Float(_) | Self::String(_) | Self::Bytes(_),
                _,
            ) => false,
        }
    }
}

impl Eq for FlatValue {}

impl Hash for FlatValue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Self::Null => {}
            Self::Bool(value) => value.hash(state),
            Self::Int(value) => value.hash(state),
            Self::Float(value) => value.to_bits().hash(state),
            Self::String(value) => value.hash(state),
            Self::Bytes(value) => value.hash(state),
        }
    }
}

type Entry = (Cow<'static, str>, FlatValue);

/// A small map with string keys that keeps the order of insertion. Equality and hash do not depend on the order.
#[derive(Debug, Clone, Default)]
pub struct FlatMap {
    first: Option<Entry>,
    rest: Vec<Entry>,
}

impl FlatMap {
    /// An empty map.
    pub fn new() -> Self {
        Self::default()
    }

    /// The map with one more entry; an entry with the same key is replaced in its place.
    #[must_use]
    pub fn with(mut self, key: impl Into<Cow<'static, str>>, value: FlatValue) -> Self {
        let key = key.into();
        if let Some((_, known)) = self
            .first
            .iter_mut()
            .chain(&mut self.rest)
            .find(|(known, _)| *known == key)
        {
            *known = value;
        } else if self.first.is_none() {
            self.first = Some((key, value));
        } else {
            self.rest.push((key, value));
        }
        self
    }

    /// The value of a key.
    pub fn value(&self, key: &str) -> Option<&FlatValue> {
        self.iter()
            .find(|(known, _)| *known == key)
            .map(|(_, value)| value)
    }

    /// The entries in order of insertion.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &FlatValue)> {
        self.first
            .iter()
            .chain(&self.rest)
            .map(|(key, value)| (key.as_ref(), value))
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.first.iter().len() + self.rest.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }
}

impl PartialEq for FlatMap {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().all(|(key, value)| other.value(key) == Some(value))
    }
}

impl Eq for FlatMap {}

impl Hash for FlatMap {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // A sum over the entries is the same for each order of them.
        let sum = self.iter().fold(0u64, |sum, entry| {
            let mut hasher = DefaultHasher::new();
            entry.hash(&mut hasher);
            sum.wrapping_add(hasher.finish())
        });
        sum.hash(state);
    }
}

/// As Java prints a map: `{filename=in.txt}`. For logs and errors.
impl fmt::Display for FlatMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (place, (key, value)) in self.iter().enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            write!(f, "{comma}{key}=")?;
            match value {
                FlatValue::Null => f.write_str("null")?,
                FlatValue::Bool(value) => write!(f, "{value}")?,
                FlatValue::Int(value) => write!(f, "{value}")?,
                FlatValue::Float(value) => write!(f, "{value}")?,
                FlatValue::String(value) => write!(f, "{value}")?,
                FlatValue::Bytes(value) => write!(f, "{} bytes", value.len())?,
            }
        }
        f.write_str("}")
    }
}

/// The partition of a source that a record belongs to, for example a file. Cloning shares it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SourcePartition(Arc<FlatMap>);

impl SourcePartition {
    /// Whether both are clones of one value: a cheap test that may say no for equal partitions.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl From<FlatMap> for SourcePartition {
    fn from(map: FlatMap) -> Self {
        Self(Arc::new(map))
    }
}

impl Deref for SourcePartition {
    type Target = FlatMap;

    fn deref(&self) -> &FlatMap {
        &self.0
    }
}

/// Where the source goes on after a record: the record itself is before this place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceOffset(FlatMap);

impl From<FlatMap> for SourceOffset {
    fn from(map: FlatMap) -> Self {
        Self(map)
    }
}

impl Deref for SourceOffset {
    type Target = FlatMap;

    fn deref(&self) -> &FlatMap {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(map: &FlatMap) -> u64 {
        let mut hasher = DefaultHasher::new();
        map.hash(&mut hasher);
        hasher.finish()
    }

    #[test]
    fn order_is_kept_but_does_not_count() {
        let ab = FlatMap::new()
            .with("a", FlatValue::Int(1))
            .with("b", FlatValue::Bool(true));
        let ba = FlatMap::new()
            .with("b", FlatValue::Bool(true))
            .with("a", FlatValue::Int(1));
        assert_eq!(ab, ba);
        assert_eq!(hash(&ab), hash(&ba));
        assert_eq!(ba.iter().map(|(key, _)| key).collect::<Vec<_>>(), ["b", "a"]);
        assert_ne!(ab, ab.clone().with("a", FlatValue::Int(2)));
        assert_ne!(ab, ab.clone().with("c", FlatValue::Null));
    }

    #[test]
    fn an_integer_is_not_a_float_and_nan_equals_itself() {
        assert_ne!(FlatValue::Int(1), FlatValue::Float(1.0));
        assert_eq!(FlatValue::Float(f64::NAN), FlatValue::Float(f64::NAN));
    }

    #[test]
    fn a_key_is_replaced_in_its_place() {
        let map = FlatMap::new()
            .with("a", FlatValue::Int(1))
            .with("b", FlatValue::Int(2));
        let map = map.with("a", FlatValue::Int(3));
        assert_eq!(map.len(), 2);
        assert_eq!(map.iter().next(), Some(("a", &FlatValue::Int(3))));
    }
}
