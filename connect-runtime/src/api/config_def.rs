//! Definitions of configuration keys: type, default, range, documentation; and the check of settings against them.
//!
//! Input: [`Settings`]. Output: typed values, or every error at once. The texts follow Java's `ConfigDef`: they name
//! the key, the value (unless secret) and what is allowed.

use std::collections::BTreeMap;
use std::fmt;

use super::settings::HIDDEN;
use super::{Settings, is_secret_key};

/// The type of a configuration value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigType {
    /// `true` or `false`, in any case.
    Boolean,
    /// Text, trimmed.
    String,
    /// 32 bits, signed.
    Int,
    /// 64 bits, signed.
    Long,
    /// 64-bit float.
    Double,
    /// Texts separated by commas.
    List,
    /// The name of a plugin class.
    Class,
    /// Text that is never printed.
    Password,
}

impl ConfigType {
    /// Java's name of the type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Boolean => "BOOLEAN",
            Self::String => "STRING",
            Self::Int => "INT",
            Self::Long => "LONG",
            Self::Double => "DOUBLE",
            Self::List => "LIST",
            Self::Class => "CLASS",
            Self::Password => "PASSWORD",
        }
    }

    fn read(self, text: &str) -> Result<ConfigValue, String> {
        let text = text.trim();
        match self {
            Self::Boolean if text.eq_ignore_ascii_case("true") => Ok(ConfigValue::Boolean(true)),
            Self::Boolean if text.eq_ignore_ascii_case("false") => Ok(ConfigValue::Boolean(false)),
            Self::Boolean => Err("Expected value to be either true or false".into()),
            Self::Int => text
                .parse::<i32>()
                .map(|n| ConfigValue::Integer(n.into()))
                .map_err(|_| self.not_a_number()),
            Self::Long => text
                .parse::<i64>()
                .map(ConfigValue::Integer)
                .map_err(|_| self.not_a_number()),
            Self::Double => text
                .parse::<f64>()
                .map(ConfigValue::Double)
                .map_err(|_| self.not_a_number()),
            Self::List if text.is_empty() => Ok(ConfigValue::List(Vec::new())),
            Self::List => Ok(ConfigValue::List(
                text.split(',').map(|part| part.trim().to_owned()).collect(),
            )),
            Self::String | Self::Class | Self::Password => Ok(ConfigValue::Text(text.to_owned())),
        }
    }

    fn not_a_number(self) -> String {
        let range = match self {
            Self::Int => "-2147483648 to 2147483647",
            Self::Long => "-9223372036854775808 to 9223372036854775807",
            Self::Double | Self::Boolean | Self::String | Self::List | Self::Class | Self::Password => {
                "decimal number"
            }
        };
        format!("Not a number of type {} ({range})", self.name())
    }
}

/// A checked value.
#[derive(Debug, Clone, PartialEq)]
pub enum ConfigValue {
    /// Of type Boolean.
    Boolean(bool),
    /// Of type Int or Long.
    Integer(i64),
    /// Of type Double.
    Double(f64),
    /// Of type List.
    List(Vec<String>),
    /// Of type String, Class or Password.
    Text(String),
}

/// What is allowed beyond the type.
#[derive(Debug, Clone, PartialEq)]
pub enum Validator {
    /// Everything of the type.
    Any,
    /// Integers from a smallest one on.
    AtLeast(i64),
    /// Integers of a range, both ends included.
    Between(i64, i64),
    /// Text, or a list, that is not empty.
    NonEmpty,
    /// One of these texts, in any case.
    OneOf(&'static [&'static str]),
}

impl Validator {
    fn check(&self, value: &ConfigValue) -> Result<(), String> {
        match (self, value) {
            (Self::AtLeast(low), ConfigValue::Integer(n)) if n < low => {
                Err(format!("Value must be at least {low}"))
            }
            (Self::Between(low, _), ConfigValue::Integer(n)) if n < low => {
                Err(format!("Value must be at least {low}"))
            }
            (Self::Between(_, high), ConfigValue::Integer(n)) if n > high => {
                Err(format!("Value must be no more than {high}"))
            }
            (Self::NonEmpty, ConfigValue::Text(text)) if text.is_empty() => {
                Err("String must be non-empty".into())
            }
            (Self::NonEmpty, ConfigValue::List(list)) if list.is_empty() => {
                Err("List must be non-empty".into())
            }
            (Self::OneOf(allowed), ConfigValue::Text(text))
                if !allowed.iter().any(|one| one.eq_ignore_ascii_case(text)) =>
            {
                Err(format!(
                    "String must be one of (case insensitive): {}",
                    allowed.join(", ")
                ))
            }
            (Self::Any | Self::AtLeast(_) | Self::Between(..) | Self::NonEmpty | Self::OneOf(_), _) => Ok(()),
        }
    }
}

