//! What tests and the demo ask of a cluster without a client of ours: make a topic, count partitions, see an end offset.

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use kafka_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::metadata_response::MetadataResponseTopic;
use kafka_protocol::messages::{
    BrokerId, CreateTopicsRequest, ListOffsetsRequest, MetadataRequest, MetadataResponse, TopicName,
};
use kafka_protocol::protocol::StrBytes;

use super::consumer::Isolation;
use super::wire::Wire;

const CREATE_TOPICS_VERSION: i16 = 7;
const METADATA_VERSION: i16 = 12;
const LIST_OFFSETS_VERSION: i16 = 7;
const LIMIT: Duration = Duration::from_secs(30);
const LATEST: i64 = -1;
const PAUSE: Duration = Duration::from_millis(50);

// Kafka's error codes for a partition whose leader is changing.
const LEADER_NOT_AVAILABLE: i16 = 5;
const NOT_LEADER_OR_FOLLOWER: i16 = 6;
const REPLICA_NOT_AVAILABLE: i16 = 9;
const OFFSET_NOT_AVAILABLE: i16 = 78;

/// Creates a topic with the cluster's default replication and waits until every partition has a leader.
///
/// # Errors
/// If no broker answers or the cluster refuses (the topic exists, a configuration is wrong).
pub fn create_topic(bootstrap: &str, topic: &str, partitions: i32, configs: &[(&str, &str)]) -> Result<()> {
    let configs = configs.iter().map(|(key, value)| {
        let value = Some(StrBytes::from_string((*value).to_owned()));
        CreatableTopicConfig::default()
            .with_name(StrBytes::from_string((*key).to_owned()))
            .with_value(value)
    });
    let creatable = CreatableTopic::default()
        .with_name(name(topic))
        .with_num_partitions(partitions)
        .with_replication_factor(-1)
        .with_configs(configs.collect());
    let request = CreateTopicsRequest::default()
        .with_topics(vec![creatable])
        .with_timeout_ms(20_000);
    let mut wire = connect_any(bootstrap)?;
    let answer = wire.call(CREATE_TOPICS_VERSION, &request)?;
    let result = answer.topics.first().context("an empty answer to CreateTopics")?;
    if result.error_code != 0 {
        let message = result
            .error_message
            .as_ref()
            .map_or("", |message| message.as_str());
        bail!(
            "topic {topic} was not created: error code {} {message}",
            result.error_code
        );
    }
    await_leaders(&mut wire, topic)
}

/// How many partitions the topic has.
///
/// # Errors
/// If no broker answers or there is no such topic.
pub fn partition_count(bootstrap: &str, topic: &str) -> Result<usize> {
    let metadata = describe(&mut connect_any(bootstrap)?, topic)?;
    Ok(found(&metadata, topic)?.partitions.len())
}

/// The offset after the last record that such a reader can see: the last stable offset or the high watermark. Control
/// records and aborted records take offsets too, so this is a measure of progress and not a count. While the partition has no
/// leader that answers, it is asked again for up to 30 s.
///
/// # Errors
/// If no broker answers, or there is no such partition.
pub fn end_offset(bootstrap: &str, topic: &str, partition: i32, isolation: Isolation) -> Result<i64> {
    let asked = ListOffsetsPartition::default()
        .with_partition_index(partition)
        .with_timestamp(LATEST);
    let request = ListOffsetsRequest::default()
        .with_replica_id(BrokerId(-1))
        .with_isolation_level(i8::from(isolation == Isolation::ReadCommitted))
        .with_topics(vec![
            ListOffsetsTopic::default()
                .with_name(name(topic))
                .with_partitions(vec![asked]),
        ]);
    ask_leader(bootstrap, topic, partition, |wire| {
        let answer = wire.call(LIST_OFFSETS_VERSION, &request)?;
        let result = answer.topics.first().and_then(|topic| topic.partitions.first());
        let result = result.context("an empty answer to ListOffsets")?;
        check_code(result.error_code, topic, partition)?;
        Ok(result.offset)
    })
}

