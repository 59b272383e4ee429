//! DescribeConfigs (API key 32) for topics and brokers.

use std::collections::BTreeMap;

use sealwax_protocol::ids::NodeId;

use crate::admin::Admin;
use crate::error::Result;
use crate::machine::Destination;
use crate::machine::admin::describe_configs::{Configs, Owner};
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
        self.configs(Owner::Topic(topic), Destination::Any).await
    }

    /// The effective settings of a broker, key → value (`None` for a secret one).
    ///
    /// # Errors
    /// If the broker cannot be reached or may not be described, or no answer was had in `default.api.timeout.ms`.
    ///
    /// *Cancel safety*: reads only.
    pub async fn broker_configs(&self, broker: NodeId) -> Result<BTreeMap<String, Option<String>>> {
        self.configs(Owner::Broker(broker), Destination::Node(broker))
            .await
    }

    async fn configs(&self, owner: Owner<'_>, to: Destination) -> Result<Configs> {
        let mut patience = self.patience();
        loop {
            let request = describe_configs::request(owner);
            let reason = match self.attempt(&patience, to.clone(), request).await {
                Ok(body) => match describe_configs::read(body, owner)? {
                    Verdict::Done(configs) => return Ok(configs),
                    Verdict::Failed(error) => return Err(error),
                    Verdict::Again(error) => error,
                },
                Err(failure) if failure.error().is_retriable() => failure.error().clone(),
                Err(failure) => return Err(failure.error().clone()),
            };
            if !self.pause(&mut patience).await {
                let doing = format!("describing the settings of {owner}");
                return Err(out_of_time(&doing, Some(&reason)));
            }
        }
    }
}