/// The definition of one key.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigKey {
    name: &'static str,
    kind: ConfigType,
    default: Option<&'static str>,
    required: bool,
    validator: Validator,
    documentation: &'static str,
}

impl ConfigKey {
    /// A key that may be absent.
    pub fn optional(name: &'static str, kind: ConfigType, documentation: &'static str) -> Self {
        Self {
            name,
            kind,
            default: None,
            required: false,
            validator: Validator::Any,
            documentation,
        }
    }

    /// A key that must be present.
    pub fn required(name: &'static str, kind: ConfigType, documentation: &'static str) -> Self {
        Self {
            required: true,
            ..Self::optional(name, kind, documentation)
        }
    }

    /// The same key with the value that stands for an absent one.
    #[must_use]
    pub fn default(mut self, text: &'static str) -> Self {
        self.default = Some(text);
        self.required = false;
        self
    }

    /// The same key with a limit on its values.
    #[must_use]
    pub fn allowing(mut self, validator: Validator) -> Self {
        self.validator = validator;
        self
    }

    /// The key.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The type.
    pub fn kind(&self) -> ConfigType {
        self.kind
    }

    /// The default as text.
    pub fn default_text(&self) -> Option<&'static str> {
        self.default
    }

    /// What the key is for.
    pub fn documentation(&self) -> &'static str {
        self.documentation
    }

    fn parse(&self, settings: &Settings) -> Result<Option<ConfigValue>, ConfigError> {
        let Some(text) = settings.value(self.name).or(self.default) else {
            return if self.required {
                Err(ConfigError::missing(self.name))
            } else {
                Ok(None)
            };
        };
        let checked = self
            .kind
            .read(text)
            .and_then(|value| self.validator.check(&value).map(|()| value));
        let shown = if self.kind == ConfigType::Password {
            HIDDEN
        } else {
            text
        };
        checked
            .map(Some)
            .map_err(|why| ConfigError::invalid(self.name, shown, &why))
    }
}

/// The keys that a plugin or the worker understands.
#[derive(Debug, Clone, Default)]
pub struct ConfigDef {
    keys: Vec<ConfigKey>,
}

impl ConfigDef {
    /// No keys.
    pub fn new() -> Self {
        Self::default()
    }

    /// The definition with one more key.
    #[must_use]
    pub fn key(mut self, key: ConfigKey) -> Self {
        self.keys.push(key);
        self
    }

    /// The keys in order.
    pub fn keys(&self) -> &[ConfigKey] {
        &self.keys
    }

    /// Whether the key is defined.
    pub fn defines(&self, name: &str) -> bool {
        self.keys.iter().any(|key| key.name == name)
    }

    /// Reads the defined keys; keys that are not defined are left alone.
    ///
    /// # Errors
    /// All keys that are missing or whose value is not allowed.
    pub fn parse(&self, settings: &Settings) -> Result<ParsedConfig, Vec<ConfigError>> {
        let mut parsed = ParsedConfig::default();
        let mut errors = Vec::new();
        for key in &self.keys {
            match key.parse(settings) {
                Ok(Some(value)) => drop(parsed.values.insert(key.name, value)),
                Ok(None) => {}
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() {
            Ok(parsed)
        } else {
            Err(errors)
        }
    }
}

/// Typed values by key. A question for a key that is absent, or of another type, is answered with none.
#[derive(Debug, Clone, Default)]
pub struct ParsedConfig {
    values: BTreeMap<&'static str, ConfigValue>,
}

impl ParsedConfig {
    /// The value of an Int or Long key.
    pub fn integer(&self, key: &str) -> Option<i64> {
        match self.values.get(key)? {
            ConfigValue::Integer(value) => Some(*value),
            _ => None,
        }
    }

    /// The value of a Boolean key.
    pub fn boolean(&self, key: &str) -> Option<bool> {
        match self.values.get(key)? {
            ConfigValue::Boolean(value) => Some(*value),
            _ => None,
        }
    }

    /// The value of a String, Class or Password key.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.values.get(key)? {
            ConfigValue::Text(value) => Some(value),
            _ => None,
        }
    }

