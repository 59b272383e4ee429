//! `JsonConverter`: values as JSON, with the schema around them (`schemas.enable=true`, the default as in Java) or bare.
//!
//! `write.rs` goes from values to JSON text, `schema.rs` from schemas to JSON and back, `read.rs` from JSON to values.

mod read;
mod schema;
#[cfg(test)]
mod tests;
mod write;

use std::sync::Arc;

use bytes::Bytes;

use super::{ConvertError, Converter, ConverterUse};
use crate::api::{ConfigError, Schema, SchemaAndValue, Settings, Value};

pub use write::write_string;

/// Java's `org.apache.kafka.connect.json.JsonConverter`. `schemas.cache.size` is accepted and has no effect: the last
/// schema is kept, which is what a task uses again and again. `decimal.format` must be BASE64 (the default).
#[derive(Debug)]
pub struct JsonConverter {
    schemas: bool,
    last: Option<(Arc<Schema>, String)>,
}

impl JsonConverter {
    /// A converter with or without the envelope.
    pub fn new(schemas: bool) -> Self {
        Self { schemas, last: None }
    }

    /// The converter with `schemas.enable`.
    ///
    /// # Errors
    /// A value that is not allowed.
    pub fn from_settings(usage: ConverterUse, settings: &Settings) -> Result<Self, ConfigError> {
        let invalid = |key: &str, value: &str, why: &str| {
            Err(ConfigError::invalid(
                &format!("{}.{key}", usage.key()),
                value,
                why,
            ))
        };
        if let Some(format) = settings.value("decimal.format")
            && !format.trim().eq_ignore_ascii_case("BASE64")
        {
            return invalid("decimal.format", format, "The format that is built in: BASE64");
        }
        match settings.value("schemas.enable").map(str::trim) {
            None => Ok(Self::new(true)),
            Some(text) if text.eq_ignore_ascii_case("true") => Ok(Self::new(true)),
            Some(text) if text.eq_ignore_ascii_case("false") => Ok(Self::new(false)),
            Some(other) => invalid(
                "schemas.enable",
                other,
                "Expected value to be either true or false",
            ),
        }
    }

    /// The JSON of a schema, from the cache if it is the one of the last record.
    fn schema_text(&mut self, schema: &Arc<Schema>) -> Result<&str, ConvertError> {
        let known = matches!(&self.last, Some((last, _)) if Arc::ptr_eq(last, schema));
        if !known {
            let mut text = String::new();
            schema::write_schema(&mut text, schema, None)?;
            self.last = Some((schema.clone(), text));
        }
        Ok(self.last.as_ref().map_or("null", |(_, text)| text))
    }
}

impl Converter for JsonConverter {
    fn serialize(&mut self, data: &SchemaAndValue) -> Result<Option<Bytes>, ConvertError> {
        let mut out = String::new();
        match (&data.schema, &data.value) {
            (None, Value::Null) => return Ok(None),
            (schema, value) if !self.schemas => write::write_value(&mut out, schema.as_deref(), value)?,
            (schema, value) => {
                out.push_str("{\"schema\":");
                match schema {
                    Some(schema) => out.push_str(self.schema_text(schema)?),
                    None => out.push_str("null"),
                }
                out.push_str(",\"payload\":");
                write::write_value(&mut out, schema.as_deref(), value)?;
                out.push('}');
            }
        }
        Ok(Some(Bytes::from(out)))
    }

    fn deserialize(&mut self, bytes: Option<&[u8]>) -> Result<SchemaAndValue, ConvertError> {
        let Some(bytes) = bytes else {
            return Ok(SchemaAndValue::null());
        };
        let json: serde_json::Value =
            serde_json::from_slice(bytes).map_err(|e| ConvertError::new(format!("not valid JSON: {e}")))?;
        if self.schemas {
            read::read_envelope(&json)
        } else {
            Ok(SchemaAndValue {
                schema: None,
                value: read::read_schemaless(&json)?,
            })
        }
    }
}
