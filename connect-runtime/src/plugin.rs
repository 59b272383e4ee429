//! Which connector a class name stands for.
//!
//! Input: the name in `connector.class`: Java's full class name, its simple name, or that without `Connector`. Output: a
//! new connector. Connectors are compiled in; there is nothing to scan and no `plugin.path`.

use crate::api::{ConfigError, SourceConnector};
use crate::connectors::file::FileStreamSourceConnector;

type Factory = fn() -> Box<dyn SourceConnector>;

/// The connectors that can be configured.
#[derive(Debug, Clone)]
pub struct Plugins {
    sources: Vec<(&'static str, Factory)>,
}

impl Plugins {
    /// The connectors that are built in.
    pub fn built_in() -> Self {
        let none = Self { sources: Vec::new() };
        none.with_source("org.apache.kafka.connect.file.FileStreamSourceConnector", || {
            Box::new(FileStreamSourceConnector::default())
        })
    }

    /// The same connectors and one more, for a program that brings its own.
    #[must_use]
    pub fn with_source(mut self, class: &'static str, factory: Factory) -> Self {
        self.sources.push((class, factory));
        self
    }

    /// A new connector of a class.
    ///
    /// # Errors
    /// The class is not known; the error lists those that are.
    pub fn source(&self, class: &str) -> Result<Box<dyn SourceConnector>, ConfigError> {
        let found = self
            .sources
            .iter()
            .find(|(known, _)| names(known).contains(&class));
        let (_, factory) = found.ok_or_else(|| {
            let known: Vec<_> = self.sources.iter().map(|(known, _)| *known).collect();
            let why = format!(
                "Class is not known here; the source connectors that are built in: {}",
                known.join(", ")
            );
            ConfigError::invalid("connector.class", class, &why)
        })?;
        Ok(factory())
    }
}

/// The names of a class: full, simple, and without `Connector`.
fn names(class: &str) -> [&str; 3] {
    let simple = class.rsplit('.').next().unwrap_or(class);
    [class, simple, simple.strip_suffix("Connector").unwrap_or(simple)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_found_by_each_of_its_names() {
        let plugins = Plugins::built_in();
        for class in [
            "org.apache.kafka.connect.file.FileStreamSourceConnector",
            "FileStreamSourceConnector",
            "FileStreamSource",
        ] {
            assert!(plugins.source(class).is_ok(), "{class}");
        }
        let error = plugins.source("FileStreamSink").err().unwrap().to_string();
        assert!(
            error.contains("FileStreamSink") && error.contains("FileStreamSourceConnector"),
            "{error}"
        );
    }
}
