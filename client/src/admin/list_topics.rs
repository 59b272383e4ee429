//! ListTopics: what Metadata (API key 3) tells of all topics.

use crate::admin::Admin;
use crate::admin::describe_topics::{TopicDescription, described};
use crate::error::Result;
use crate::machine::admin::items::out_of_time;
use crate::machine::admin::{Verdict, describe_topics};

impl Admin {
    /// Describes all topics that the principal may describe, those that Kafka keeps for itself included; sorted by name.
    ///
    /// # Errors
    /// If no answer was had in `default.api.timeout.ms`.
    ///
    /// *Cancel safety*: reads only.
    pub async fn list_topics(&self) -> Result<Vec<TopicDescription>> {
        let mut patience = self.patience();
        loop {
            let reason = match self.describe(&patience, describe_topics::request_all()).await? {
                Verdict::Done(response) => {
                    let topics = response.topics.iter().filter_map(|topic| topic.name.as_ref());
                    let mut known: Vec<TopicDescription> = topics
                        .filter_map(|name| match described(&response, &name.0) {
                            Verdict::Done(topic) => Some(topic),
                            // On its way in or out: as good as not there.
                            Verdict::Again(_) | Verdict::Failed(_) => None,
                        })
                        .collect();
                    known.sort_by(|one, other| one.name.cmp(&other.name));
                    return Ok(known);
                }
                Verdict::Again(reason) => reason,
                Verdict::Failed(error) => return Err(error),
            };
            if !self.pause(&mut patience).await {
                return Err(out_of_time("listing the topics", Some(&reason)));
            }
        }
    }
}
