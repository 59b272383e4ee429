//! Connect schemas as JSON (`{"type":"string","optional":false}`) and back, in the order of fields that Java writes.

use std::fmt::Write;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::read::read_value;
use super::write::{comma, write_string, write_value};
use crate::api::{Field, Parameters, Schema, SchemaKind};
use crate::convert::ConvertError;

/// Appends a schema; `field` is its name inside a struct.
pub(super) fn write_schema(
    out: &mut String,
    schema: &Schema,
    field: Option<&str>,
) -> Result<(), ConvertError> {
    out.push_str("{\"type\":");
    write_string(out, schema.type_name());
    match &schema.kind {
        SchemaKind::Array(items) => {
            out.push_str(",\"items\":");
            write_schema(out, items, None)?;
        }
        SchemaKind::Map(keys, values) => {
            out.push_str(",\"keys\":");
            write_schema(out, keys, None)?;
            out.push_str(",\"values\":");
            write_schema(out, values, None)?;
        }
        SchemaKind::Struct(fields) => {
            out.push_str(",\"fields\":[");
            for (place, field) in fields.iter().enumerate() {
                comma(out, place);
                write_schema(out, &field.schema, Some(&field.name))?;
            }
            out.push(']');
        }
        _ => {}
    }
    write_attributes(out, schema)?;
    if let Some(field) = field {
        out.push_str(",\"field\":");
        write_string(out, field);
    }
    out.push('}');
    Ok(())
}

fn write_attributes(out: &mut String, schema: &Schema) -> Result<(), ConvertError> {
    // Writing into a string cannot fail.
    let _ = write!(out, ",\"optional\":{}", schema.optional);
    if let Some(name) = &schema.name {
        out.push_str(",\"name\":");
        write_string(out, name);
    }
    if let Some(version) = schema.version {
        let _ = write!(out, ",\"version\":{version}");
    }
    if let Some(doc) = &schema.doc {
        out.push_str(",\"doc\":");
        write_string(out, doc);
    }
    if !schema.parameters.is_empty() {
        out.push_str(",\"parameters\":{");
        for (place, (key, value)) in schema.parameters.iter().enumerate() {
            comma(out, place);
            write_string(out, key);
            out.push(':');
            write_string(out, value);
        }
        out.push('}');
    }
    if let Some(default) = &schema.default {
        out.push_str(",\"default\":");
        write_value(out, Some(schema), default)?;
    }
    Ok(())
}

/// The schema of a JSON object.
pub(super) fn read_schema(json: &Json) -> Result<Schema, ConvertError> {
    let Json::Object(object) = json else {
        return Err(ConvertError::new("a schema must be a JSON object"));
    };
    let mut schema = Schema::of(read_kind(object)?);
    schema.optional = match object.get("optional") {
        None | Some(Json::Null) => false,
        Some(Json::Bool(optional)) => *optional,
        Some(_) => return Err(ConvertError::new("optional of a schema must be true or false")),
    };
    schema.name = text_of(object, "name")?;
    schema.doc = text_of(object, "doc")?;
    schema.version = match object.get("version") {
        None | Some(Json::Null) => None,
        Some(version) => {
            let number = version.as_i64().and_then(|n| i32::try_from(n).ok());
            Some(number.ok_or_else(|| ConvertError::new("version of a schema must be an int32"))?)
        }
    };
    schema.parameters = read_parameters(object)?;
    schema.default = match object.get("default") {
        None | Some(Json::Null) => None,
        Some(default) => Some(read_value(&schema, default)?),
    };
    Ok(schema)
}

fn read_kind(object: &Map<String, Json>) -> Result<SchemaKind, ConvertError> {
    let part = |name: &str| match object.get(name) {
        Some(part) => read_schema(part).map(Arc::new),
        None => Err(ConvertError::new(format!("the schema lacks {name}"))),
    };
    match object.get("type").and_then(Json::as_str) {
        Some("int8") => Ok(SchemaKind::Int8),
        Some("int16") => Ok(SchemaKind::Int16),
        Some("int32") => Ok(SchemaKind::Int32),
        Some("int64") => Ok(SchemaKind::Int64),
        Some("float") => Ok(SchemaKind::Float32),
        Some("double") => Ok(SchemaKind::Float64),
        Some("boolean") => Ok(SchemaKind::Boolean),
        Some("string") => Ok(SchemaKind::String),
        Some("bytes") => Ok(SchemaKind::Bytes),
        Some("array") => Ok(SchemaKind::Array(part("items")?)),
        Some("map") => Ok(SchemaKind::Map(part("keys")?, part("values")?)),
        Some("struct") => read_fields(object).map(SchemaKind::Struct),
        Some(other) => Err(ConvertError::new(format!("unknown schema type {other}"))),
        None => Err(ConvertError::new("the schema lacks type")),
    }
}

fn read_fields(object: &Map<String, Json>) -> Result<Vec<Field>, ConvertError> {
    let Some(Json::Array(fields)) = object.get("fields") else {
        return Err(ConvertError::new("the struct schema lacks fields"));
    };
    let read = |field: &Json| {
        let Some(name) = field.get("field").and_then(Json::as_str) else {
            return Err(ConvertError::new(
                "a field of a struct schema lacks its name (field)",
            ));
        };
        Ok(Field {
            name: name.into(),
            schema: Arc::new(read_schema(field)?),
        })
    };
    fields.iter().map(read).collect()
}

fn read_parameters(object: &Map<String, Json>) -> Result<Parameters, ConvertError> {
    let entries = match object.get("parameters") {
        None | Some(Json::Null) => return Ok(Vec::new()),
        Some(Json::Object(entries)) => entries,
        Some(_) => return Err(ConvertError::new("parameters of a schema must be a JSON object")),
    };
    let read = |(key, value): (&String, &Json)| match value.as_str() {
        Some(value) => Ok((Arc::from(key.as_str()), Arc::from(value))),
        None => Err(ConvertError::new(format!(
            "parameter {key} of a schema must be a string"
        ))),
    };
    entries.iter().map(read).collect()
}

fn text_of(object: &Map<String, Json>, key: &str) -> Result<Option<Arc<str>>, ConvertError> {
    match object.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => Ok(Some(Arc::from(text.as_str()))),
        Some(_) => Err(ConvertError::new(format!("{key} of a schema must be a string"))),
    }
}
