//! The JSON converter against texts as Java writes them, against wrong input, and round trips over generated data.

use proptest::prelude::*;

use super::*;
use crate::api::{Field, SchemaKind, Struct, Text};

fn text(schemas: bool, schema: Option<Schema>, value: Value) -> String {
    let data = SchemaAndValue {
        schema: schema.map(Arc::new),
        value,
    };
    let bytes = JsonConverter::new(schemas).serialize(&data).unwrap().unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn read(schemas: bool, json: &str) -> Result<SchemaAndValue, ConvertError> {
    JsonConverter::new(schemas).deserialize(Some(json.as_bytes()))
}

#[test]
fn the_envelope_of_a_line_is_as_java_writes_it() {
    assert_eq!(
        text(
            true,
            Some(Schema::of(SchemaKind::String)),
            Value::String("a \"b\"\\\t\u{1}ü".into())
        ),
        r#"{"schema":{"type":"string","optional":false},"payload":"a \"b\"\\\t\u0001ü"}"#
    );
    assert_eq!(
        text(
            false,
            Some(Schema::of(SchemaKind::String)),
            Value::String("x".into())
        ),
        r#""x""#
    );
}

#[test]
fn nested_schemas_have_javas_order_of_fields() {
    let mut decimal = Schema::of(SchemaKind::Bytes);
    decimal.name = Some("org.apache.kafka.connect.data.Decimal".into());
    decimal.version = Some(1);
    decimal.parameters = vec![("scale".into(), "2".into())];
    let mut count = Schema::of(SchemaKind::Int32).optional();
    count.default = Some(Value::Int32(7));
    count.doc = Some("how many".into());
    let list = Schema::of(SchemaKind::Array(Arc::new(Schema::of(SchemaKind::Float64))));
    let by_number = Schema::of(SchemaKind::Map(
        Arc::new(Schema::of(SchemaKind::Int8)),
        Arc::new(Schema::of(SchemaKind::Boolean)),
    ));
    let field = |name: &str, schema: Schema| Field {
        name: name.into(),
        schema: Arc::new(schema),
    };
    let schema = Schema::of(SchemaKind::Struct(vec![
        field("price", decimal),
        field("count", count),
        field("list", list),
        field("flags", by_number),
    ]));
    let value = Struct::new(
        Arc::new(schema.clone()),
        vec![
            Value::Bytes(Bytes::from_static(&[1, 2])),
            Value::Null,
            Value::Array(vec![Value::Float64(1e10)]),
            Value::Map(vec![(Value::Int8(1), Value::Boolean(true))]),
        ],
    )
    .unwrap();
    assert_eq!(
        text(true, Some(schema), Value::Struct(value)),
        concat!(
            r#"{"schema":{"type":"struct","fields":["#,
            r#"{"type":"bytes","optional":false,"name":"org.apache.kafka.connect.data.Decimal","version":1,"#,
            r#""parameters":{"scale":"2"},"field":"price"},"#,
            r#"{"type":"int32","optional":true,"doc":"how many","default":7,"field":"count"},"#,
            r#"{"type":"array","items":{"type":"double","optional":false},"optional":false,"field":"list"},"#,
            r#"{"type":"map","keys":{"type":"int8","optional":false},"values":{"type":"boolean","optional":false},"#,
            r#""optional":false,"field":"flags"}],"optional":false},"#,
            r#""payload":{"price":"AQI=","count":7,"list":[1.0E10],"flags":[[1,true]]}}"#
        )
    );
}

#[test]
fn null_is_a_tombstone_only_without_schema() {
    for schemas in [true, false] {
        assert_eq!(
            JsonConverter::new(schemas)
                .serialize(&SchemaAndValue::null())
                .unwrap(),
            None
        );
        assert_eq!(
            JsonConverter::new(schemas).deserialize(None).unwrap(),
            SchemaAndValue::null()
        );
    }
    let optional = || Some(Schema::of(SchemaKind::String).optional());
    assert_eq!(
        text(true, optional(), Value::Null),
        r#"{"schema":{"type":"string","optional":true},"payload":null}"#
    );
    assert_eq!(text(false, optional(), Value::Null), "null");
    let required = SchemaAndValue {
        schema: Some(Schema::string()),
        value: Value::Null,
    };
    assert!(JsonConverter::new(true).serialize(&required).is_err());
}

#[test]
fn a_value_that_does_not_fit_its_schema_is_an_error() {
    let wrong = SchemaAndValue {
        schema: Some(Schema::string()),
        value: Value::Int32(1),
    };
    let error = JsonConverter::new(false).serialize(&wrong).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a value of type int32 where the schema says string"
    );
}

