//! Connect's data model: values and the schemas that describe them (Java's `org.apache.kafka.connect.data`).
//!
//! Logical types (Decimal, Date, Time, Timestamp) are carried as their base type with the name and the parameters.

use std::sync::{Arc, LazyLock};

use bytes::Bytes;

use super::{ConnectError, Text};

/// The type of a schema with the schemas that it is made of.
#[derive(Debug, Clone, PartialEq)]
pub enum SchemaKind {
    /// 8 bits, signed.
    Int8,
    /// 16 bits, signed.
    Int16,
    /// 32 bits, signed.
    Int32,
    /// 64 bits, signed.
    Int64,
    /// 32-bit IEEE 754.
    Float32,
    /// 64-bit IEEE 754.
    Float64,
    /// True or false.
    Boolean,
    /// UTF-8 text.
    String,
    /// Bytes.
    Bytes,
    /// A list of values with one schema.
    Array(Arc<Schema>),
    /// A list of keys with one schema, each with a value of another.
    Map(Arc<Schema>, Arc<Schema>),
    /// Named fields in order.
    Struct(Vec<Field>),
}

/// A field of a struct schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The field's name.
    pub name: Arc<str>,
    /// The field's schema.
    pub schema: Arc<Schema>,
}

/// Parameters of a schema: names and values, in order.
pub type Parameters = Vec<(Arc<str>, Arc<str>)>;

/// A schema. Fields are public: a schema is data, and [`Schema::check`] holds values against it.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    /// The type.
    pub kind: SchemaKind,
    /// Whether null is allowed.
    pub optional: bool,
    /// The value that stands for an absent one.
    pub default: Option<Value>,
    /// Name, for example of a logical type.
    pub name: Option<Arc<str>>,
    /// Version.
    pub version: Option<i32>,
    /// Documentation.
    pub doc: Option<Arc<str>>,
    /// Parameters in order, for example the scale of a Decimal.
    pub parameters: Parameters,
}

static STRING: LazyLock<Arc<Schema>> = LazyLock::new(|| Arc::new(Schema::of(SchemaKind::String)));

impl Schema {
    /// A required, unnamed schema of this type.
    pub fn of(kind: SchemaKind) -> Self {
        Self {
            kind,
            optional: false,
            default: None,
            name: None,
            version: None,
            doc: None,
            parameters: Vec::new(),
        }
    }

    /// The required string (Java's `Schema.STRING_SCHEMA`), shared.
    pub fn string() -> Arc<Self> {
        STRING.clone()
    }

    /// The same schema, null allowed.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    /// Checks a value against the schema, all the way down. Null is accepted where it is optional or has a default.
    ///
    /// # Errors
    /// Says which type was expected and which was found.
    pub fn check(&self, value: &Value) -> Result<(), ConnectError> {
        match (&self.kind, value) {
            (_, Value::Null) if self.optional || self.default.is_some() => Ok(()),
            (_, Value::Null) => Err(ConnectError::permanent(format!(
                "null for a required {} without default",
                self.type_name()
            ))),
            (SchemaKind::Array(items), Value::Array(values)) => {
                values.iter().try_for_each(|v| items.check(v))
            }
            (SchemaKind::Map(keys, values), Value::Map(entries)) => entries
                .iter()
                .try_for_each(|(k, v)| keys.check(k).and_then(|()| values.check(v))),
            (SchemaKind::Struct(fields), Value::Struct(value)) => value.check(fields),
            (SchemaKind::Int8, Value::Int8(_))
            | (SchemaKind::Int16, Value::Int16(_))
            | (SchemaKind::Int32, Value::Int32(_))
            | (SchemaKind::Int64, Value::Int64(_))
            | (SchemaKind::Float32, Value::Float32(_))
            | (SchemaKind::Float64, Value::Float64(_))
            | (SchemaKind::Boolean, Value::Boolean(_))
            | (SchemaKind::String, Value::String(_))
            | (SchemaKind::Bytes, Value::Bytes(_)) => Ok(()),
            (_, other) => Err(ConnectError::permanent(format!(
                "a value of type {} where the schema says {}",
                other.type_name(),
                self.type_name()
            ))),
        }
    }

    /// The type's name as in Connect's JSON.
    pub fn type_name(&self) -> &'static str {
        match self.kind {
            SchemaKind::Int8 => "int8",
            SchemaKind::Int16 => "int16",
            SchemaKind::Int32 => "int32",
            SchemaKind::Int64 => "int64",
            SchemaKind::Float32 => "float",
            SchemaKind::Float64 => "double",
            SchemaKind::Boolean => "boolean",
            SchemaKind::String => "string",
            SchemaKind::Bytes => "bytes",
            SchemaKind::Array(_) => "array",
            SchemaKind::Map(..) => "map",
            SchemaKind::Struct(_) => "struct",
        }
    }
}

