//! DescribeConfigs (API key 32) for topics.

use std::collections::BTreeMap;

use crate::admin::Admin;
use crate::error::Result;

impl Admin {
    /// The effective settings of a topic, key → value (`None` for a secret one).
    ///
    /// # Errors
    /// If the topic is unknown or may not be described, or no answer was had in `default.api.timeout.ms`.
    ///
    /// *Cancel safety*: reads only.
    pub async fn topic_configs(&self, _topic: &str) -> Result<BTreeMap<String, Option<String>>> {
        todo!()
    }
}
