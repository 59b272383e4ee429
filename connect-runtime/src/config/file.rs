//! Reads configuration files: `.properties`, and `.json` for connectors (flat, or `{"name":…,"config":{…}}` as in REST).

use std::path::Path;

use serde_json::Value as Json;

use super::{ConnectorConfig, InvalidConfig, WorkerConfig, parse_properties};
use crate::api::{ConfigError, Settings};

/// Reads the worker's file.
///
/// # Errors
/// The file cannot be read, or what is in it is not valid.
pub fn read_worker_file(path: &Path) -> Result<WorkerConfig, InvalidConfig> {
    let settings = parse_properties(&read(path)?).map_err(|e| invalid(path, e.to_string()))?;
    WorkerConfig::from_settings(settings)
        .map_err(|errors| InvalidConfig::new(path.display().to_string(), errors))
}

/// Reads a connector's file. Only keys that all connectors share are checked here.
///
/// # Errors
/// The file cannot be read, or what is in it is not valid.
pub fn read_connector_file(path: &Path) -> Result<ConnectorConfig, InvalidConfig> {
    let bytes = read(path)?;
    let is_json = path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    let settings = if is_json {
        parse_json(&bytes).map_err(|why| invalid(path, why))?
    } else {
        parse_properties(&bytes).map_err(|e| invalid(path, e.to_string()))?
    };
    ConnectorConfig::from_settings(settings)
        .map_err(|errors| InvalidConfig::new(path.display().to_string(), errors))
}

fn read(path: &Path) -> Result<Vec<u8>, InvalidConfig> {
    std::fs::read(path).map_err(|e| invalid(path, format!("cannot be read: {e}")))
}

fn invalid(path: &Path, why: impl Into<String>) -> InvalidConfig {
    InvalidConfig::new(path.display().to_string(), vec![ConfigError::new("", why)])
}

fn parse_json(bytes: &[u8]) -> Result<Settings, String> {
    // The place of a syntax error is told without its text, which may be a secret.
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let json: Json = serde_json::from_slice(bytes)
        .map_err(|e| format!("not valid JSON at line {} column {}", e.line(), e.column()))?;
    let Json::Object(object) = &json else {
        return Err("a connector file must hold a JSON object".into());
    };
    let Some(Json::Object(config)) = object.get("config") else {
        return flat(object);
    };
    let mut settings = flat(config)?;
    if let Some(name) = object.get("name").and_then(Json::as_str) {
        match settings.value("name") {
            Some(inner) if inner != name => {
                return Err(format!(
                    "name is \"{name}\" beside config and \"{inner}\" in it; they must be the same"
                ));
            }
            _ => settings.set("name", name),
        }
    }
    Ok(settings)
}

fn flat(object: &serde_json::Map<String, Json>) -> Result<Settings, String> {
    let mut settings = Settings::new();
    for (key, value) in object {
        match value {
            Json::Null => {}
            Json::String(text) => settings.set(key, text),
            Json::Number(number) => settings.set(key, number.to_string()),
            Json::Bool(flag) => settings.set(key, flag.to_string()),
            Json::Array(_) | Json::Object(_) => {
                return Err(format!(
                    "the value of {key} must be a string, a number, true or false"
                ));
            }
        }
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_json_forms_give_the_same_settings() {
        let flat = parse_json(br#"{"name":"n","tasks.max":2,"x":true,"gone":null}"#).unwrap();
        let marked = parse_json(b"\xEF\xBB\xBF{\"name\":\"n\",\"tasks.max\":2,\"x\":true}").unwrap();
        assert_eq!(marked, flat);
        let rest = parse_json(br#"{"name":"n","config":{"tasks.max":"2","x":"true"}}"#).unwrap();
        assert_eq!(flat, rest);
        assert_eq!(
            flat.iter().collect::<Vec<_>>(),
            [("name", "n"), ("tasks.max", "2"), ("x", "true")]
        );
    }

    #[test]
    fn wrong_json_is_explained() {
        for (json, why) in [
            ("{", "line 1 column 1"),
            ("[]", "must hold a JSON object"),
            (r#"{"a":{"b":1}}"#, "the value of a must be"),
            (r#"{"name":"a","config":{"name":"b"}}"#, "must be the same"),
        ] {
            let error = parse_json(json.as_bytes()).unwrap_err();
            assert!(error.contains(why), "{json}: {error}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let error = read_worker_file(Path::new("no/such/worker.properties"))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("no/such/worker.properties") && error.contains("cannot be read"),
            "{error}"
        );
    }
}
