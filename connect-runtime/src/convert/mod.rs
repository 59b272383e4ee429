//! Converters: values of a connector ⇄ the bytes of a record.
//!
//! Input: a class name (Java's, or its simple name) with the settings below its prefix. Output: a [`Converter`].

mod base64;
mod json;
mod number;
mod string;
mod text_form;

use std::sync::Arc;

use bytes::Bytes;

use crate::api::{ConfigError, Header, SchemaAndValue, Settings, SourceRecord};

pub use base64::encode as base64;
pub use json::{JsonConverter, write_string as write_json_string};
pub use number::java_double;
pub use string::{SimpleHeaderConverter, StringConverter};

/// Turns values into bytes and back (Java's `Converter` and `HeaderConverter`). One instance belongs to one task, so
/// that it may keep a cache without a lock.
pub trait Converter: Send {
    /// The bytes of a value, or none for null (Java's `fromConnectData`).
    ///
    /// # Errors
    /// The value does not fit its schema, or the format cannot express it.
    fn serialize(&mut self, data: &SchemaAndValue) -> Result<Option<Bytes>, ConvertError>;

    /// The value of some bytes (Java's `toConnectData`).
    ///
    /// # Errors
    /// The bytes are not of this format.
    fn deserialize(&mut self, bytes: Option<&[u8]>) -> Result<SchemaAndValue, ConvertError>;
}

/// Why a value could not be converted.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConvertError(String);

impl ConvertError {
    /// An error with its text. The text must not hold record data beyond what names the place.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// The configuration key of each use of a converter, which is also the prefix of its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConverterUse {
    /// `key.converter`
    Key,
    /// `value.converter`
    Value,
    /// `header.converter`
    Header,
}

impl ConverterUse {
    /// The configuration key.
    pub fn key(self) -> &'static str {
        match self {
            Self::Key => "key.converter",
            Self::Value => "value.converter",
            Self::Header => "header.converter",
        }
    }
}

/// The three converters of a task.
pub struct Converters {
    /// For keys.
    pub key: Box<dyn Converter>,
    /// For values.
    pub value: Box<dyn Converter>,
    /// For headers.
    pub header: Box<dyn Converter>,
}

/// A header as it goes to Kafka.
pub type HeaderBytes = (Arc<str>, Option<Bytes>);

impl Converters {
    /// The headers of a record, in order. No allocation if there are none.
    ///
    /// # Errors
    /// A value that cannot be converted.
    pub fn headers(&mut self, record: &SourceRecord) -> Result<Vec<HeaderBytes>, ConvertError> {
        let one = |header: &Header| Ok((header.key.clone(), self.header.serialize(&header.value)?));
        record.headers.iter().map(one).collect()
    }
}

/// The classes that are built in, by simple name.
const CLASSES: [&str; 3] = ["JsonConverter", "StringConverter", "SimpleHeaderConverter"];

/// Builds the converter of a class. `settings` are those below the prefix (`value.converter.` taken off).
///
/// # Errors
/// The class is unknown, or one of its settings is not valid; the error names the key as the user wrote it.
pub fn converter(
    usage: ConverterUse,
    class: &str,
    settings: &Settings,
) -> Result<Box<dyn Converter>, ConfigError> {
    match class.rsplit('.').next().unwrap_or(class) {
        "JsonConverter" => Ok(Box::new(JsonConverter::from_settings(usage, settings)?)),
        "StringConverter" => Ok(Box::new(StringConverter::from_settings(usage, settings)?)),
        "SimpleHeaderConverter" if usage == ConverterUse::Header => Ok(Box::new(SimpleHeaderConverter)),
        _ => Err(ConfigError::invalid(
            usage.key(),
            class,
            &format!(
                "Class is not known here; the converters that are built in: {}",
                CLASSES.join(", ")
            ),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_found_by_full_and_simple_name() {
        let none = Settings::new();
        for class in [
            "org.apache.kafka.connect.storage.StringConverter",
            "StringConverter",
            "org.apache.kafka.connect.json.JsonConverter",
            "JsonConverter",
        ] {
            assert!(converter(ConverterUse::Value, class, &none).is_ok(), "{class}");
        }
        let error = converter(
            ConverterUse::Key,
            "io.confluent.connect.avro.AvroConverter",
            &none,
        )
        .err()
        .unwrap();
        assert!(error.to_string().starts_with(
            "Invalid value io.confluent.connect.avro.AvroConverter for configuration key.converter: Class is not known"
        ));
        assert!(converter(ConverterUse::Value, "SimpleHeaderConverter", &none).is_err());
    }

    #[test]
    fn a_wrong_setting_is_named_with_its_prefix() {
        let settings: Settings = [("schemas.enable", "maybe")].into_iter().collect();
        let error = converter(ConverterUse::Value, "JsonConverter", &settings)
            .err()
            .unwrap();
        assert_eq!(
            error.to_string(),
            "Invalid value maybe for configuration value.converter.schemas.enable: \
             Expected value to be either true or false"
        );
    }
}