/// Asks the leader of a partition, again if it is just changing.
pub(super) fn ask_leader<T>(
    bootstrap: &str,
    topic: &str,
    partition: i32,
    mut ask: impl FnMut(&mut Wire) -> Result<T>,
) -> Result<T> {
    let end = Instant::now() + LIMIT;
    loop {
        let answer = connect_leader(bootstrap, topic, partition).and_then(|mut wire| ask(&mut wire));
        match answer {
            Err(error) if error.is::<Changing>() && Instant::now() < end => std::thread::sleep(PAUSE),
            answer => return answer,
        }
    }
}

/// Turns an error code about a partition into an error that tells whether to ask again.
pub(super) fn check_code(code: i16, topic: &str, partition: i32) -> Result<()> {
    match code {
        0 => Ok(()),
        LEADER_NOT_AVAILABLE | NOT_LEADER_OR_FOLLOWER | REPLICA_NOT_AVAILABLE | OFFSET_NOT_AVAILABLE => {
            Err(Changing(format!(
                "{topic}-{partition} has no leader that answers (error code {code})"
            ))
            .into())
        }
        code => bail!("{topic}-{partition}: error code {code}"),
    }
}

/// The leader of a partition is just changing.
#[derive(Debug)]
struct Changing(String);

impl fmt::Display for Changing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Changing {}

fn connect_leader(bootstrap: &str, topic: &str, partition: i32) -> Result<Wire> {
    let metadata = describe(&mut connect_any(bootstrap)?, topic)?;
    let leader = found(&metadata, topic)?
        .partitions
        .iter()
        .find(|found| found.partition_index == partition);
    let leader = leader.with_context(|| format!("{topic} has no partition {partition}"))?;
    // Metadata may name a leader that has just died.
    let wire = address_of(&metadata, leader.leader_id).and_then(|address| Wire::connect(&address, LIMIT));
    wire.map_err(|error| {
        Changing(format!(
            "the leader of {topic}-{partition} does not answer: {error:#}"
        ))
        .into()
    })
}

fn await_leaders(wire: &mut Wire, topic: &str) -> Result<()> {
    let end = Instant::now() + LIMIT;
    loop {
        let metadata = describe(wire, topic)?;
        let led = found(&metadata, topic).is_ok_and(|topic| {
            topic
                .partitions
                .iter()
                .all(|partition| partition.leader_id.0 >= 0)
        });
        if led {
            return Ok(());
        }
        ensure!(
            Instant::now() < end,
            "{topic} has no leaders after {} s",
            LIMIT.as_secs()
        );
        std::thread::sleep(PAUSE);
    }
}

fn describe(wire: &mut Wire, topic: &str) -> Result<MetadataResponse> {
    let asked = MetadataRequestTopic::default().with_name(Some(name(topic)));
    let request = MetadataRequest::default()
        .with_topics(Some(vec![asked]))
        .with_allow_auto_topic_creation(false);
    wire.call(METADATA_VERSION, &request)
}

fn found<'a>(metadata: &'a MetadataResponse, topic: &str) -> Result<&'a MetadataResponseTopic> {
    let found = metadata
        .topics
        .first()
        .with_context(|| format!("an empty answer about {topic}"))?;
    ensure!(
        found.error_code == 0,
        "topic {topic}: error code {}",
        found.error_code
    );
    Ok(found)
}

fn address_of(metadata: &MetadataResponse, id: BrokerId) -> Result<String> {
    let broker = metadata.brokers.iter().find(|broker| broker.node_id == id);
    let broker = broker.with_context(|| format!("broker {} is not in the metadata", id.0))?;
    Ok(format!("{}:{}", broker.host.as_str(), broker.port))
}

pub(super) fn connect_any(bootstrap: &str) -> Result<Wire> {
    let mut last = anyhow::Error::msg("the bootstrap list is empty");
    for address in bootstrap.split(',') {
        match Wire::connect(address, LIMIT) {
            Ok(wire) => return Ok(wire),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn name(topic: &str) -> TopicName {
    TopicName(StrBytes::from_string(topic.to_owned()))
}
