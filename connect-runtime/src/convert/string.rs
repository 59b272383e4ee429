//! `StringConverter`: text as it is, any other value in Java's text form. `SimpleHeaderConverter` writes alike.
//!
//! Text goes through without a copy. Read back, everything is an optional string.

use std::sync::{Arc, LazyLock};

use bytes::Bytes;

use super::text_form::write_text;
use super::{ConvertError, Converter, ConverterUse};
use crate::api::{ConfigError, Schema, SchemaAndValue, SchemaKind, Settings, Text, Value};

static OPTIONAL_STRING: LazyLock<Arc<Schema>> =
    LazyLock::new(|| Arc::new(Schema::of(SchemaKind::String).optional()));

/// Java's `org.apache.kafka.connect.storage.StringConverter`, for UTF-8.
#[derive(Debug, Default)]
pub struct StringConverter;

impl StringConverter {
    /// The converter with `converter.encoding`.
    ///
    /// # Errors
    /// An encoding other than UTF-8.
    pub fn from_settings(usage: ConverterUse, settings: &Settings) -> Result<Self, ConfigError> {
        for key in [
            "serializer.encoding",
            "deserializer.encoding",
            "converter.encoding",
        ] {
            if let Some(encoding) = settings.value(key)
                && !["UTF-8", "UTF8"]
                    .iter()
                    .any(|known| known.eq_ignore_ascii_case(encoding.trim()))
            {
                let key = format!("{}.{key}", usage.key());
                return Err(ConfigError::invalid(
                    &key,
                    encoding,
                    "The encodings that are built in: UTF-8",
                ));
            }
        }
        Ok(Self)
    }
}

impl Converter for StringConverter {
    fn serialize(&mut self, data: &SchemaAndValue) -> Result<Option<Bytes>, ConvertError> {
        Ok(match &data.value {
            Value::Null => None,
            Value::String(text) => Some(text.as_bytes().clone()),
            other => {
                let mut text = String::new();
                write_text(&mut text, other);
                Some(Bytes::from(text))
            }
        })
    }

    fn deserialize(&mut self, bytes: Option<&[u8]>) -> Result<SchemaAndValue, ConvertError> {
        let value = match bytes {
            None => Value::Null,
            Some(bytes) => {
                let text = Text::from_utf8(Bytes::copy_from_slice(bytes)).map_err(|e| {
                    ConvertError::new(format!(
                        "the bytes are not UTF-8 from byte {} on",
                        e.valid_up_to()
                    ))
                })?;
                Value::String(text)
            }
        };
        Ok(SchemaAndValue {
            schema: Some(OPTIONAL_STRING.clone()),
            value,
        })
    }
}

/// Java's `org.apache.kafka.connect.storage.SimpleHeaderConverter`: writes headers as text. Reading headers back into
/// typed values belongs to sinks; until they come everything is read as a string.
#[derive(Debug, Default)]
pub struct SimpleHeaderConverter;

impl Converter for SimpleHeaderConverter {
    fn serialize(&mut self, data: &SchemaAndValue) -> Result<Option<Bytes>, ConvertError> {
        StringConverter.serialize(data)
    }

    fn deserialize(&mut self, bytes: Option<&[u8]>) -> Result<SchemaAndValue, ConvertError> {
        StringConverter.deserialize(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(value: Value) -> Option<Bytes> {
        StringConverter
            .serialize(&SchemaAndValue { schema: None, value })
            .unwrap()
    }

    #[test]
    fn text_passes_without_a_copy_and_null_is_a_tombstone() {
        let text = Text::from("line 1");
        let out = bytes(Value::String(text.clone())).unwrap();
        assert_eq!(out.as_ptr(), text.as_bytes().as_ptr());
        assert_eq!(bytes(Value::Null), None);
        assert_eq!(bytes(Value::Int32(5)).as_deref(), Some(b"5".as_slice()));
    }

    #[test]
    fn it_reads_text_back_and_refuses_other_bytes() {
        let data = StringConverter.deserialize(Some("grün".as_bytes())).unwrap();
        assert_eq!(data.value, Value::String("grün".into()));
        assert_eq!(StringConverter.deserialize(None).unwrap().value, Value::Null);
        let error = StringConverter.deserialize(Some(b"ab\xff")).unwrap_err();
        assert_eq!(error.to_string(), "the bytes are not UTF-8 from byte 2 on");
    }

    #[test]
    fn another_encoding_is_refused() {
        let settings: Settings = [("converter.encoding", "UTF-16")].into_iter().collect();
        let error = StringConverter::from_settings(ConverterUse::Key, &settings).unwrap_err();
        assert_eq!(error.key(), "key.converter.converter.encoding");
    }
}
