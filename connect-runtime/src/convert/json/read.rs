//! JSON to values: with the schema of the envelope, or by the JSON's own types.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Number, Value as Json};

use super::schema::read_schema;
use crate::api::{Schema, SchemaAndValue, SchemaKind, Struct, Text, Value};
use crate::convert::ConvertError;
use crate::convert::base64::decode;

/// The value of an envelope, which has exactly the fields `schema` and `payload`.
pub(super) fn read_envelope(json: &Json) -> Result<SchemaAndValue, ConvertError> {
    let (Some(schema), Some(payload), Some(2)) = (
        json.get("schema"),
        json.get("payload"),
        json.as_object().map(serde_json::Map::len),
    ) else {
        return Err(ConvertError::new(
            "with schemas.enable=true the JSON must have exactly the fields \"schema\" and \"payload\"; \
             for bare JSON set schemas.enable=false",
        ));
    };
    if schema.is_null() {
        return Ok(SchemaAndValue {
            schema: None,
            value: read_schemaless(payload)?,
        });
    }
    let schema = Arc::new(read_schema(schema)?);
    let value = read_with(&schema, payload)?;
    Ok(SchemaAndValue {
        schema: Some(schema),
        value,
    })
}

/// The value of bare JSON: integers are int64, other numbers float64, objects maps.
pub(super) fn read_schemaless(json: &Json) -> Result<Value, ConvertError> {
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Boolean(*value),
        Json::Number(number) => read_number(number)?,
        Json::String(text) => Value::String(text.as_str().into()),
        Json::Array(items) => Value::Array(items.iter().map(read_schemaless).collect::<Result<_, _>>()?),
        Json::Object(entries) => {
            let entry = |(key, value): (&String, &Json)| {
                read_schemaless(value).map(|value| (Value::String(key.as_str().into()), value))
            };
            Value::Map(entries.iter().map(entry).collect::<Result<_, _>>()?)
        }
    })
}

/// An integer beyond int64 is an error here; Java cuts it silently.
fn read_number(number: &Number) -> Result<Value, ConvertError> {
    let text = number.to_string();
    if text.contains(['.', 'e', 'E']) {
        return number
            .as_f64()
            .map(Value::Float64)
            .ok_or_else(|| out_of_range("float64"));
    }
    number
        .as_i64()
        .map(Value::Int64)
        .ok_or_else(|| out_of_range("int64"))
}

fn out_of_range(kind: &str) -> ConvertError {
    ConvertError::new(format!("a number outside the range of {kind}"))
}

/// The value of JSON by a schema. A struct value keeps a schema of its own.
pub(super) fn read_value(schema: &Schema, json: &Json) -> Result<Value, ConvertError> {
    if matches!(schema.kind, SchemaKind::Struct(_)) {
        return read_with(&Arc::new(schema.clone()), json);
    }
    if json.is_null() {
        return match &schema.default {
            Some(default) => Ok(default.clone()),
            None if schema.optional => Ok(Value::Null),
            None => Err(ConvertError::new(format!(
                "null for a required {} without default",
                schema.type_name()
            ))),
        };
    }
    let wrong = || {
        ConvertError::new(format!(
            "the JSON does not fit the schema type {}",
            schema.type_name()
        ))
    };
    let integer = || json.as_i64().ok_or_else(wrong);
    Ok(match &schema.kind {
        SchemaKind::Int8 => Value::Int8(integer()?.try_into().map_err(|_| out_of_range("int8"))?),
        SchemaKind::Int16 => Value::Int16(integer()?.try_into().map_err(|_| out_of_range("int16"))?),
        SchemaKind::Int32 => Value::Int32(integer()?.try_into().map_err(|_| out_of_range("int32"))?),
        SchemaKind::Int64 => Value::Int64(integer()?),
        SchemaKind::Float32 => Value::Float32(read_float32(json).ok_or_else(wrong)?),
        SchemaKind::Float64 => Value::Float64(read_float(json).ok_or_else(wrong)?),
        SchemaKind::Boolean => Value::Boolean(json.as_bool().ok_or_else(wrong)?),
        SchemaKind::String => Value::String(Text::from(json.as_str().ok_or_else(wrong)?)),
        SchemaKind::Bytes => {
            let bytes = json.as_str().and_then(decode);
            Value::Bytes(Bytes::from(
                bytes.ok_or_else(|| ConvertError::new("bytes must be a base64 string"))?,
            ))
        }
        SchemaKind::Array(items) => {
            let values = json.as_array().ok_or_else(wrong)?;
            Value::Array(
                values
                    .iter()
                    .map(|value| read_with(items, value))
                    .collect::<Result<_, _>>()?,
            )
        }
        SchemaKind::Map(keys, values) => Value::Map(read_map(keys, values, json)?),
        SchemaKind::Struct(_) => return Err(wrong()),
    })
}

fn read_with(schema: &Arc<Schema>, json: &Json) -> Result<Value, ConvertError> {
    let SchemaKind::Struct(fields) = &schema.kind else {
        return read_value(schema, json);
    };
    if json.is_null() {
        return match &schema.default {
            Some(default) => Ok(default.clone()),
            None if schema.optional => Ok(Value::Null),
            None => Err(ConvertError::new("null for a required struct without default")),
        };
    }
    let Json::Object(object) = json else {
        return Err(ConvertError::new("a struct must be a JSON object"));
    };
    let field = |field: &crate::api::Field| {
        read_with(&field.schema, object.get(&*field.name).unwrap_or(&Json::Null))
            .map_err(|e| ConvertError::new(format!("field {}: {e}", field.name)))
    };
    let values = fields.iter().map(field).collect::<Result<_, _>>()?;
    Struct::new(schema.clone(), values)
        .map(Value::Struct)
        .map_err(|e| ConvertError::new(e.to_string()))
}

/// An object for string keys, a list of pairs for others.
fn read_map(
    keys: &Arc<Schema>,
    values: &Arc<Schema>,
    json: &Json,
) -> Result<Vec<(Value, Value)>, ConvertError> {
    let wrong = || ConvertError::new("a map must be a JSON object, or a list of pairs");
    match json {
        Json::Object(entries) if matches!(keys.kind, SchemaKind::String) => entries
            .iter()
            .map(|(key, value)| Ok((Value::String(key.as_str().into()), read_with(values, value)?)))
            .collect(),
        Json::Array(pairs) => pairs
            .iter()
            .map(|pair| match pair.as_array().map(Vec::as_slice) {
                Some([key, value]) => Ok((read_with(keys, key)?, read_with(values, value)?)),
                _ => Err(wrong()),
            })
            .collect(),
        _ => Err(wrong()),
    }
}

fn read_float(json: &Json) -> Option<f64> {
    match json {
        Json::Number(number) => number.as_f64(),
        Json::String(text) => not_finite(text),
        _ => None,
    }
}

/// Parsed as float32 at once: by way of float64 it would be rounded twice.
fn read_float32(json: &Json) -> Option<f32> {
    match json {
        Json::Number(number) => number.to_string().parse().ok(),
        Json::String(text) => {
            not_finite(text).map(|number| if number.is_nan() { f32::NAN } else { number as f32 })
        }
        _ => None,
    }
}

fn not_finite(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}