#[test]
fn the_cached_schema_is_not_used_for_another_one() {
    let mut converter = JsonConverter::new(true);
    let string = SchemaAndValue::string(Text::from("x"));
    let number = SchemaAndValue {
        schema: Some(Arc::new(Schema::of(SchemaKind::Int8))),
        value: Value::Int8(1),
    };
    for _ in 0..2 {
        let bytes = converter.serialize(&string).unwrap().unwrap();
        assert_eq!(
            &*bytes,
            br#"{"schema":{"type":"string","optional":false},"payload":"x"}"#
        );
        let bytes = converter.serialize(&number).unwrap().unwrap();
        assert_eq!(
            &*bytes,
            br#"{"schema":{"type":"int8","optional":false},"payload":1}"#
        );
    }
}

#[test]
fn schemaless_json_is_read_by_its_own_types() {
    let value = read(false, r#"{"b":[1,2.5,1e2,"x",null,true],"a":{}}"#)
        .unwrap()
        .value;
    let list = vec![
        Value::Int64(1),
        Value::Float64(2.5),
        Value::Float64(100.0),
        Value::String("x".into()),
        Value::Null,
        Value::Boolean(true),
    ];
    let entries = vec![
        (Value::String("b".into()), Value::Array(list)),
        (Value::String("a".into()), Value::Map(vec![])),
    ];
    assert_eq!(value, Value::Map(entries));
    assert_eq!(
        read(false, "9223372036854775807").unwrap().value,
        Value::Int64(i64::MAX)
    );
    assert_eq!(
        read(false, "9223372036854775808").unwrap_err().to_string(),
        "a number outside the range of int64"
    );
}

#[test]
fn wrong_input_is_refused_with_its_reason() {
    for (json, reason) in [
        ("{", "not valid JSON"),
        ("{\"a\":1}", "exactly the fields"),
        (r#"{"schema":null,"payload":1,"x":2}"#, "exactly the fields"),
        (
            r#"{"schema":{"type":"int9"},"payload":1}"#,
            "unknown schema type int9",
        ),
        (
            r#"{"schema":{"type":"int8"},"payload":128}"#,
            "outside the range of int8",
        ),
        (
            r#"{"schema":{"type":"int8"},"payload":null}"#,
            "null for a required int8",
        ),
        (r#"{"schema":{"type":"bytes"},"payload":"***"}"#, "base64"),
        (
            r#"{"schema":{"type":"struct","fields":[{"type":"int8"}]},"payload":{}}"#,
            "lacks its name",
        ),
        (
            r#"{"schema":{"type":"struct","fields":[{"type":"int8","field":"a"}]},"payload":{"a":"x"}}"#,
            "field a: the JSON does not fit the schema type int8",
        ),
    ] {
        let error = read(true, json).unwrap_err().to_string();
        assert!(error.contains(reason), "{json}: {error}");
    }
    let deep = "[".repeat(100_000);
    assert!(read(false, &deep).is_err());
}

/// A schema with a value that fits it.
fn data() -> impl Strategy<Value = (Schema, Value)> {
    let leaf = prop_oneof![
        any::<i8>().prop_map(|n| (Schema::of(SchemaKind::Int8), Value::Int8(n))),
        any::<i16>().prop_map(|n| (Schema::of(SchemaKind::Int16), Value::Int16(n))),
        any::<i32>().prop_map(|n| (Schema::of(SchemaKind::Int32), Value::Int32(n))),
        any::<i64>().prop_map(|n| (Schema::of(SchemaKind::Int64), Value::Int64(n))),
        (proptest::num::f32::NORMAL | proptest::num::f32::INFINITE)
            .prop_map(|n| (Schema::of(SchemaKind::Float32), Value::Float32(n))),
        (proptest::num::f64::NORMAL | proptest::num::f64::INFINITE)
            .prop_map(|n| (Schema::of(SchemaKind::Float64), Value::Float64(n))),
        any::<bool>().prop_map(|b| (Schema::of(SchemaKind::Boolean), Value::Boolean(b))),
        any::<String>().prop_map(|s| (Schema::of(SchemaKind::String), Value::String(s.into()))),
        proptest::collection::vec(any::<u8>(), 0..20)
            .prop_map(|b| (Schema::of(SchemaKind::Bytes), Value::Bytes(b.into()))),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|(schema, value)| {
                (
                    Schema::of(SchemaKind::Array(Arc::new(schema))),
                    Value::Array(vec![value.clone(), value]),
                )
            }),
            (inner.clone(), any::<i16>()).prop_map(|((schema, value), key)| {
                let keys = Arc::new(Schema::of(SchemaKind::Int16));
                (
                    Schema::of(SchemaKind::Map(keys, Arc::new(schema))),
                    Value::Map(vec![(Value::Int16(key), value)]),
                )
            }),
            (inner.clone(), any::<String>()).prop_map(|((schema, value), key)| {
                let keys = Schema::string();
                let entries = vec![(Value::String(key.into()), value)];
                (
                    Schema::of(SchemaKind::Map(keys, Arc::new(schema))),
                    Value::Map(entries),
                )
            }),
            (
                proptest::collection::vec((inner.clone(), any::<bool>()), 0..4),
                any::<Option<i32>>()
            )
                .prop_map(|(parts, version)| {
                    let mut fields = Vec::new();
                    let mut values = Vec::new();
                    for (place, ((schema, value), absent)) in parts.into_iter().enumerate() {
                        let schema = if absent { schema.optional() } else { schema };
                        fields.push(Field {
                            name: format!("f{place}").into(),
                            schema: Arc::new(schema),
                        });
                        values.push(if absent { Value::Null } else { value });
                    }
                    let mut schema = Schema::of(SchemaKind::Struct(fields));
                    schema.version = version;
                    let value = Struct::new(Arc::new(schema.clone()), values).unwrap();
                    (schema, Value::Struct(value))
                }),
            inner.prop_map(|(mut schema, value)| {
                schema.default = Some(value.clone());
                schema.name = Some("n".into());
                (schema, value)
            }),
        ]
    })
}

