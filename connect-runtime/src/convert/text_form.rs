//! The text of a value of any type, as Java's `toString` gives it: what `StringConverter` writes.

use std::fmt::Write;

use super::base64::encode;
use super::number::{java_double, java_float};
use crate::api::Value;

/// Appends the text of a value. Bytes, which have no useful text in Java, are written as base64.
pub(super) fn write_text(out: &mut String, value: &Value) {
    // Writing into a string cannot fail.
    let _ = match value {
        Value::Null => out.write_str("null"),
        Value::Int8(n) => write!(out, "{n}"),
        Value::Int16(n) => write!(out, "{n}"),
        Value::Int32(n) => write!(out, "{n}"),
        Value::Int64(n) => write!(out, "{n}"),
        Value::Float32(n) => out.write_str(&java_float(*n)),
        Value::Float64(n) => out.write_str(&java_double(*n)),
        Value::Boolean(b) => write!(out, "{b}"),
        Value::String(text) => out.write_str(text),
        Value::Bytes(bytes) => out.write_str(&encode(bytes)),
        Value::Array(values) => {
            list(out, ["[", ", ", "]"], values, write_text);
            Ok(())
        }
        Value::Map(entries) => {
            list(out, ["{", ", ", "}"], entries, |out, (key, value)| {
                write_text(out, key);
                out.push('=');
                write_text(out, value);
            });
            Ok(())
        }
        Value::Struct(value) => {
            let present = value.fields().filter(|(_, value)| **value != Value::Null);
            list(out, ["Struct{", ",", "}"], present, |out, (field, value)| {
                out.push_str(&field.name);
                out.push('=');
                write_text(out, value);
            });
            Ok(())
        }
    };
}

fn list<I: IntoIterator>(
    out: &mut String,
    marks: [&str; 3],
    items: I,
    mut item: impl FnMut(&mut String, I::Item),
) {
    let [open, between, close] = marks;
    out.push_str(open);
    for (place, one) in items.into_iter().enumerate() {
        if place > 0 {
            out.push_str(between);
        }
        item(out, one);
    }
    out.push_str(close);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::api::{Field, Schema, SchemaKind, Struct};

    #[test]
    fn nested_values_look_as_in_java() {
        let field = |name: &str, kind| Field {
            name: name.into(),
            schema: Arc::new(Schema::of(kind).optional()),
        };
        let schema = Schema::of(SchemaKind::Struct(vec![
            field("a", SchemaKind::Int32),
            field("b", SchemaKind::String),
        ]));
        let point = Struct::new(Arc::new(schema), vec![Value::Int32(7), Value::Null]).unwrap();
        let value = Value::Map(vec![
            (
                Value::String("x".into()),
                Value::Array(vec![Value::Boolean(true), Value::Float64(1.0), Value::Null]),
            ),
            (Value::Int8(-1), Value::Struct(point)),
        ]);
        let mut text = String::new();
        write_text(&mut text, &value);
        assert_eq!(text, "{x=[true, 1.0, null], -1=Struct{a=7}}");
    }
}