    /// The value of a List key.
    pub fn list(&self, key: &str) -> Option<&[String]> {
        match self.values.get(key)? {
            ConfigValue::List(value) => Some(value),
            _ => None,
        }
    }
}

/// What is wrong with the value of one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    key: String,
    problem: Problem,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Problem {
    Missing,
    Invalid { shown: String, why: String },
    Other(String),
}

impl ConfigError {
    /// An error on a key. The message must not hold secrets.
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            problem: Problem::Other(message.into()),
        }
    }

    /// A value that is not allowed; the value of a secret key is hidden.
    pub fn invalid(key: &str, value: &str, why: &str) -> Self {
        let shown = if is_secret_key(key) { HIDDEN } else { value };
        let problem = Problem::Invalid {
            shown: shown.to_owned(),
            why: why.to_owned(),
        };
        Self {
            key: key.to_owned(),
            problem,
        }
    }

    /// A required key that is absent.
    pub fn missing(key: &str) -> Self {
        Self {
            key: key.to_owned(),
            problem: Problem::Missing,
        }
    }

    /// The same error on the key as the user wrote it, with the prefix that was taken off.
    #[must_use]
    pub fn under(mut self, prefix: &str) -> Self {
        self.key.insert_str(0, prefix);
        self
    }

    /// The key.
    pub fn key(&self) -> &str {
        &self.key
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        match &self.problem {
            Problem::Missing => {
                write!(
                    f,
                    "Missing required configuration \"{key}\" which has no default value."
                )
            }
            Problem::Invalid { shown, why } => {
                write!(f, "Invalid value {shown} for configuration {key}: {why}")
            }
            Problem::Other(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn def() -> ConfigDef {
        ConfigDef::new()
            .key(ConfigKey::required("topic", ConfigType::String, "Topic").allowing(Validator::NonEmpty))
            .key(
                ConfigKey::optional("batch.size", ConfigType::Int, "Batch")
                    .default("2000")
                    .allowing(Validator::AtLeast(1)),
            )
            .key(
                ConfigKey::optional("mode", ConfigType::String, "Mode")
                    .default("fail")
                    .allowing(Validator::OneOf(&["fail", "replace"])),
            )
            .key(ConfigKey::optional("pin", ConfigType::Int, "A number"))
            .key(
                ConfigKey::optional("db.password", ConfigType::Password, "Password")
                    .allowing(Validator::NonEmpty),
            )
            .key(ConfigKey::optional("token.ttl", ConfigType::Long, "Milliseconds"))
    }

    fn errors(settings: &[(&str, &str)]) -> Vec<String> {
        let settings: Settings = settings.iter().copied().collect();
        def()
            .parse(&settings)
            .unwrap_err()
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn defaults_are_used_and_values_trimmed() {
        let settings: Settings = [("topic", " t "), ("mode", "REPLACE")].into_iter().collect();
        let parsed = def().parse(&settings).unwrap();
        assert_eq!(parsed.text("topic"), Some("t"));
        assert_eq!(parsed.integer("batch.size"), Some(2000));
        assert_eq!(parsed.text("mode"), Some("REPLACE"));
        assert_eq!(parsed.integer("pin"), None);
    }

    #[test]
    fn every_error_names_key_value_and_what_is_allowed() {
        assert_eq!(
            errors(&[("batch.size", "many"), ("mode", "x")]),
            [
                "Missing required configuration \"topic\" which has no default value.",
                "Invalid value many for configuration batch.size: Not a number of type INT (-2147483648 to 2147483647)",
                "Invalid value x for configuration mode: String must be one of (case insensitive): fail, replace",
            ]
        );
        assert_eq!(
            errors(&[("topic", "t"), ("batch.size", "0")]),
            ["Invalid value 0 for configuration batch.size: Value must be at least 1"]
        );
        assert_eq!(errors(&[("topic", "t"), ("pin", "2147483648")]).len(), 1);
    }

    #[test]
    fn secrets_stay_out_of_errors() {
        let found = errors(&[("topic", "t"), ("token.ttl", "s3cr3t"), ("db.password", "")]);
        assert_eq!(found.len(), 2);
        assert!(
            found
                .iter()
                .all(|e| e.contains("[hidden]") && !e.contains("s3cr3t")),
            "{found:?}"
        );
    }
}
