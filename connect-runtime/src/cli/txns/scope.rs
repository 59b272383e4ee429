//! Which partitions a subcommand looks at: `TOPIC:N` as an argument, and everything that a topic or a broker leads.

use std::str::FromStr;

use sealwax::admin::{Admin, TopicDescription};
use sealwax::{NodeId, TopicPartition};

use super::super::{Failure, cluster};
use super::finding;

/// A partition as an argument: `TOPIC:N`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PartitionArgument(pub(super) TopicPartition);

impl FromStr for PartitionArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text
            .rsplit_once(':')
            .and_then(|(topic, partition)| Some((topic, parse_index(partition).ok()?)));
        match parsed {
            Some((topic, partition)) if !topic.is_empty() => Ok(Self(TopicPartition::new(topic, partition))),
            _ => Err("give it as TOPIC:N, such as orders:0".to_owned()),
        }
    }
}

/// A partition's number as an argument.
pub(super) fn parse_index(text: &str) -> Result<i32, String> {
    text.parse::<i32>()
        .ok()
        .filter(|index| *index >= 0)
        .ok_or_else(|| "a partition is a number from 0".to_owned())
}

/// Where to look. Without a condition: everywhere.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct Scope {
    /// Only partitions of this topic
    #[arg(long)]
    topic: Option<String>,
    /// Only this partition of the topic
    #[arg(long, value_name = "N", requires = "topic", value_parser = parse_index)]
    partition: Option<i32>,
    /// Only partitions that this broker leads
    #[arg(long, value_name = "ID")]
    broker_id: Option<i32>,
}

impl Scope {
    /// The partitions, sorted.
    ///
    /// # Errors
    /// The topic, partition or broker is not there, or the cluster cannot be described.
    pub(super) async fn partitions(&self, admin: &Admin) -> Result<Vec<TopicPartition>, Failure> {
        let topics = match &self.topic {
            Some(topic) => {
                let results = admin
                    .describe_topics(&[topic])
                    .await
                    .and_then(|all| all.into_iter().collect());
                results.map_err(|error| {
                    cluster::failure(&format!("topic \"{topic}\" cannot be described"), &error)
                })?
            }
            None => admin
                .list_topics()
                .await
                .map_err(|error| cluster::failure("the topics cannot be listed", &error))?,
        };
        let chosen = self.choose(&topics);
        match (&self.topic, self.partition) {
            (Some(topic), Some(partition)) if chosen.is_empty() => Err(finding(format!(
                "there is no partition {partition} of topic \"{topic}\" here"
            ))),
            _ => Ok(chosen),
        }
    }

    fn choose(&self, topics: &[TopicDescription]) -> Vec<TopicPartition> {
        let mut chosen = Vec::new();
        for topic in topics {
            for partition in &topic.partitions {
                let index_fits = self.partition.is_none_or(|index| index == partition.partition);
                let leader_fits = self
                    .broker_id
                    .is_none_or(|id| partition.leader == Some(NodeId(id)));
                if index_fits && leader_fits {
                    chosen.push(TopicPartition::new(topic.name.as_str(), partition.partition));
                }
            }
        }
        chosen.sort();
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_is_a_topic_and_a_number() {
        let parsed: PartitionArgument = "a:b:3".parse().unwrap();
        assert_eq!(parsed.0, TopicPartition::new("a:b", 3));
        for bad in ["", "orders", "orders:", ":0", "orders:-1", "orders:x", "orders-0"] {
            assert!(bad.parse::<PartitionArgument>().is_err(), "{bad}");
        }
    }
}
