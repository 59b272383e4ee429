//! CreateTopics (API key 19).

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::join_all;
use sealwax_protocol::messages::MetadataResponse;

use crate::admin::Admin;
use crate::admin::retry::Patience;
use crate::error::{Error, ErrorKind, Result};
use crate::machine::admin::create_topics::TopicSpec;
use crate::machine::admin::items::{Items, out_of_time};
use crate::machine::admin::{Verdict, create_topics, describe_topics};
use crate::machine::{Destination, RequestFailure};

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

    fn spec(&self) -> TopicSpec<'_> {
        TopicSpec {
            name: &self.name,
            partitions: self.partitions,
            replication_factor: self.replication_factor,
            configs: &self.configs,
        }
    }
}

impl Admin {
    /// Creates topics; one result each, in order. `TOPIC_ALREADY_EXISTS` is in [`crate::Error::code`]. Returns when every
    /// broker that can be reached knows the created topics with their leaders.
    ///
    /// # Errors
    /// If no answer was had in `default.api.timeout.ms`.
    ///
    /// *Cancel safety*: the topics may be created all the same.
    pub async fn create_topics(&self, topics: &[NewTopic]) -> Result<Vec<Result<()>>> {
        let mut patience = self.patience();
        let mut items = Items::new(topics.len());
        let mut retried = false;
        loop {
            let open: Vec<(usize, &NewTopic)> = items
                .open()
                .into_iter()
                .filter_map(|at| Some((at, topics.get(at)?)))
                .collect();
            if open.is_empty() {
                break;
            }
            let timeout = self.cluster.config().request_timeout;
            let request = create_topics::request(open.iter().map(|(_, topic)| topic.spec()), timeout);
            match self.attempt(&patience, Destination::Controller, request).await {
                Ok(body) => {
                    let names: Vec<&str> = open.iter().map(|(_, topic)| &*topic.name).collect();
                    let verdicts = create_topics::read(body, &names, retried)?;
                    for ((at, _), verdict) in open.iter().zip(verdicts) {
                        items.settle(*at, verdict);
                    }
                }
                Err(failure) if !failure.error().is_retriable() => return Err(failure.error().clone()),
                Err(failure) => {
                    retried |= matches!(failure, RequestFailure::Unanswered(_));
                    items.postpone(failure.error());
                }
            }
            if !items.open().is_empty() && !self.pause(&mut patience).await {
                break;
            }
        }
        if items.is_untouched() && !topics.is_empty() {
            return Err(out_of_time("creating the topics", items.last_reason()));
        }
        let results = items.finish("creating the topic");
        Ok(self.until_ready(topics, results, &mut patience).await)
    }

    /// Waits until those that were created have leaders.
    async fn until_ready(
        &self,
        topics: &[NewTopic],
        mut results: Vec<Result<()>>,
        patience: &mut Patience,
    ) -> Vec<Result<()>> {
        let mut waiting: Vec<&str> = topics
            .iter()
            .zip(&results)
            .filter(|(_, result)| result.is_ok())
            .map(|(topic, _)| &*topic.name)
            .collect();
        while !waiting.is_empty() {
            let heard = self.heard_of(&waiting, patience).await;
            waiting.retain(|name| !heard.contains(name));
            if !waiting.is_empty() && !self.pause(patience).await {
                break;
            }
        }
        for (topic, result) in topics.iter().zip(&mut results) {
            if waiting.contains(&&*topic.name) {
                *result = Err(not_ready(&topic.name));
            }
        }
        results
    }

    /// Those topics that every broker knows with leaders: each learns of them by itself, and the next call may go to any.
    /// A broker that cannot be reached does not count.
    async fn heard_of<'a>(&self, names: &[&'a str], patience: &Patience) -> Vec<&'a str> {
        let metadata = Arc::clone(&self.cluster.view().borrow().metadata);
        let answers = metadata.brokers.keys().map(|node| {
            let request = describe_topics::request(names);
            self.attempt(patience, Destination::Node(*node), request)
        });
        let mut told: Vec<Verdict<MetadataResponse>> = Vec::new();
        for body in join_all(answers).await.into_iter().flatten() {
            told.extend(describe_topics::response(body));
        }
        let knows = |answer: &Verdict<MetadataResponse>, name: &str| match answer {
            Verdict::Done(response) => create_topics::is_ready(&describe_topics::topic(response, name)),
            Verdict::Again(_) | Verdict::Failed(_) => false,
        };
        names
            .iter()
            .copied()
            .filter(|name| !told.is_empty() && told.iter().all(|answer| knows(answer, name)))
            .collect()
    }
}

fn not_ready(name: &str) -> Error {
    Error::new(
        ErrorKind::Timeout,
        format!(
            "topic {name:?} was created, but its partitions had no leaders within default.api.timeout.ms"
        ),
    )
}
