//! CreateTopics (API key 19).

use std::collections::BTreeMap;

use crate::admin::Admin;
use crate::error::Result;

/// A topic to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTopic {
    /// The name.
    pub name: String,
    /// Number of partitions; `None` takes the broker's default.
    pub partitions: Option<i32>,
    /// Replicas of each partition; `None` takes the broker's default.
    pub replication_factor: Option<i16>,
    /// Topic settings.
    pub configs: BTreeMap<String, String>,
}

impl NewTopic {
    /// A topic with the broker's defaults.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            partitions: None,
            replication_factor: None,
            configs: BTreeMap::new(),
        }
    }

    /// Sets the number of partitions.
    #[must_use]
    pub fn partitions(mut self, partitions: i32) -> Self {
        self.partitions = Some(partitions);
        self
    }

    /// Sets the replication factor.
    #[must_use]
    pub fn replication_factor(mut self, factor: i16) -> Self {
        self.replication_factor = Some(factor);
        self
    }

    /// Sets a topic setting.
    #[must_use]
    pub fn config(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.configs.insert(key.into(), value.into());
        self
    }
}

impl Admin {
    /// Creates topics; one result each, in order. `TOPIC_ALREADY_EXISTS` is in [`crate::Error::code`]. Returns when the
    /// created topics have leaders.
    ///
    /// # Errors
    /// If no answer was had in `default.api.timeout.ms`.
    ///
    /// *Cancel safety*: the topics may be created all the same.
    pub async fn create_topics(&self, _topics: &[NewTopic]) -> Result<Vec<Result<()>>> {
        let _ = &self.cluster;
        todo!()
    }
}
