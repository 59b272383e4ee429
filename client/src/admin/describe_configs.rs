//! DescribeConfigs (API key 32) for topics.

use std::collections::BTreeMap;

use crate::admin::Admin;
use crate::error::Result;
use crate::machine::Destination;
use crate::machine::admin::items::out_of_time;
use crate::machine::admin::{Verdict, describe_configs};

impl Admin {
    /// The effective settings of a topic, key → value (`None` for a secret one).
    ///
    /// # Errors
    /// If the topic is unknown or may not be described, or no answer was had in `default.api.timeout.ms`.
    ///
    /// *Cancel safety*: reads only.
    pub async fn topic_configs(&self, topic: &str) -> Result<BTreeMap<String, Option<String>>> {
        let mut patience = self.patience();
        loop {
            let request = describe_configs::request(topic);
            let reason = match self.attempt(&patience, Destination::Any, request).await {
                Ok(body) => match describe_configs::read(body, topic)? {
                    Verdict::Done(configs) => return Ok(configs),
                    Verdict::Failed(error) => return Err(error),
                    Verdict::Again(error) => error,
                },
                Err(failure) if failure.error().is_retriable() => failure.error().clone(),
                Err(failure) => return Err(failure.error().clone()),
            };
            if !self.pause(&mut patience).await {
                return Err(out_of_time("describing the topic's settings", Some(&reason)));
            }
        }
    }
}