/// A value of Connect's data model.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// No value.
    Null,
    /// int8.
    Int8(i8),
    /// int16.
    Int16(i16),
    /// int32.
    Int32(i32),
    /// int64.
    Int64(i64),
    /// float32.
    Float32(f32),
    /// float64.
    Float64(f64),
    /// boolean.
    Boolean(bool),
    /// string.
    String(Text),
    /// bytes.
    Bytes(Bytes),
    /// array.
    Array(Vec<Self>),
    /// map, in order.
    Map(Vec<(Self, Self)>),
    /// struct.
    Struct(Struct),
}

impl Value {
    /// The type's name as in Connect's JSON.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Int8(_) => "int8",
            Self::Int16(_) => "int16",
            Self::Int32(_) => "int32",
            Self::Int64(_) => "int64",
            Self::Float32(_) => "float",
            Self::Float64(_) => "double",
            Self::Boolean(_) => "boolean",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Array(_) => "array",
            Self::Map(_) => "map",
            Self::Struct(_) => "struct",
        }
    }
}

/// A struct value: its schema and one value per field, in the schema's order.
#[derive(Debug, Clone, PartialEq)]
pub struct Struct {
    schema: Arc<Schema>,
    values: Vec<Value>,
}

impl Struct {
    /// A struct value that fits its schema.
    ///
    /// # Errors
    /// The schema is not a struct, the number of values is not that of the fields, or a value does not fit.
    pub fn new(schema: Arc<Schema>, values: Vec<Value>) -> Result<Self, ConnectError> {
        let SchemaKind::Struct(fields) = &schema.kind else {
            return Err(ConnectError::permanent(format!(
                "a struct value with a schema of type {}",
                schema.type_name()
            )));
        };
        let value = Self {
            schema: schema.clone(),
            values,
        };
        value.check(fields)?;
        Ok(value)
    }

    /// The schema.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Names and schemas with their values, in order.
    pub fn fields(&self) -> impl Iterator<Item = (&Field, &Value)> {
        let fields = match &self.schema.kind {
            SchemaKind::Struct(fields) => fields.as_slice(),
            _ => &[],
        };
        fields.iter().zip(&self.values)
    }

    fn check(&self, fields: &[Field]) -> Result<(), ConnectError> {
        if fields.len() != self.values.len() {
            return Err(ConnectError::permanent(format!(
                "a struct of {} values where the schema has {} fields",
                self.values.len(),
                fields.len()
            )));
        }
        fields.iter().zip(&self.values).try_for_each(|(field, value)| {
            field
                .schema
                .check(value)
                .map_err(|e| ConnectError::permanent(format!("field {}: {e}", field.name)))
        })
    }
}

/// A value with its schema; no schema means that the value speaks for itself.
#[derive(Debug, Clone, PartialEq)]
pub struct SchemaAndValue {
    /// The schema, if there is one.
    pub schema: Option<Arc<Schema>>,
    /// The value.
    pub value: Value,
}

impl SchemaAndValue {
    /// Null without schema: no key, or a tombstone.
    pub fn null() -> Self {
        Self {
            schema: None,
            value: Value::Null,
        }
    }

    /// A required string.
    pub fn string(text: Text) -> Self {
        Self {
            schema: Some(Schema::string()),
            value: Value::String(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point() -> Arc<Schema> {
        let x = Field {
            name: "x".into(),
            schema: Arc::new(Schema::of(SchemaKind::Int32)),
        };
        let label = Field {
            name: "label".into(),
            schema: Arc::new(Schema::of(SchemaKind::String).optional()),
        };
        Arc::new(Schema::of(SchemaKind::Struct(vec![x, label])))
    }

    #[test]
    fn a_struct_is_checked_field_by_field() {
        assert!(Struct::new(point(), vec![Value::Int32(1), Value::Null]).is_ok());
        let wrong = Struct::new(point(), vec![Value::Int64(1), Value::Null]).unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "field x: a value of type int64 where the schema says int32"
        );
        assert!(Struct::new(point(), vec![Value::Int32(1)]).is_err());
        assert!(Struct::new(Schema::string(), vec![]).is_err());
    }

    #[test]
    fn null_needs_optional_or_a_default() {
        let mut schema = Schema::of(SchemaKind::Int8);
        assert!(schema.check(&Value::Null).is_err());
        schema.default = Some(Value::Int8(7));
        assert!(schema.check(&Value::Null).is_ok());
        let list = Schema::of(SchemaKind::Array(Arc::new(Schema::of(SchemaKind::Int8))));
        assert!(
            list.check(&Value::Array(vec![Value::Int8(1), Value::Null]))
                .is_err()
        );
    }
}
