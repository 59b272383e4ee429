//! Values to JSON text, compact, in the order and with the number forms that Java's converter writes.

use std::fmt::Write;

use crate::api::{Schema, SchemaKind, Struct, Value};
use crate::convert::ConvertError;
use crate::convert::base64::encode;
use crate::convert::number::{java_double, java_float};

/// Appends a value. With a schema the value is checked against it, and a null takes the schema's default.
pub(super) fn write_value(
    out: &mut String,
    schema: Option<&Schema>,
    value: &Value,
) -> Result<(), ConvertError> {
    let Some(schema) = schema else {
        return write_bare(out, value);
    };
    match (&schema.kind, value) {
        (_, Value::Null) => match &schema.default {
            Some(default) if *default != Value::Null => write_value(out, Some(schema), default),
            _ if schema.optional => {
                out.push_str("null");
                Ok(())
            }
            _ => Err(ConvertError::new("null for a required value that has no default")),
        },
        (SchemaKind::Array(items), Value::Array(values)) => write_array(out, Some(items), values),
        (SchemaKind::Map(keys, values), Value::Map(entries)) => {
            let as_object = matches!(keys.kind, SchemaKind::String);
            write_map(out, as_object, Some((keys.as_ref(), values.as_ref())), entries)
        }
        (SchemaKind::Struct(_), Value::Struct(value)) if **value.schema() == *schema => {
            write_struct(out, value)
        }
        (SchemaKind::Struct(_), Value::Struct(_)) => Err(ConvertError::new("a struct of another schema")),
        (_, scalar) => {
            schema
                .check(scalar)
                .map_err(|e| ConvertError::new(e.to_string()))?;
            write_bare(out, scalar)
        }
    }
}

fn write_bare(out: &mut String, value: &Value) -> Result<(), ConvertError> {
    match value {
        Value::Null => out.push_str("null"),
        Value::Int8(n) => display(out, n),
        Value::Int16(n) => display(out, n),
        Value::Int32(n) => display(out, n),
        Value::Int64(n) => display(out, n),
        Value::Float32(n) => write_float(out, &java_float(*n), n.is_finite()),
        Value::Float64(n) => write_float(out, &java_double(*n), n.is_finite()),
        Value::Boolean(b) => display(out, b),
        Value::String(text) => write_string(out, text),
        Value::Bytes(bytes) => write_string(out, &encode(bytes)),
        Value::Array(values) => write_array(out, None, values)?,
        Value::Map(entries) => {
            let as_object = entries.iter().all(|(key, _)| matches!(key, Value::String(_)));
            write_map(out, as_object, None, entries)?;
        }
        Value::Struct(value) => write_struct(out, value)?,
    }
    Ok(())
}

fn display(out: &mut String, value: impl std::fmt::Display) {
    // Writing into a string cannot fail.
    let _ = write!(out, "{value}");
}

/// JSON has no NaN and no infinities; Java writes them as strings.
fn write_float(out: &mut String, text: &str, finite: bool) {
    if finite {
        out.push_str(text)
    } else {
        write_string(out, text)
    }
}

fn write_array(out: &mut String, items: Option<&Schema>, values: &[Value]) -> Result<(), ConvertError> {
    out.push('[');
    for (place, value) in values.iter().enumerate() {
        comma(out, place);
        write_value(out, items, value)?;
    }
    out.push(']');
    Ok(())
}

/// A map with string keys is an object, any other map a list of pairs.
fn write_map(
    out: &mut String,
    as_object: bool,
    schemas: Option<(&Schema, &Schema)>,
    entries: &[(Value, Value)],
) -> Result<(), ConvertError> {
    let (keys, values) = schemas.unzip();
    out.push(if as_object { '{' } else { '[' });
    for (place, (key, value)) in entries.iter().enumerate() {
        comma(out, place);
        match (as_object, key) {
            (true, Value::String(key)) => {
                write_string(out, key);
                out.push(':');
                write_value(out, values, value)?;
            }
            (true, other) => {
                return Err(ConvertError::new(format!(
                    "a map key of type {} where the schema says string",
                    other.type_name()
                )));
            }
            (false, key) => {
                out.push('[');
                write_value(out, keys, key)?;
                out.push(',');
                write_value(out, values, value)?;
                out.push(']');
            }
        }
    }
    out.push(if as_object { '}' } else { ']' });
    Ok(())
}

fn write_struct(out: &mut String, value: &Struct) -> Result<(), ConvertError> {
    out.push('{');
    for (place, (field, value)) in value.fields().enumerate() {
        comma(out, place);
        write_string(out, &field.name);
        out.push(':');
        write_value(out, Some(&field.schema), value)
            .map_err(|e| ConvertError::new(format!("field {}: {e}", field.name)))?;
    }
    out.push('}');
    Ok(())
}

pub(super) fn comma(out: &mut String, place: usize) {
    if place > 0 {
        out.push(',');
    }
}

/// Appends a JSON string: quotes, backslashes and control characters are escaped, all else is written as it is.
pub fn write_string(out: &mut String, text: &str) {
    out.push('"');
    let mut plain_from = 0;
    for (place, byte) in text.bytes().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(text.get(plain_from..place).unwrap_or_default());
        plain_from = place + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x08 => out.push_str("\\b"),
            0x0c => out.push_str("\\f"),
            other => {
                // Writing into a string cannot fail.
                let _ = write!(out, "\\u{other:04X}");
            }
        }
    }
    out.push_str(text.get(plain_from..).unwrap_or_default());
    out.push('"');
}