proptest! {
    #[test]
    fn with_schemas_everything_comes_back((schema, value) in data()) {
        // A default with another default inside it changes the inner struct's own schema; equality of values stands.
        let sent = SchemaAndValue { schema: Some(Arc::new(schema)), value };
        let mut converter = JsonConverter::new(true);
        if let Ok(Some(bytes)) = converter.serialize(&sent) {
            let back = converter.deserialize(Some(&bytes)).unwrap();
            prop_assert_eq!(converter.serialize(&back).unwrap().unwrap(), bytes);
            prop_assert_eq!(back.schema.unwrap().type_name(), sent.schema.unwrap().type_name());
        }
    }

    #[test]
    fn plain_schemas_come_back_equal(
        text in any::<String>(), number in any::<i64>(), float in proptest::num::f64::NORMAL,
    ) {
        let field = |name: &str, kind| Field { name: name.into(), schema: Arc::new(Schema::of(kind)) };
        let schema = Arc::new(Schema::of(SchemaKind::Struct(vec![
            field("t", SchemaKind::String), field("n", SchemaKind::Int64), field("f", SchemaKind::Float64),
        ])));
        let values = vec![Value::String(text.into()), Value::Int64(number), Value::Float64(float)];
        let value = Value::Struct(Struct::new(schema.clone(), values).unwrap());
        let sent = SchemaAndValue { schema: Some(schema), value };
        let mut converter = JsonConverter::new(true);
        let bytes = converter.serialize(&sent).unwrap().unwrap();
        prop_assert_eq!(converter.deserialize(Some(&bytes)).unwrap(), sent);
    }

    #[test]
    fn any_bytes_are_answered_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = JsonConverter::new(true).deserialize(Some(&bytes));
        let text = format!("\"{}\"", String::from_utf8_lossy(&bytes).replace(['"', '\\'], "").replace(char::is_control, ""));
        prop_assert!(JsonConverter::new(false).deserialize(Some(text.as_bytes())).is_ok());
    }
}
